//! A link to a controller in the same thread that can be made to hang, to fail and to leave.

use core::cell::Cell;
use core::time::Duration;

use driver::{Link, LinkError};
use local::Inline;
use mem::{DmaBuffer, Window};
use spec::nvme::IdentifyController;
use spec::nvme::identify::OptionalNvmCommands;
use spec::nvme::register::{self, Configuration};

thread_local! {
    static MICROSECONDS: Cell<u64> = const { Cell::new(0) };
}

/// A clock that moves on by a microsecond each time it is read.
pub(crate) fn clock() -> Duration {
    MICROSECONDS.with(|cell| {
        cell.set(cell.get() + 1);
        Duration::from_micros(cell.get())
    })
}

/// What is wrong with the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// It does nothing until it is disabled; each turn takes a second.
    Hangs,
    /// The same, and CSTS.CFS is set.
    Fails,
    /// Registers read as ones, for ever.
    Gone,
}

/// The link.
#[derive(Debug)]
pub(crate) struct Troubled {
    pub(crate) inner: Inline,
    pub(crate) trouble: Trouble,
    /// Turns after which trouble begins.
    pub(crate) trouble_in: Option<(u32, Trouble)>,
    /// Turns given to the controller.
    pub(crate) turns: u64,
    /// Identify Controller says that there are no optional NVM commands.
    pub(crate) hides_commands: bool,
    given: Vec<DmaBuffer>,
    /// What a turn takes, on top of what the clock says.
    pub(crate) turn_takes: Duration,
    late: Duration,
}

impl Troubled {
    pub(crate) fn new(inner: Inline) -> Self {
        Self {
            inner,
            trouble: Trouble::None,
            trouble_in: None,
            turns: 0,
            hides_commands: false,
            given: Vec::new(),
            turn_takes: Duration::ZERO,
            late: Duration::ZERO,
        }
    }
}

impl Link for Troubled {
    fn read_register(&mut self, offset: u32, bytes: u32) -> Result<u64, LinkError> {
        let value = self.inner.read_register(offset, bytes)?;
        Ok(match (self.trouble, offset) {
            (Trouble::Gone, _) => u64::MAX >> (64 - 8 * bytes),
            (Trouble::Fails, register::CSTS) => {
                let status = register::ControllerStatus::from_bits(value as u32);
                status.with_cfs(true).bits().into()
            }
            _ => value,
        })
    }

    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), LinkError> {
        let disables = offset == register::CC && !Configuration::from_bits(value as u32).en();
        if disables && self.trouble != Trouble::Gone {
            self.trouble = Trouble::None;
        }
        self.inner.write_register(offset, bytes, value)
    }

    fn doorbells(&self) -> Window {
        self.inner.doorbells()
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, LinkError> {
        let buffer = self.inner.allocate(bytes)?;
        self.given.push(buffer.clone());
        Ok(buffer)
    }

    fn free(&mut self, buffer: DmaBuffer) {
        self.inner.free(buffer);
    }

    fn now(&mut self) -> Duration {
        self.inner.now() + self.late
    }

    fn relax(&mut self) {
        if let Some((turns, trouble)) = self.trouble_in.take() {
            match turns {
                0 => self.trouble = trouble,
                _ => self.trouble_in = Some((turns - 1, trouble)),
            }
        }
        if self.trouble == Trouble::None {
            self.turns += 1;
            self.late += self.turn_takes;
            self.inner.relax();
            if self.hides_commands {
                hide_commands(&self.given);
            }
        } else {
            self.late += Duration::from_secs(1);
        }
    }
}

/// Wherever Identify Controller was written, ONCS becomes zero.
fn hide_commands(given: &[DmaBuffer]) {
    for window in given
        .iter()
        .map(DmaBuffer::window)
        .filter(|window| window.len() >= 4096)
    {
        let mut bytes = [0; IdentifyController::BYTES];
        window.read_bytes(0, &mut bytes).expect("a page");
        let Ok(mut found) = IdentifyController::parse(&bytes) else {
            continue;
        };
        if found.sn.to_text().starts_with("DPE") {
            found.oncs = OptionalNvmCommands::default();
            window.write_bytes(0, &found.to_bytes()).expect("a page");
        }
    }
}
