//! Codes of one byte that have names: opcodes, log pages, features.

/// Declares a constant per code, `ALL` of them, and `name`. The first text is the name of codes that have none.
macro_rules! named_codes {
    ($unknown:literal, $($code:literal $name:ident $text:literal,)*) => {
        $(
            #[doc = concat!($text, ".")]
            pub const $name: u8 = $code;
        )*

        /// Every code that has a name, in the order of the standard.
        pub const ALL: &[u8] = &[$($name,)*];

        #[doc = concat!("The standard's name, \"", $unknown, "\" where it has none.")]
        pub const fn name(code: u8) -> &'static str {
            match code {
                $($name => $text,)*
                _ => $unknown,
            }
        }
    };
}
