//! A controller that hangs, fails or leaves.
//!
//! *Working* until the controller fails: then every request under way ends with [`Failure::Controller`], and the engine has
//! *failed*. The next request has the controller reset, once: the engine works again, or is *lost*, and every request ends
//! with the same failure from then on. Buffers of commands that were given up are not used again before the reset, since the
//! controller might still write to them.

use core::time::Duration;

use driver::{DriverError, Link, Waited};
use tracing::{error, warn};

use super::jobs::State;
use super::{Engine, Failure, Volume, units};
use crate::limits;

/// How the engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Working,
    Failed,
    Lost,
}

/// Commands are in flight, and none completes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    since: Duration,
    now: Duration,
    next_check: Duration,
}

impl<L: Link> Engine<L> {
    /// How long nothing has completed, as far as [`pump`](Self::pump) noticed.
    pub fn stalled_for(&self) -> Duration {
        self.stall.map_or(Duration::ZERO, |stall| {
            stall.now.saturating_sub(stall.since)
        })
    }

    /// The longest time between two looks at a device that had commands in flight and nothing to say, since this was last
    /// called: whoever looks again and again sees that he was kept from it.
    pub fn take_lapse(&mut self) -> Duration {
        core::mem::take(&mut self.lapse)
    }

    /// To be called when a turn brought something.
    #[inline]
    pub(super) fn end_stall(&mut self) {
        if let Some(stall) = self.stall.take() {
            let now = self.device.link_mut().now();
            self.lapse = self.lapse.max(now.saturating_sub(stall.now));
        }
    }

    /// To be called when a turn brought nothing although commands are in flight.
    pub(super) fn note_stall(&mut self) {
        let now = self.device.link_mut().now();
        let stall = self.stall.get_or_insert(Stall {
            since: now,
            now,
            next_check: now.saturating_add(limits::HEALTH_PERIOD),
        });
        self.lapse = self.lapse.max(now.saturating_sub(stall.now));
        stall.now = now;
        let waited = now.saturating_sub(stall.since);
        let due = now >= stall.next_check;
        if due {
            stall.next_check = now.saturating_add(limits::HEALTH_PERIOD);
        }
        if waited >= self.options.io_timeout {
            let in_flight = self.pair.in_flight();
            error!(?waited, in_flight, "no command completes: giving them up");
            self.give_up();
        } else if due && let Err(failed) = self.device.check_health() {
            error!(during = %Waited::Io, "{failed}");
            self.give_up();
        }
    }

    /// Ends all requests under way.
    fn give_up(&mut self) {
        self.life = Life::Failed;
        self.stall = None;
        for index in 0..self.jobs.count() as u16 {
            let job = self.jobs.get_mut(index);
            if !matches!(job.state, State::Waiting | State::Running) {
                continue;
            }
            job.failure = Some(Failure::Controller);
            let chain = core::mem::replace(&mut job.chain, units::NONE);
            self.given_up.push(chain);
            self.jobs.finish(index);
        }
    }

    /// Resets the controller, if that was not tried in vain before.
    ///
    /// # Errors
    /// [`Failure::Controller`] when it does not work again.
    pub(super) fn recover(&mut self) -> Result<(), Failure> {
        if self.life == Life::Lost {
            return Err(Failure::Controller);
        }
        match self.reset() {
            Ok(()) => {
                warn!("the controller was reset and works again; what was in flight is lost");
                self.life = Life::Working;
                while let Some(chain) = self.given_up.pop() {
                    self.units.give_chain(chain);
                }
                Ok(())
            }
            Err(failed) => {
                error!(
                    "{failed}; every request fails from here on: unmount, and open the device again"
                );
                self.life = Life::Lost;
                Err(Failure::Controller)
            }
        }
    }

    fn reset(&mut self) -> Result<(), DriverError> {
        self.device.reset()?;
        self.pair.abandon();
        self.device.revive(&mut self.pair)?;
        self.unpublished = false;
        for index in 0..self.volumes.len() {
            self.check_volume(index)?;
        }
        Ok(())
    }

    /// Whether a namespace is still the one that programs have opened.
    fn check_volume(&mut self, index: usize) -> Result<(), DriverError> {
        let known = &self.volumes[index];
        let found = match self.device.namespace(known.id).cloned() {
            Some(namespace) => {
                Volume::look_at(&mut self.device, &namespace, self.piece_bytes).map(Some)?
            }
            None => None,
        };
        if found.as_ref() == Some(known) {
            return Ok(());
        }
        Err(DriverError::BadAnswer {
            what: "the namespace after a reset",
            wanted: "the one that is mounted",
            found: format!("{found:?} for {known:?}"),
        })
    }
}
