//! Whether a command was answered as it had to be.

use driver::Done;
use spec::nvme::Status;

use crate::command::Kind;
use crate::lane::Flight;
use crate::oracle::Stamp;
use crate::report::Caught;
use crate::stamp;
use crate::trace::Event;
use crate::world::World;

impl World<'_> {
    /// Checks the answer to one command.
    pub(crate) fn complete(&mut self, index: usize, done: &Done) -> Result<(), Caught> {
        let ticket = done.tag;
        let status = done.status;
        self.note(Event::Ended {
            lane: index,
            ticket,
            status,
        });
        let Some(flight) = self.lanes[index].flights.remove(&ticket) else {
            return Err(Caught::world(format!(
                "lane {index}: command {ticket} completed and is not in flight"
            )));
        };
        if done.result != 0 {
            return Err(Caught::world(format!(
                "command {ticket}: dword 0 of the completion is {}",
                done.result
            )));
        }
        if !self.lanes[index].guards_hold(flight.buffer) {
            return Err(Caught::world(format!(
                "command {ticket}: the controller wrote beside the buffer"
            )));
        }
        let moved = self.moved_bytes(&flight);
        self.accounts
            .answered(flight.kind, status.is_success(), moved);
        self.judge(index, ticket, &flight, status)?;
        self.lanes[index].give_buffer(flight.buffer);
        Ok(())
    }

    /// Bytes that the controller counts for a command: none if it was refused.
    fn moved_bytes(&self, flight: &Flight) -> Option<u64> {
        let namespace = self.plan.namespace(flight.namespace)?;
        let right = flight.refused.is_none() && flight.kind.moves_blocks();
        right.then_some(flight.count << namespace.block_size.shift())
    }

    /// Whether a command was answered as it had to be, with the data that it had to have.
    fn judge(
        &mut self,
        index: usize,
        ticket: u64,
        flight: &Flight,
        status: Status,
    ) -> Result<(), Caught> {
        let kind = flight.kind;
        if let Some(wanted) = flight.refused {
            if !is_same(status, wanted) {
                return Err(Caught::world(format!(
                    "command {ticket} ({kind}) had to be refused ({wanted}), but: {status}"
                )));
            }
            if kind == Kind::Read && !self.lanes[index].is_untouched(flight.buffer) {
                return Err(Caught::world(format!(
                    "command {ticket} was refused, but its buffer was written to"
                )));
            }
            return Ok(());
        }
        let success = status.is_success();
        if success {
            return self.judge_success(index, ticket, flight);
        }
        if kind == Kind::Compare && is_same(status, Status::COMPARE_FAILURE) {
            return self
                .oracle
                .compare_differed(ticket, &flight.wanted)
                .map_err(Caught::oracle);
        }
        let fails = self.plan.faults.failing > 0;
        let fair = kind
            .media_error()
            .is_some_and(|error| is_same(status, error));
        self.oracle.write_ended(ticket, false);
        self.oracle.read_given_up(ticket);
        match fails && fair {
            true => Ok(()),
            false => Err(Caught::world(format!(
                "command {ticket} ({kind}) had to succeed, but: {status}"
            ))),
        }
    }

    fn judge_success(&mut self, index: usize, ticket: u64, flight: &Flight) -> Result<(), Caught> {
        match flight.kind {
            Kind::Read => {
                let found = self.stamps_of(index, flight).map_err(Caught::oracle)?;
                let seen = self.oracle.read_ended(ticket, &found);
                seen.map_err(Caught::oracle)
            }
            Kind::Compare => {
                let seen = self.oracle.read_ended(ticket, &flight.wanted);
                seen.map_err(Caught::oracle)
            }
            _ => {
                self.oracle.write_ended(ticket, true);
                Ok(())
            }
        }
    }

    /// The stamps of the blocks that a read returned.
    fn stamps_of(&mut self, index: usize, flight: &Flight) -> Result<Vec<Stamp>, String> {
        self.lanes[index].read_buffer(flight.buffer, &mut self.bytes);
        let block_bytes = self.bytes.len() / flight.count as usize;
        let blocks = self.bytes.chunks_exact(block_bytes);
        (flight.at..)
            .zip(blocks)
            .map(|(lba, block)| stamp::check(block, flight.namespace, lba))
            .collect()
    }
}

/// Whether two statuses say the same; the bits beside the codes are advice.
pub(crate) fn is_same(a: Status, b: Status) -> bool {
    (a.sct(), a.sc()) == (b.sct(), b.sc())
}
