//! Structures whose fields stand at fixed bytes, declared once: the declaration yields the type, the parser, the emitter and
//! the table of offsets that the tests compare with the standard.

use core::fmt;

use crate::types::{
    BlockCount, ByteOffset, CommandId, Kelvin, Lba, NamespaceId, QueueId, Text, ZeroBased,
};

/// Bytes that cannot be the structure they were taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// There are fewer bytes than the structure has.
    Short {
        /// Bytes that the structure has.
        wanted: usize,
        /// Bytes that were there.
        found: usize,
    },
    /// A field holds what the standard does not allow there.
    Field {
        /// The field's name.
        name: &'static str,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { wanted, found } => {
                write!(
                    f,
                    "wanted {wanted} bytes, found {found}: pass the whole structure"
                )
            }
            Self::Field { name } => write!(
                f,
                "the field {name} holds a value the standard does not allow"
            ),
        }
    }
}

impl core::error::Error for Malformed {}

/// A value with a fixed number of bytes on the wire.
pub trait Field: Sized {
    /// Bytes on the wire.
    const BYTES: usize;

    /// Reads the value from its bytes; bytes that are missing count as zero.
    fn read(bytes: &[u8]) -> Self;

    /// Writes the value over its bytes; bytes that have no place are dropped.
    fn write(&self, bytes: &mut [u8]);
}

macro_rules! integer_field {
    ($($kind:ident)*) => {$(
        impl Field for $kind {
            const BYTES: usize = size_of::<$kind>();
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                $kind::from_le_bytes(Field::read(bytes))
            }
            #[inline]
            fn write(&self, bytes: &mut [u8]) {
                self.to_le_bytes().write(bytes);
            }
        }
    )*};
}
integer_field!(u8 u16 u32 u64 u128);

impl<const N: usize> Field for [u8; N] {
    const BYTES: usize = N;
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        let mut value = [0; N];
        for (place, byte) in value.iter_mut().zip(bytes) {
            *place = *byte;
        }
        value
    }
    #[inline]
    fn write(&self, bytes: &mut [u8]) {
        for (place, byte) in bytes.iter_mut().zip(self) {
            *place = *byte;
        }
    }
}

impl<const N: usize> Field for Text<N> {
    const BYTES: usize = N;
    fn read(bytes: &[u8]) -> Self {
        Self::from_bytes(Field::read(bytes))
    }
    fn write(&self, bytes: &mut [u8]) {
        self.bytes().write(bytes);
    }
}

macro_rules! wrapped_field {
    ($($name:ty, $raw:ty, $get:ident;)*) => {$(
        impl Field for $name {
            const BYTES: usize = <$raw as Field>::BYTES;
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                Self::new(<$raw as Field>::read(bytes))
            }
            #[inline]
            fn write(&self, bytes: &mut [u8]) {
                self.$get().write(bytes);
            }
        }
    )*};
}
wrapped_field! {
    Lba, u64, get;
    BlockCount, u64, get;
    ByteOffset, u64, get;
    CommandId, u16, get;
    QueueId, u16, get;
    NamespaceId, u32, get;
    Kelvin, u16, get;
    ZeroBased<u8>, u8, raw;
    ZeroBased<u16>, u16, raw;
}

/// `N` fields of one kind, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series<T, const N: usize>(
    /// The fields, in the order of the wire.
    pub [T; N],
);

impl<T: Copy + Default, const N: usize> Default for Series<T, N> {
    fn default() -> Self {
        Self([T::default(); N])
    }
}

impl<T: Field + Copy + Default, const N: usize> Field for Series<T, N> {
    const BYTES: usize = N * T::BYTES;
    fn read(bytes: &[u8]) -> Self {
        Self(read_array(bytes))
    }
    fn write(&self, bytes: &mut [u8]) {
        write_array(&self.0, bytes);
    }
}

/// Several fields of one kind from their bytes; what is missing is the kind's default.
pub(crate) fn read_array<T: Field + Copy + Default, const N: usize>(bytes: &[u8]) -> [T; N] {
    let mut values = [T::default(); N];
    for (value, chunk) in values.iter_mut().zip(bytes.chunks_exact(T::BYTES)) {
        *value = T::read(chunk);
    }
    values
}

/// The reverse of [`read_array`].
pub(crate) fn write_array<T: Field>(values: &[T], bytes: &mut [u8]) {
    for (value, chunk) in values.iter().zip(bytes.chunks_exact_mut(T::BYTES)) {
        value.write(chunk);
    }
}

/// The first `N` bytes, or how many are missing.
pub(crate) fn prefix<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], Malformed> {
    bytes.first_chunk().ok_or(Malformed::Short {
        wanted: N,
        found: bytes.len(),
    })
}

/// Declares a structure of fixed size. Each line reads `offset => name: type`. Fields must fit and must not overlap, which
/// the compiler checks; bytes without a name are reserved: ignored by `parse`, zero after `emit`.
macro_rules! layout {
    ($(#[$doc:meta])* $name:ident[$bytes:literal] {
        $($(#[$field_doc:meta])* $at:literal => $field:ident: $kind:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl $name {
            /// Bytes on the wire.
            pub const BYTES: usize = $bytes;

            /// Every field as (name, first byte, bytes), in the order of the standard.
            pub const FIELDS: &'static [(&'static str, usize, usize)] =
                &[$((stringify!($field), $at, <$kind as crate::layout::Field>::BYTES),)*];

            /// Reads the structure from the start of `bytes`.
            ///
            /// # Errors
            /// If there are fewer than [`Self::BYTES`] bytes.
            pub fn parse(bytes: &[u8]) -> Result<Self, crate::layout::Malformed> {
                let bytes: &[u8; $bytes] = crate::layout::prefix(bytes)?;
                Ok(<Self as crate::layout::Field>::read(bytes))
            }

            /// Writes every byte of the structure, zeros where it has no field.
            pub fn emit(&self, bytes: &mut [u8; $bytes]) {
                crate::layout::Field::write(self, bytes);
            }

            /// The structure as bytes.
            pub fn to_bytes(&self) -> [u8; $bytes] {
                let mut bytes = [0; $bytes];
                self.emit(&mut bytes);
                bytes
            }
        }

        impl Default for $name {
            fn default() -> Self {
                <Self as crate::layout::Field>::read(&[])
            }
        }

        impl crate::layout::Field for $name {
            const BYTES: usize = $bytes;
            fn read(bytes: &[u8]) -> Self {
                Self {
                    $($field: <$kind as crate::layout::Field>::read(bytes.get($at..).unwrap_or_default()),)*
                }
            }
            fn write(&self, bytes: &mut [u8]) {
                bytes.fill(0);
                $(
                    if let Some(bytes) = bytes.get_mut($at..) {
                        crate::layout::Field::write(&self.$field, bytes);
                    }
                )*
            }
        }

        const _: () = crate::layout::assert_fields_fit($name::FIELDS, $bytes);
    };
}

/// Stops the build if fields overlap, are out of order or do not fit.
pub(crate) const fn assert_fields_fit(mut fields: &[(&str, usize, usize)], bytes: usize) {
    let mut end = 0;
    while let [(_, at, len), rest @ ..] = fields {
        assert!(end <= *at, "fields overlap or are out of order");
        end = *at + *len;
        fields = rest;
    }
    assert!(end <= bytes, "a field stands outside its structure");
}
