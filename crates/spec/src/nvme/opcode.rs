//! Command opcodes. Bits 1:0 say which way data moves [NVMe Base 2.0 §3.3.3.1, figure "Command Dword 0"].

/// Admin commands [NVMe Base 2.0 §5 Admin Command Set].
pub mod admin {
    named_codes! { "Unknown command",
        0x00 DELETE_IO_SQ "Delete I/O Submission Queue",
        0x01 CREATE_IO_SQ "Create I/O Submission Queue",
        0x02 GET_LOG_PAGE "Get Log Page",
        0x04 DELETE_IO_CQ "Delete I/O Completion Queue",
        0x05 CREATE_IO_CQ "Create I/O Completion Queue",
        0x06 IDENTIFY "Identify",
        0x08 ABORT "Abort",
        0x09 SET_FEATURES "Set Features",
        0x0a GET_FEATURES "Get Features",
        0x0c ASYNC_EVENT_REQUEST "Asynchronous Event Request",
        0x0d NAMESPACE_MANAGEMENT "Namespace Management",
        0x10 FIRMWARE_COMMIT "Firmware Commit",
        0x11 FIRMWARE_IMAGE_DOWNLOAD "Firmware Image Download",
        0x14 DEVICE_SELF_TEST "Device Self-test",
        0x15 NAMESPACE_ATTACHMENT "Namespace Attachment",
        0x18 KEEP_ALIVE "Keep Alive",
        0x19 DIRECTIVE_SEND "Directive Send",
        0x1a DIRECTIVE_RECEIVE "Directive Receive",
        0x1c VIRTUALIZATION_MANAGEMENT "Virtualization Management",
        0x1d NVME_MI_SEND "NVMe-MI Send",
        0x1e NVME_MI_RECEIVE "NVMe-MI Receive",
        0x20 CAPACITY_MANAGEMENT "Capacity Management",
        0x24 LOCKDOWN "Lockdown",
        0x7c DOORBELL_BUFFER_CONFIG "Doorbell Buffer Config",
        0x7f FABRICS "Fabrics Commands",
        0x80 FORMAT_NVM "Format NVM",
        0x81 SECURITY_SEND "Security Send",
        0x82 SECURITY_RECEIVE "Security Receive",
        0x84 SANITIZE "Sanitize",
        0x86 GET_LBA_STATUS "Get LBA Status",
    }
}

/// I/O commands [NVM Command Set 1.0 §3.2 NVM Command Set Commands], [NVMe Base 2.0 §7 I/O Commands].
pub mod io {
    named_codes! { "Unknown command",
        0x00 FLUSH "Flush",
        0x01 WRITE "Write",
        0x02 READ "Read",
        0x04 WRITE_UNCORRECTABLE "Write Uncorrectable",
        0x05 COMPARE "Compare",
        0x08 WRITE_ZEROES "Write Zeroes",
        0x09 DATASET_MANAGEMENT "Dataset Management",
        0x0c VERIFY "Verify",
        0x0d RESERVATION_REGISTER "Reservation Register",
        0x0e RESERVATION_REPORT "Reservation Report",
        0x11 RESERVATION_ACQUIRE "Reservation Acquire",
        0x15 RESERVATION_RELEASE "Reservation Release",
        0x19 COPY "Copy",
    }
}

/// Which way a command's data buffer moves; bits 1:0 of its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataTransfer {
    /// No data.
    None,
    /// From the host to the controller.
    FromHost,
    /// From the controller to the host.
    ToHost,
    /// Either way.
    Both,
}

/// Which way an opcode moves data. Commands whose fields can say "no data" are named as if they had some.
pub const fn data_transfer(opcode: u8) -> DataTransfer {
    match opcode & 3 {
        0 => DataTransfer::None,
        1 => DataTransfer::FromHost,
        2 => DataTransfer::ToHost,
        _ => DataTransfer::Both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_bits_of_an_opcode_say_which_way_its_data_moves() {
        assert_eq!(data_transfer(io::READ), DataTransfer::ToHost);
        assert_eq!(data_transfer(io::WRITE), DataTransfer::FromHost);
        assert_eq!(data_transfer(io::COMPARE), DataTransfer::FromHost);
        assert_eq!(data_transfer(io::WRITE_ZEROES), DataTransfer::None);
        assert_eq!(
            data_transfer(io::DATASET_MANAGEMENT),
            DataTransfer::FromHost
        );
        assert_eq!(data_transfer(admin::IDENTIFY), DataTransfer::ToHost);
        assert_eq!(data_transfer(admin::SET_FEATURES), DataTransfer::FromHost);
        assert_eq!(data_transfer(admin::FABRICS), DataTransfer::Both);
    }

    #[test]
    fn opcodes_have_names() {
        assert_eq!(io::name(io::DATASET_MANAGEMENT), "Dataset Management");
        assert_eq!(admin::name(0x03), "Unknown command");
        assert!(
            admin::ALL
                .iter()
                .all(|&opcode| admin::name(opcode) != "Unknown command")
        );
    }
}
