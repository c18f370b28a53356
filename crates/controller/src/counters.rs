//! What a controller counts: SMART draws on it, and so does every figure that the bench prints.

/// Totals since the controller was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// I/O commands taken from submission queues.
    pub commands: u64,
    /// Admin commands taken from the admin submission queue.
    pub admin_commands: u64,
    /// Reads that reached media. Verify and Compare count as reads in SMART [NVMe Base 2.0 §5.16.1.3].
    pub reads: u64,
    /// Bytes that reads asked for.
    pub read_bytes: u64,
    /// Writes that reached media.
    pub writes: u64,
    /// Bytes that writes brought.
    pub written_bytes: u64,
    /// Flush commands.
    pub flushes: u64,
    /// I/O commands that were answered with anything but success.
    pub refused: u64,
    /// Doorbell values that no host should write.
    pub bad_doorbells: u64,
    /// Controller resets, however caused.
    pub resets: u64,
    /// Times that the controller gave up (CSTS.CFS).
    pub failures: u64,
    /// Times that a batch ended early because the completion queue was full.
    pub completion_stalls: u64,
}
