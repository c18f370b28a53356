//! Words made of bit fields, each declared once by the bits that the standard prints.

/// Declares a word whose bits have names.
///
/// Each line reads `get, with: type = place;` where the place is one bit (`bool` only) or `high:low` as the standard prints
/// it. Bits without a name are kept as they came. `with` refuses a value too large for its field: that is our mistake.
macro_rules! bit_fields {
    ($(#[$doc:meta])* $name:ident($raw:ident) {
        $($(#[$field_doc:meta])* $get:ident, $with:ident: $kind:ident = $high:literal $(: $low:literal)?;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name($raw);

        impl $name {
            /// Takes the word as it stands on the wire; every value is accepted.
            #[inline(always)]
            pub const fn from_bits(bits: $raw) -> Self {
                Self(bits)
            }

            /// The word as it stands on the wire.
            #[inline(always)]
            pub const fn bits(self) -> $raw {
                self.0
            }

            $(bit_fields!(@one $raw, [$($field_doc)*], $get, $with, $kind, $high $(, $low)?);)*
        }

        impl crate::layout::Field for $name {
            const BYTES: usize = <$raw as crate::layout::Field>::BYTES;
            fn read(bytes: &[u8]) -> Self {
                Self(crate::layout::Field::read(bytes))
            }
            fn write(&self, bytes: &mut [u8]) {
                self.0.write(bytes);
            }
        }
    };
    (@one $raw:ident, [$($doc:meta)*], $get:ident, $with:ident, bool, $bit:literal) => {
        $(#[$doc])*
        #[inline(always)]
        pub const fn $get(self) -> bool {
            const { assert!($bit < $raw::BITS) };
            self.0 >> $bit & 1 != 0
        }

        #[doc = concat!("The same word with [`Self::", stringify!($get), "`] set to `value`.")]
        #[inline(always)]
        pub const fn $with(self, value: bool) -> Self {
            Self(self.0 & !(1 << $bit) | (value as $raw) << $bit)
        }
    };
    (@one $raw:ident, [$($doc:meta)*], $get:ident, $with:ident, $kind:ident, $high:literal, $low:literal) => {
        $(#[$doc])*
        #[inline(always)]
        pub const fn $get(self) -> $kind {
            const { assert!($low <= $high && $high < $raw::BITS && $high - $low < $kind::BITS) };
            (self.0 >> $low & ($raw::MAX >> ($raw::BITS - 1 - ($high - $low)))) as $kind
        }

        #[doc = concat!("The same word with [`Self::", stringify!($get), "`] set to `value`.")]
        ///
        /// # Panics
        /// If the value does not fit the field.
        #[inline(always)]
        pub const fn $with(self, value: $kind) -> Self {
            let mask = $raw::MAX >> ($raw::BITS - 1 - ($high - $low));
            assert!(value as $raw <= mask, "the value does not fit its field");
            Self(self.0 & !(mask << $low) | (value as $raw) << $low)
        }
    };
}
