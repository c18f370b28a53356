//! Commands [vfio-user 0.2 "Commands"].

use core::fmt;

use crate::layout::Field;

macro_rules! commands {
    ($($code:literal $name:ident $text:literal,)*) => {
        /// What a message asks for, or what it is the reply to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Command {
            $(
                #[doc = concat!($code, ": ", $text, ".")]
                $name,
            )*
            /// Any other number. 14 was DIRTY_PAGES before version 0.2.
            Other(u16),
        }

        impl Command {
            /// Every command that has a name, in the order of their numbers.
            pub const NAMED: &'static [Self] = &[$(Self::$name,)*];

            /// The number as it stands in the header.
            pub const fn code(self) -> u16 {
                match self {
                    $(Self::$name => $code,)*
                    Self::Other(code) => code,
                }
            }

            /// The command of a number.
            pub const fn from_code(code: u16) -> Self {
                match code {
                    $($code => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// The specification's name without its prefix, "Unknown command" where it has none.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(_) => "Unknown command",
                }
            }
        }
    };
}

commands! {
    1 Version "VERSION",
    2 DmaMap "DMA_MAP",
    3 DmaUnmap "DMA_UNMAP",
    4 DeviceGetInfo "DEVICE_GET_INFO",
    5 DeviceGetRegionInfo "DEVICE_GET_REGION_INFO",
    6 DeviceGetRegionIoFds "DEVICE_GET_REGION_IO_FDS",
    7 DeviceGetIrqInfo "DEVICE_GET_IRQ_INFO",
    8 DeviceSetIrqs "DEVICE_SET_IRQS",
    9 RegionRead "REGION_READ",
    10 RegionWrite "REGION_WRITE",
    11 DmaRead "DMA_READ",
    12 DmaWrite "DMA_WRITE",
    13 DeviceReset "DEVICE_RESET",
    15 RegionWriteMulti "REGION_WRITE_MULTI",
    16 DeviceFeature "DEVICE_FEATURE",
    17 MigDataRead "MIG_DATA_READ",
    18 MigDataWrite "MIG_DATA_WRITE",
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.code())
    }
}

impl Field for Command {
    const BYTES: usize = <u16 as Field>::BYTES;
    fn read(bytes: &[u8]) -> Self {
        Self::from_code(Field::read(bytes))
    }
    fn write(&self, bytes: &mut [u8]) {
        self.code().write(bytes);
    }
}
