//! Asynchronous events [NVMe Base 2.0 §5.2 Asynchronous Event Request command].

use core::fmt;

use crate::nvme::log::log_id;

bit_fields! {
    /// Dword 0 of the completion of an Asynchronous Event Request: what happened and which log page tells more.
    AsyncEvent(u32) {
        /// Asynchronous Event Type as a number; see [`AsyncEvent::event_type`].
        kind, with_kind: u8 = 2:0;
        /// Asynchronous Event Information; its meaning depends on the type.
        information, with_information: u8 = 15:8;
        /// Log Page Identifier: reading it clears the event.
        log_page, with_log_page: u8 = 23:16;
    }
}

/// Asynchronous Event Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// 0h: an error that belongs to no command.
    Error,
    /// 1h: SMART / health.
    Smart,
    /// 2h: something changed.
    Notice,
    /// 6h: I/O command specific status.
    IoCommandSpecific,
    /// 7h: vendor specific.
    Vendor,
    /// Any other type.
    Reserved(u8),
}

impl EventType {
    /// The type as it stands in dword 0.
    pub const fn code(self) -> u8 {
        match self {
            Self::Error => 0,
            Self::Smart => 1,
            Self::Notice => 2,
            Self::IoCommandSpecific => 6,
            Self::Vendor => 7,
            Self::Reserved(code) => code,
        }
    }

    /// The type that stands in dword 0.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Error,
            1 => Self::Smart,
            2 => Self::Notice,
            6 => Self::IoCommandSpecific,
            7 => Self::Vendor,
            other => Self::Reserved(other),
        }
    }
}

macro_rules! events {
    ($($kind:ident $information:literal $log:ident $name:ident $text:literal,)*) => {
        impl AsyncEvent {
            $(
                #[doc = concat!($text, ".")]
                pub const $name: Self =
                    Self::new(EventType::$kind, $information, log_id::$log);
            )*

            /// Every event that has a name here.
            pub const NAMED: &'static [Self] = &[$(Self::$name,)*];

            /// The standard's name, "Unknown event" where it has none. The log page does not matter.
            pub const fn name(self) -> &'static str {
                match (self.event_type(), self.information()) {
                    $((EventType::$kind, $information) => $text,)*
                    _ => "Unknown event",
                }
            }
        }
    };
}

events! {
    Error 0x00 ERROR_INFORMATION INVALID_DOORBELL_REGISTER "Write to Invalid Doorbell Register",
    Error 0x01 ERROR_INFORMATION INVALID_DOORBELL_VALUE "Invalid Doorbell Write Value",
    Error 0x02 ERROR_INFORMATION DIAGNOSTIC_FAILURE "Diagnostic Failure",
    Error 0x03 ERROR_INFORMATION PERSISTENT_INTERNAL_ERROR "Persistent Internal Error",
    Error 0x04 ERROR_INFORMATION TRANSIENT_INTERNAL_ERROR "Transient Internal Error",
    Error 0x05 ERROR_INFORMATION FIRMWARE_IMAGE_LOAD_ERROR "Firmware Image Load Error",
    Smart 0x00 SMART RELIABILITY_DEGRADED "NVM subsystem Reliability",
    Smart 0x01 SMART TEMPERATURE_THRESHOLD "Temperature Threshold",
    Smart 0x02 SMART SPARE_BELOW_THRESHOLD "Spare Below Threshold",
    Notice 0x00 CHANGED_NAMESPACES NAMESPACE_ATTRIBUTE_CHANGED "Namespace Attribute Changed",
    Notice 0x01 FIRMWARE_SLOT FIRMWARE_ACTIVATION_STARTING "Firmware Activation Starting",
    Notice 0x02 TELEMETRY_CONTROLLER TELEMETRY_LOG_CHANGED "Telemetry Log Changed",
    Notice 0x03 ASYMMETRIC_ACCESS ASYMMETRIC_ACCESS_CHANGED "Asymmetric Namespace Access Change",
}

impl AsyncEvent {
    /// An event of a type with its information and the log page that tells more.
    ///
    /// # Panics
    /// If a reserved type does not fit three bits.
    pub const fn new(event_type: EventType, information: u8, log_page: u8) -> Self {
        Self::from_bits(0)
            .with_kind(event_type.code())
            .with_information(information)
            .with_log_page(log_page)
    }

    /// Asynchronous Event Type.
    pub const fn event_type(self) -> EventType {
        EventType::from_code(self.kind())
    }

    /// Reads an event from dword 0 of a completion.
    pub const fn from_result(result: u32) -> Self {
        Self::from_bits(result)
    }

    /// The event as dword 0 of a completion.
    pub const fn result(self) -> u32 {
        self.bits()
    }
}

impl fmt::Display for AsyncEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, information, log) = (self.kind(), self.information(), self.log_page());
        write!(
            f,
            "{} ({kind}/{information:02X}h, log page {log:02X}h)",
            self.name()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_information_and_log_page_stand_in_their_bytes() {
        assert_eq!(AsyncEvent::INVALID_DOORBELL_VALUE.result(), 0x0001_0100);
        assert_eq!(AsyncEvent::TEMPERATURE_THRESHOLD.result(), 0x0002_0101);
        assert_eq!(
            AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED.result(),
            0x0004_0002
        );
    }

    #[test]
    fn an_event_prints_its_name() {
        let event = AsyncEvent::NAMESPACE_ATTRIBUTE_CHANGED;
        assert_eq!(
            event.to_string(),
            "Namespace Attribute Changed (2/00h, log page 04h)"
        );
    }

    #[test]
    fn every_event_type_keeps_its_code() {
        for code in 0..8 {
            assert_eq!(EventType::from_code(code).code(), code);
        }
    }
}
