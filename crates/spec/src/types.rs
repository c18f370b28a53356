//! The quantities of the standards, each a type of its own, so that none can stand in for another.

use core::fmt;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($raw:ty), $format:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($raw);

        impl $name {
            /// Names a raw value; every value is valid.
            #[inline(always)]
            pub const fn new(raw: $raw) -> Self {
                Self(raw)
            }

            /// The raw value.
            #[inline(always)]
            pub const fn get(self) -> $raw {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }
    };
}

quantity! {
    /// A logical block address: the number of a logical block within its namespace, from 0.
    Lba(u64), "{}"
}
quantity! {
    /// A number of logical blocks.
    BlockCount(u64), "{}"
}
quantity! {
    /// A place within something, in bytes from its start.
    ByteOffset(u64), "{}"
}
quantity! {
    /// A command identifier (CID): the host's name for a command in flight, unique within its submission queue.
    CommandId(u16), "{}"
}
quantity! {
    /// A queue identifier (QID). 0 names the admin queue pair.
    QueueId(u16), "{}"
}
quantity! {
    /// A namespace identifier (NSID). 0 means none, FFFFFFFFh means all.
    NamespaceId(u32), "{}"
}

quantity! {
    /// A temperature in kelvins. 0 means that none is reported.
    Kelvin(u16), "{} K"
}

impl Lba {
    /// The block `count` blocks further on, or `None` beyond 64 bits.
    #[inline(always)]
    pub const fn checked_add(self, count: BlockCount) -> Option<Self> {
        match self.0.checked_add(count.0) {
            Some(raw) => Some(Self(raw)),
            None => None,
        }
    }
}

impl CommandId {
    /// What an Error Information Log entry gives where an error belongs to no command [NVMe Base 2.0 §5.16.1.2 Error Information].
    pub const NONE: Self = Self(0xffff);
}

impl QueueId {
    /// The admin submission and completion queue.
    pub const ADMIN: Self = Self(0);

    /// Whether this names the admin queue pair.
    #[inline(always)]
    pub const fn is_admin(self) -> bool {
        self.0 == 0
    }
}

impl NamespaceId {
    /// No namespace: the command does not use one.
    pub const NONE: Self = Self(0);
    /// All namespaces, the broadcast value.
    pub const BROADCAST: Self = Self(0xffff_ffff);

    /// Whether this may name one namespace: neither 0 nor reserved nor the broadcast value.
    #[inline(always)]
    pub const fn is_valid(self) -> bool {
        self.0 != 0 && self.0 < 0xffff_fffe
    }
}

/// A count that the standard writes as one less than it is (a "0's based" value): raw 0 means 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZeroBased<T>(T);

macro_rules! zero_based {
    ($raw:ty) => {
        impl ZeroBased<$raw> {
            /// Takes the value as it stands on the wire.
            #[inline(always)]
            pub const fn new(raw: $raw) -> Self {
                Self(raw)
            }

            /// The value as it stands on the wire.
            #[inline(always)]
            pub const fn raw(self) -> $raw {
                self.0
            }

            /// The count that is meant, at least 1; wide enough not to overflow.
            #[inline(always)]
            pub const fn count(self) -> u32 {
                self.0 as u32 + 1
            }

            /// The wire value for a count, or `None` for 0 and for counts that do not fit.
            #[inline(always)]
            pub const fn from_count(count: u32) -> Option<Self> {
                if count == 0 || count - 1 > <$raw>::MAX as u32 {
                    None
                } else {
                    Some(Self((count - 1) as $raw))
                }
            }
        }

        impl fmt::Display for ZeroBased<$raw> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.count())
            }
        }
    };
}
zero_based!(u8);
zero_based!(u16);

/// A text field: ASCII, left-justified, padded with spaces (or, for names that are UTF-8, with zeros) to `N` bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// The bytes as they stand on the wire.
    pub const fn from_bytes(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    /// The bytes as they stand on the wire, padding included.
    pub const fn bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// A text padded with spaces as the standard pads its ASCII strings. What is too long is cut; a byte outside
    /// printable ASCII becomes a question mark.
    pub fn ascii(text: &str) -> Self {
        let mut bytes = [b' '; N];
        for (place, byte) in bytes.iter_mut().zip(text.bytes()) {
            *place = if (0x20..=0x7e).contains(&byte) {
                byte
            } else {
                b'?'
            };
        }
        Self(bytes)
    }

    /// A text padded with zeros, as the standard asks of the NVM subsystem qualified name. What is too long is cut; the
    /// last byte is always zero.
    pub fn null_terminated(text: &str) -> Self {
        let mut bytes = [0; N];
        for (place, byte) in bytes.iter_mut().take(N.saturating_sub(1)).zip(text.bytes()) {
            *place = byte;
        }
        Self(bytes)
    }

    /// The text without its padding. Bytes that are not UTF-8 appear as the replacement character.
    pub fn to_text(&self) -> String {
        let end = self.0.iter().rposition(|&byte| byte != b' ' && byte != 0);
        let text = self
            .0
            .get(..end.map_or(0, |last| last + 1))
            .unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_based_value_counts_one_more_than_it_says() {
        assert_eq!(ZeroBased::<u16>::new(0).count(), 1);
        assert_eq!(ZeroBased::<u16>::new(0xffff).count(), 65_536);
        assert_eq!(
            ZeroBased::<u16>::from_count(65_536),
            Some(ZeroBased::<u16>::new(0xffff))
        );
        assert_eq!(ZeroBased::<u16>::from_count(0), None);
        assert_eq!(ZeroBased::<u16>::from_count(65_537), None);
        assert_eq!(ZeroBased::<u8>::from_count(257), None);
    }

    #[test]
    fn an_address_past_the_last_one_is_none() {
        let last = Lba::new(u64::MAX);
        assert_eq!(last.checked_add(BlockCount::new(1)), None);
        assert_eq!(
            Lba::new(1).checked_add(BlockCount::new(2)),
            Some(Lba::new(3))
        );
    }

    #[test]
    fn text_is_padded_cut_and_read_back_without_its_padding() {
        assert_eq!(Text::<4>::ascii("ab").bytes(), b"ab  ");
        assert_eq!(Text::<4>::ascii("abcdef").bytes(), b"abcd");
        assert_eq!(Text::<4>::ascii("a\u{7f}").bytes(), b"a?  ");
        assert_eq!(Text::<4>::null_terminated("abcdef").bytes(), b"abc\0");
        assert_eq!(Text::<4>::ascii("a b").to_text(), "a b");
        assert_eq!(Text::<4>::default().to_text(), "");
    }

    #[test]
    fn only_the_values_between_none_and_the_reserved_one_name_a_namespace() {
        assert!(!NamespaceId::NONE.is_valid());
        assert!(NamespaceId::new(1).is_valid());
        assert!(NamespaceId::new(0xffff_fffd).is_valid());
        assert!(!NamespaceId::new(0xffff_fffe).is_valid());
        assert!(!NamespaceId::BROADCAST.is_valid());
    }
}
