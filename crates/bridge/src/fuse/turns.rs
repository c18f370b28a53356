//! How the mount's threads share one engine.
//!
//! A thread with a request submits it and pumps once. A device that answers at once has answered then: the thread sends the
//! answer and reads its next request. Otherwise it leaves the request behind, and, unless there is one already, becomes the
//! *leader*: it pumps and sends everybody's answers until nothing is under way. So nobody is woken up for an answer, and
//! while one thread waits for the device the others keep its queue filled.

use driver::Link;
use fuser::Errno;

use super::answer::{Answer, Asker, errno_of};
use super::files::Files;
use super::owner::{Owned, Turn};
use super::patience::Patience;
use crate::engine::{Engine, Refused, Request};

/// What the threads take turns at owning.
#[derive(Debug)]
pub(super) struct Turns<L: Link> {
    pub(super) engine: Engine<L>,
    pub(super) files: Files,
    /// Who asked, by ticket.
    askers: Box<[Option<Asker>]>,
    /// Whether a thread is the leader.
    led: bool,
    /// The mount ends: no request is taken any more.
    closing: bool,
}

impl<L: Link> Turns<L> {
    pub(super) fn new(engine: Engine<L>, files: Files) -> Self {
        Self {
            askers: (0..engine.requests_max()).map(|_| None).collect(),
            engine,
            files,
            led: false,
            closing: false,
        }
    }

    /// An answer that can be sent, if there is one.
    #[inline]
    fn next_answer(&mut self) -> Option<Answer> {
        let ticket = self.engine.next_done()?;
        let asker = self.askers[ticket.index()]
            .take()
            .expect("whoever submits leaves an asker");
        Some(Answer::fetch(&mut self.engine, ticket, asker))
    }

    /// Whether there is anything that the turn's owner should see to before going away.
    #[inline]
    fn is_quiet(&self) -> bool {
        !self.engine.has_answers() && (self.led || self.engine.is_idle())
    }
}

/// The engine with all that belongs to it, as the threads share it.
#[derive(Debug)]
pub(super) struct Shared<L: Link>(Owned<Turns<L>>);

impl<L: Link> Shared<L> {
    pub(super) fn new(turns: Turns<L>) -> Self {
        Self(Owned::new(turns))
    }

    pub(super) fn turn(&self) -> Turn<'_, Turns<L>> {
        self.0.turn()
    }

    pub(super) fn into_engine(self) -> Engine<L> {
        self.0.into_inner().engine
    }

    /// Has a request carried out, and sees to it that the asker is answered, now or later.
    #[inline]
    pub(super) fn ask(&self, request: &Request<'_>, asker: Asker) {
        let mut turns = self.turn();
        let ticket = loop {
            if turns.closing {
                drop(turns);
                return asker.refuse(Errno::ENODEV);
            }
            match turns.engine.submit(request) {
                Ok(ticket) => break ticket,
                Err(Refused::Full) => turns = self.make_room(turns),
                Err(Refused::Failed(failure)) => {
                    drop(turns);
                    return asker.refuse(errno_of(failure));
                }
            }
        };
        turns.askers[ticket.index()] = Some(asker);
        turns.engine.pump();
        self.see_to_answers(turns);
    }

    /// Sends what answers there are, and waits for the others if no other thread does.
    #[inline]
    fn see_to_answers<'s>(&'s self, mut turns: Turn<'s, Turns<L>>) {
        while let Some(answer) = turns.next_answer() {
            let quiet = turns.is_quiet();
            drop(turns);
            answer.send();
            if quiet {
                return;
            }
            turns = self.turn();
        }
        if !turns.is_quiet() {
            turns.led = true;
            self.lead(turns);
        }
    }

    /// Pumps and sends answers until nothing is under way.
    #[inline(never)]
    fn lead<'s>(&'s self, mut turns: Turn<'s, Turns<L>>) {
        let mut patience = Patience::default();
        loop {
            turns.engine.pump();
            Patience::note(turns.engine.take_lapse());
            if let Some(answer) = turns.next_answer() {
                drop(turns);
                answer.send();
                patience.renew();
            } else if turns.engine.is_idle() {
                turns.led = false;
                return;
            } else {
                let stalled_for = turns.engine.stalled_for();
                drop(turns);
                patience.wait(stalled_for);
            }
            turns = self.turn();
        }
    }

    /// Waits until there may be room for another request, sending answers meanwhile.
    #[cold]
    fn make_room<'s>(&'s self, mut turns: Turn<'s, Turns<L>>) -> Turn<'s, Turns<L>> {
        let mut patience = Patience::default();
        loop {
            turns.engine.pump();
            Patience::note(turns.engine.take_lapse());
            if let Some(answer) = turns.next_answer() {
                drop(turns);
                answer.send();
                return self.turn();
            }
            if turns.engine.is_idle() {
                return turns;
            }
            let stalled_for = turns.engine.stalled_for();
            drop(turns);
            patience.wait(stalled_for);
            turns = self.turn();
        }
    }

    /// Takes no more requests, and waits until those under way are answered.
    pub(super) fn finish(&self) {
        let mut turns = self.turn();
        turns.closing = true;
        while !turns.engine.is_idle() || turns.engine.has_answers() {
            turns = self.make_room(turns);
        }
    }
}
