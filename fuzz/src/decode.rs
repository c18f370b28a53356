//! Random bytes as decisions. When the bytes are used up, every decision is zero, which is always the tame one.

/// A reader of random bytes.
#[derive(Debug)]
pub struct Decoder<'b> {
    rest: &'b [u8],
}

impl<'b> Decoder<'b> {
    /// Reads `bytes` from the start.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether no byte is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `N` bytes, zeros behind the end.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let (taken, rest) = self.rest.split_at(N.min(self.rest.len()));
        bytes[..taken.len()].copy_from_slice(taken);
        self.rest = rest;
        bytes
    }

    /// One byte.
    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.bytes())
    }

    /// Two bytes, little-endian.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    /// Four bytes, little-endian.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// A number below `end`, which is at most 256, from one byte.
    pub fn below(&mut self, end: u32) -> u32 {
        u32::from(self.u8()) % end
    }

    /// One of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.u8()) % choices.len()]
    }

    /// Everything that is left.
    pub fn rest(self) -> &'b [u8] {
        self.rest
    }
}
