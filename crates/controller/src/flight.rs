//! Commands that wait for slow media, in a table that never grows.

use media::Token;
use spec::CommandId;
use spec::nvme::{Status, SubmissionEntry};

use crate::limits;

/// Whose answer a flight is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A command of this submission queue.
    Command {
        /// The submission queue.
        sq: u16,
        /// The command, to find the host's memory when its blocks arrive.
        entry: SubmissionEntry,
    },
    /// The flush of a shutdown.
    Shutdown,
    /// Nobody any more: its queue is gone. The answer is only awaited so that the token can be used again.
    Nobody,
}

/// A command in flight: how many answers it still waits for, and the worst so far.
#[derive(Clone, Copy, Debug)]
struct Flight {
    owner: Owner,
    pieces: u32,
    status: Status,
}

/// All flights. A token is an index; it is free, or in use until its last piece was answered.
#[derive(Debug)]
pub(crate) struct Flights {
    slots: Box<[Flight]>,
    free: Vec<u32>,
}

impl Flights {
    pub(crate) fn new() -> Self {
        let empty = Flight {
            owner: Owner::Nobody,
            pieces: 0,
            status: Status::SUCCESS,
        };
        Self {
            slots: vec![empty; limits::FLIGHTS_MAX as usize].into_boxed_slice(),
            free: (0..limits::FLIGHTS_MAX).rev().collect(),
        }
    }

    /// The token that the next command gets if it turns out slow. `None`: the table is full, fetch nothing.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<Token> {
        self.free.last().map(|&index| Token(index))
    }

    /// Takes the token that [`next`](Self::next) showed, for `pieces` answers.
    pub(crate) fn depart(&mut self, owner: Owner, pieces: u32, status: Status) {
        if let Some(index) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(index as usize)
        {
            *slot = Flight {
                owner,
                pieces,
                status,
            };
        }
    }

    /// Notes one answer. When it was the last one: whose it is, and the status to report. An answer to a token that is
    /// not in use is a fault of the medium and is ignored.
    pub(crate) fn land(&mut self, token: Token, status: Status) -> Option<(Owner, Status)> {
        let slot = self
            .slots
            .get_mut(token.0 as usize)
            .filter(|slot| slot.pieces > 0)?;
        slot.pieces -= 1;
        if slot.status.is_success() {
            slot.status = status;
        }
        if slot.pieces > 0 {
            return None;
        }
        self.free.push(token.0);
        Some((slot.owner, slot.status))
    }

    /// Whether anything is in flight.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        self.free.len() != self.slots.len()
    }

    /// Whether anybody waits for a flight: a command, or a shutdown for its flushes.
    pub(crate) fn awaited(&self) -> bool {
        self.slots
            .iter()
            .any(|slot| slot.pieces > 0 && slot.owner != Owner::Nobody)
    }

    /// Whose a flight is; `None` when the token is not in use.
    pub(crate) fn owner(&self, token: Token) -> Option<&Owner> {
        let slot = self.slots.get(token.0 as usize)?;
        (slot.pieces > 0).then_some(&slot.owner)
    }

    /// The flights of a submission queue.
    pub(crate) fn of_queue(&self, queue: u16) -> impl Iterator<Item = (Token, CommandId)> {
        self.in_the_air()
            .filter_map(move |(token, owner)| match owner {
                Owner::Command { sq, entry } if *sq == queue => Some((token, entry.cid())),
                _ => None,
            })
    }

    /// Every flight.
    pub(crate) fn in_the_air(&self) -> impl Iterator<Item = (Token, &Owner)> {
        let slots = self.slots.iter().zip(0..);
        slots
            .filter(|(slot, _)| slot.pieces > 0)
            .map(|(slot, index)| (Token(index), &slot.owner))
    }

    /// Disowns every flight: the controller was reset.
    pub(crate) fn disown_all(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.pieces > 0) {
            slot.owner = Owner::Nobody;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flight_lands_after_its_last_piece_with_the_first_failure() {
        let mut flights = Flights::new();
        let token = flights.next().expect("empty table");
        let owner = Owner::Command {
            sq: 3,
            entry: SubmissionEntry::from_words([9; 8]),
        };
        flights.depart(owner, 3, Status::SUCCESS);
        assert!(flights.any());
        assert_eq!(flights.land(token, Status::SUCCESS), None);
        assert_eq!(flights.land(token, Status::WRITE_FAULT), None);
        assert_eq!(
            flights.land(token, Status::SUCCESS),
            Some((owner, Status::WRITE_FAULT))
        );
        assert_eq!(
            flights.land(token, Status::SUCCESS),
            None,
            "answered once only"
        );
        assert!(!flights.any());
    }

    #[test]
    fn the_table_refuses_when_full_and_recovers() {
        let mut flights = Flights::new();
        for _ in 0..limits::FLIGHTS_MAX {
            assert!(flights.next().is_some());
            flights.depart(Owner::Nobody, 1, Status::SUCCESS);
        }
        assert_eq!(flights.next(), None);
        assert!(flights.land(Token(7), Status::SUCCESS).is_some());
        assert_eq!(flights.next(), Some(Token(7)));
    }
}
