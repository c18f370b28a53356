//! The books: what was sent, answered and lost, held against what the controller counted.

use controller::Counters;
use driver::AdminCounters;

use crate::command::Kind;
use crate::report::Caught;

/// Sums since the last time that everything was quiet.
#[derive(Debug, Default)]
struct Sums {
    answered: u64,
    given_up: u64,
    refused: u64,
    read_bytes: u64,
    written_bytes: u64,
    flushes: u64,
}

/// The books of a world.
#[derive(Debug)]
pub struct Accounts {
    sums: Sums,
    since: Counters,
    admin_since: AdminCounters,
    /// Doorbell nonsense that the controller must have counted.
    pub bad_doorbells: u64,
    /// Failures that were caused.
    pub failures: u64,
    /// Commands ever given up.
    pub given_up: u64,
}

impl Accounts {
    /// Books that begin now, with nothing in flight.
    pub fn new(counters: Counters, admin: AdminCounters) -> Self {
        Self {
            sums: Sums::default(),
            since: counters,
            admin_since: admin,
            bad_doorbells: counters.bad_doorbells,
            failures: counters.failures,
            given_up: 0,
        }
    }

    /// A command was answered. `moved`: it was right, so its bytes count.
    pub fn answered(&mut self, kind: Kind, success: bool, moved: Option<u64>) {
        self.sums.answered += 1;
        self.sums.refused += u64::from(!success);
        self.sums.flushes += u64::from(kind == Kind::Flush);
        let bytes = moved.unwrap_or(0);
        match kind {
            Kind::Read | Kind::Compare => self.sums.read_bytes += bytes,
            Kind::Write => self.sums.written_bytes += bytes,
            _ => {}
        }
    }

    /// A command will not be answered.
    pub fn given_up(&mut self) {
        self.sums.given_up += 1;
        self.given_up += 1;
    }

    /// Everything is quiet: the controller's counters must be what the books say. Begins a new page.
    ///
    /// # Errors
    /// What differs.
    pub fn audit(&mut self, counters: Counters, admin: AdminCounters) -> Result<(), Caught> {
        let since = core::mem::replace(&mut self.since, counters);
        let admin_since = core::mem::replace(&mut self.admin_since, admin);
        let sums = core::mem::take(&mut self.sums);
        let admin_refused = admin.refusals - admin_since.refusals;
        let rows = [
            (
                "commands",
                counters.commands - since.commands,
                sums.answered,
            ),
            (
                "refused",
                counters.refused - since.refused,
                sums.refused + admin_refused,
            ),
            (
                "read bytes",
                counters.read_bytes - since.read_bytes,
                sums.read_bytes,
            ),
            (
                "written bytes",
                counters.written_bytes - since.written_bytes,
                sums.written_bytes,
            ),
            ("flushes", counters.flushes - since.flushes, sums.flushes),
        ];
        for (what, counted, booked) in rows {
            // Nobody knows how far a command came that was given up.
            let fits = match sums.given_up {
                0 => counted == booked,
                _ => counted >= booked,
            };
            if !fits {
                return Err(Caught::world(format!(
                    "{what}: the controller counted {counted}, the books say {booked} ({} commands given up)",
                    sums.given_up
                )));
            }
        }
        let fetched = counters.commands - since.commands;
        if fetched > sums.answered + sums.given_up {
            return Err(Caught::world(format!(
                "the controller fetched {fetched} commands, but only {} were answered and {} given up",
                sums.answered, sums.given_up
            )));
        }
        let totals = [
            ("bad doorbells", counters.bad_doorbells, self.bad_doorbells),
            ("failures", counters.failures, self.failures),
        ];
        for (what, counted, booked) in totals {
            if counted != booked {
                return Err(Caught::world(format!(
                    "{what}: the controller counted {counted}, {booked} were caused"
                )));
            }
        }
        Ok(())
    }
}
