//! Properties of every parser of fixed layouts: it accepts what is long enough, emits inside its bytes, and reads what it
//! emitted as the same value. Words of bit fields are put together again from their fields.

/// What is written around the bytes that an emitter may write.
pub const GUARD: u8 = 0xa5;

/// Checks structures of fixed size on arbitrary bytes.
#[macro_export]
macro_rules! structures {
    ($bytes:expr; $($name:ty)*) => {$({
        let bytes: &[u8] = $bytes;
        match <$name>::parse(bytes) {
            Err(error) => {
                assert!(bytes.len() < <$name>::BYTES, "{error}");
            }
            Ok(value) => {
                let mut emitted = [$crate::round_trip::GUARD; <$name>::BYTES];
                value.emit(&mut emitted);
                assert_eq!(<$name>::parse(&emitted), Ok(value));
                assert_eq!(emitted, value.to_bytes());
                // Emitting is a projection: a second trip changes nothing.
                assert_eq!(<$name>::parse(&emitted).map(|again| again.to_bytes()), Ok(emitted));
            }
        }
    })*};
}

/// Checks commands on an arbitrary entry: what `parse` read, `emit` writes, and nothing but the command's own words changes.
#[macro_export]
macro_rules! commands {
    ($entry:expr; $($name:ty)*) => {$({
        let entry = $entry;
        let command = <$name>::parse(&entry);
        assert_eq!(<$name>::parse(&command.emit(SubmissionEntry::default())), command);
        let over = command.emit(entry);
        assert_eq!(<$name>::parse(&over), command);
        assert_eq!(over.kind(), entry.kind());
        assert_eq!(over.cid(), entry.cid());
        assert_eq!(command.emit(over), over);
    })*};
}

/// Checks a word of bit fields: its fields make the same word again, and keep their values in an empty one.
#[macro_export]
macro_rules! fields {
    ($bits:expr; $($name:ident: $($get:ident $with:ident)*;)*) => {$({
        let word = $name::from_bits($bits);
        assert_eq!(word.bits(), $bits);
        let mut again = word;
        let mut alone = $name::default();
        $(
            again = again.$with(word.$get());
            alone = alone.$with(word.$get());
        )*
        assert_eq!(again, word);
        $(assert_eq!(alone.$get(), word.$get(), stringify!($get));)*
        assert_eq!(alone.bits() & !word.bits(), 0, "no field reaches beyond its bits");
    })*};
}
