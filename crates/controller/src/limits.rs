//! Every bound of the controller, with its reason.

/// I/O queue pairs at most. 128 is what hosts with many CPUs ask for; with the admin pair the doorbells take 1032 bytes.
pub const QUEUE_PAIRS_MAX: u16 = 128;

/// Entries of one I/O queue at most. CAP.MQES could say 65536; 4096 keeps a submission queue within 256 KiB.
pub const QUEUE_ENTRIES_MAX: u32 = 4096;

/// Entries of the admin queues at most: the standard's own bound [NVMe Base 2.0 §3.1.3.8 AQA].
pub const ADMIN_ENTRIES_MAX: u32 = 4096;

/// The memory page size in bytes. CC.MPS offers 4 KiB only: every host has it, and one size keeps PRPs checkable.
pub const PAGE_BYTES: u64 = 4096;

/// The largest MDTS as a power of two of pages: 2^9 pages = 2 MiB, which one PRP list page describes.
pub const TRANSFER_PAGES_SHIFT_MAX: u8 = 9;

/// Namespaces at most. An active-namespace list shows 1024 in one command; hosts ask for more one page at a time.
pub const NAMESPACES_MAX: u32 = 1024;

/// Commands that wait for slow media at most, over all queues. When all are taken, fetching pauses; no command is lost.
/// Equal to one deepest queue, so that one queue at full depth never pauses.
pub const FLIGHTS_MAX: u32 = media::TOKENS_MAX;

/// Commands that one tick takes from one queue at most, so that a full queue cannot starve its neighbours.
pub const BATCH_MAX: u32 = 128;

/// Commands that one tick takes from the admin queue at most.
pub const ADMIN_BATCH_MAX: u32 = 8;

/// Ranges of one Dataset Management command at most: its count field is eight bits, zero-based.
pub const DSM_RANGES_MAX: usize = 256;

/// PRP list pages that one command may chain at most. A transfer of `TRANSFER_PAGES_SHIFT_MAX` needs 512 entries; a list
/// that begins at the last entry of its page spends one page on the link alone, hence one page more than two.
pub const PRP_LIST_PAGES_MAX: u32 = 3;

/// Bytes of doorbells that a controller of `QUEUE_PAIRS_MAX` reads.
pub const DOORBELL_BYTES: usize = (QUEUE_PAIRS_MAX as usize + 1) * 8;

/// Interrupt vectors at most: one for each completion queue.
pub const VECTORS_MAX: u16 = QUEUE_PAIRS_MAX + 1;

/// CAP.TO in units of 500 ms. The controller is ready at once, but a port may be slow to pass the news on.
pub const READY_TIMEOUT_UNITS: u8 = 10;

/// Events that wait to be reported at most. Fewer kinds exist, and each waits once, so none is lost.
pub const EVENTS_PENDING_MAX: usize = 16;

/// Types of asynchronous event that the standard's three bits can name.
pub const EVENT_TYPES: usize = 8;

/// Entries of the error log: as many as fit the page that hosts commonly read. Identify's ELPE is one less.
pub const ERROR_LOG_ENTRIES: usize = 64;

/// The unit of the Keep Alive Timer in milliseconds: the standard's smallest, 100 ms.
pub const KEEP_ALIVE_GRANULARITY_MS: u32 = 100;

/// The composite temperature in kelvins (40 degrees Celsius). There is no sensor; hosts reject zero as a broken drive.
pub const TEMPERATURE_KELVIN: u16 = 313;

/// The warning temperature in kelvins (70 degrees Celsius), also the default of the over temperature threshold.
pub const WARNING_TEMPERATURE_KELVIN: u16 = 343;

/// The critical temperature in kelvins (80 degrees Celsius).
pub const CRITICAL_TEMPERATURE_KELVIN: u16 = 353;

/// Commands of one run at most (`run.rs`): its list takes 48 bytes for each and lives on the stack.
pub const RUN_MAX: usize = 128;
