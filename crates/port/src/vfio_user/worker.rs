//! The thread of the queues: ticks, interrupts, errands in between, and sleep when nothing happens.

use core::time::Duration;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use controller::Controller;

use super::interrupts::Interrupts;
use crate::limits;

/// How the thread of the queues waits when there is nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// It never sleeps: the least latency, and a whole CPU.
    Busy,
    /// It sleeps up to a millisecond at a time. A host that writes a mapped doorbell wakes nobody, so that its first command
    /// after a pause waits for the end of the sleep.
    #[default]
    Idle,
}

/// What the thread of the queues has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Ticks that found something to do.
    pub busy_ticks: u64,
    /// Ticks that found nothing.
    pub idle_ticks: u64,
    /// Sleeps.
    pub naps: u64,
}

/// What the thread owns.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) controller: Controller,
    pub(super) interrupts: Interrupts,
    pub(super) activity: Activity,
}

/// What it is asked to do between two ticks.
type Errand = Box<dyn FnOnce(&mut Served) + Send>;

/// The clock: the time since a start that never changes.
pub(super) type Clock = fn() -> Duration;

/// The thread has ended, which it does only when its owner wants it.
#[derive(Debug, thiserror::Error)]
#[error("the controller's thread has ended")]
pub(super) struct Gone;

/// A handle on the thread.
#[derive(Debug)]
pub(super) struct Worker {
    mailbox: Sender<Errand>,
    thread: JoinHandle<Served>,
}

/// Where errands are handed in.
#[derive(Clone, Debug)]
pub(super) struct Mailbox(Sender<Errand>);

impl Mailbox {
    /// Runs a closure on the controller's thread, between two ticks, and returns what it returns.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        errand: impl FnOnce(&mut Served) -> T + Send + 'static,
    ) -> Result<T, Gone> {
        let (answer, receive) = channel();
        let errand: Errand = Box::new(move |served| {
            let _ = answer.send(errand(served)); // the asker may have given up
        });
        self.0.send(errand).map_err(|_| Gone)?;
        receive.recv().map_err(|_| Gone)
    }
}

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the machine refuses one.
    pub(super) fn start(
        controller: Controller,
        clock: Clock,
        waiting: Waiting,
    ) -> io::Result<Self> {
        let (mailbox, errands) = channel();
        let served = Served {
            controller,
            interrupts: Interrupts::default(),
            activity: Activity::default(),
        };
        let thread = std::thread::Builder::new()
            .name("queues".into())
            .spawn(move || run(served, &errands, clock, waiting))?;
        Ok(Self { mailbox, thread })
    }

    pub(super) fn mailbox(&self) -> Mailbox {
        Mailbox(self.mailbox.clone())
    }

    /// Stops the thread when all mailboxes are gone, and takes back what it had.
    pub(super) fn stop(self) -> Result<Served, Gone> {
        drop(self.mailbox);
        self.thread.join().map_err(|_| Gone)
    }
}

fn run(mut served: Served, errands: &Receiver<Errand>, clock: Clock, waiting: Waiting) -> Served {
    let instant = served.controller.is_instant();
    let mut idle: u32 = 0;
    let mut nap = limits::NAP_MIN;
    loop {
        let mut now = clock();
        for _ in 0..limits::TICKS_PER_MAIL {
            if !instant {
                now = clock();
            }
            if tick(&mut served, now) {
                (idle, nap) = (0, limits::NAP_MIN);
            } else {
                idle = idle.saturating_add(1);
                core::hint::spin_loop();
            }
        }
        let sleepy = waiting == Waiting::Idle && idle >= limits::IDLE_TICKS;
        let errand = if sleepy {
            served.activity.naps += 1;
            let errand = errands.recv_timeout(nap).map_err(|error| match error {
                RecvTimeoutError::Timeout => TryRecvError::Empty,
                RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
            });
            nap = (nap * 2).min(limits::NAP_MAX);
            errand
        } else {
            errands.try_recv()
        };
        match errand {
            Ok(errand) => errand(&mut served),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return served,
        }
    }
}

/// One tick and its interrupts; says whether there was anything to do.
#[inline]
fn tick(served: &mut Served, now: Duration) -> bool {
    let idle = served.controller.tick(now).is_idle();
    // An event or an errand may ask for an interrupt without a command.
    let vectors = served.controller.take_interrupts();
    if !vectors.is_empty() {
        let masked = served.controller.interrupt_mask();
        served.interrupts.deliver(&vectors, masked);
    }
    let count = if idle {
        &mut served.activity.idle_ticks
    } else {
        &mut served.activity.busy_ticks
    };
    *count += 1;
    !idle
}
