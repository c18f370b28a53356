//! The host's part: what it does to its rings, to memory and to registers.

use core::time::Duration;

use spec::nvme::register::{CC, DOORBELLS};
use spec::nvme::{
    CreateCompletionQueue, CreateSubmissionQueue, DeleteQueue, SubmissionEntry, admin_opcode,
};
use spec::{CommandId, NamespaceId, QueueId, ZeroBased};

use super::Drive;
use crate::acts::Act;
use crate::model::ring_offset;
use crate::world::{BASE, DATA_OFFSET, PAGE, View, World};

impl Drive {
    pub(super) fn perform(&mut self, act: Act) {
        match act {
            Act::Send {
                queue,
                entries,
                by_register,
            } => self.send(queue, &entries, by_register),
            Act::Transfer {
                queue,
                entry,
                lists,
            } => {
                for (offset, words) in lists {
                    self.poke(offset, &words);
                }
                self.send(queue, &[entry], false);
            }
            Act::Create {
                queue,
                submission_for,
                depth,
            } => self.create(queue, submission_for, depth),
            Act::Delete { queue, completion } => self.delete(queue, completion),
            Act::Release {
                queue,
                count,
                by_register,
            } => self.release(queue, count, by_register),
            Act::Doorbell {
                index,
                value,
                by_register,
            } => self.doorbell(index, value, by_register),
            Act::WriteRegister {
                offset,
                bytes,
                value,
            } => self.write_register(offset, bytes, value),
            Act::ReadRegister { offset, bytes } => {
                self.world.controller.read_register(offset, bytes);
            }
            Act::Poke { offset, words } => self.poke(offset, &words),
            Act::Fill { offset, seed } => {
                let bytes: Vec<u8> = (0..PAGE).map(|at| (at / 7) as u8 ^ seed).collect();
                self.world.write(offset, &bytes);
                self.model.write(offset, &bytes);
            }
            Act::Pass { milliseconds } => {
                self.world.now = self
                    .world
                    .now
                    .saturating_add(Duration::from_millis(milliseconds));
                self.tick();
            }
            Act::Show(view) => {
                // With the rings in view, a command may write over them.
                self.foreseen &= view != View::All;
                self.show(view);
            }
            Act::Hold(hold) => self.world.hold(hold),
            Act::Restart => {
                self.restart();
                self.unleash();
            }
        }
    }

    /// Puts entries at the tail, as many as there is room for, and rings.
    pub(super) fn send(&mut self, queue: u16, entries: &[SubmissionEntry], by_register: bool) {
        let foreseen = self.foreseen;
        let Some(sq) = self.submissions.get_mut(&queue) else {
            return;
        };
        for entry in entries {
            if foreseen && sq.waiting.len() as u32 + 1 >= sq.depth {
                break;
            }
            let offset =
                ring_offset(QueueId::new(queue), false) + sq.tail as usize * SubmissionEntry::BYTES;
            // Twins could not be told apart; a wild host sends them.
            let entry = if foreseen {
                sq.without_twin(*entry)
            } else {
                *entry
            };
            self.world.write(offset, &entry.to_bytes());
            sq.tail = (sq.tail + 1) % sq.depth;
            sq.waiting.push_back(entry);
        }
        let (index, tail) = (2 * u32::from(queue), sq.tail);
        self.ring(index, tail, by_register);
    }

    fn ring(&mut self, index: u32, value: u32, by_register: bool) {
        if by_register {
            self.world.ring_register(index, value);
        } else {
            self.world.ring(index, value);
        }
    }

    /// Sends a command that creates a queue on its ring page, which the controller sees only for this moment.
    pub(super) fn create(&mut self, queue: u16, submission_for: Option<u16>, depth: u32) {
        let completion = submission_for.is_none();
        let id = QueueId::new(queue);
        let offset = ring_offset(id, completion);
        let exists = if completion {
            self.completions.contains_key(&queue)
        } else {
            self.submissions.contains_key(&queue)
        };
        if !exists {
            self.graves.retain(|(grave, _)| *grave != offset);
            self.world.write(offset, &[0; PAGE]);
        }
        let size = ZeroBased::<u16>::from_count(depth).expect("1 to 65536");
        let prp1 = BASE + offset as u64;
        let entry = SubmissionEntry::new(0, CommandId::new(0x100), NamespaceId::NONE);
        let entry = match submission_for {
            None => CreateCompletionQueue {
                qid: id,
                size,
                contiguous: true,
                interrupts: true,
                vector: queue,
                prp1,
            }
            .emit(entry.with_opcode(admin_opcode::CREATE_IO_CQ)),
            Some(cq) => CreateSubmissionQueue {
                qid: id,
                size,
                contiguous: true,
                cqid: QueueId::new(cq),
                prp1,
                ..CreateSubmissionQueue::default()
            }
            .emit(entry.with_opcode(admin_opcode::CREATE_IO_SQ)),
        };
        let view = self.view;
        self.show(View::All);
        self.send(0, &[entry], false);
        self.tick();
        self.show(view);
    }

    fn delete(&mut self, queue: u16, completion: bool) {
        let opcode = if completion {
            admin_opcode::DELETE_IO_CQ
        } else {
            admin_opcode::DELETE_IO_SQ
        };
        let entry = SubmissionEntry::new(opcode, CommandId::new(0x101), NamespaceId::NONE);
        let entry = DeleteQueue {
            qid: QueueId::new(queue),
        }
        .emit(entry);
        self.send(0, &[entry], false);
    }

    /// Gives places back, at most as many as completions were seen.
    pub(super) fn release(&mut self, queue: u16, count: u32, by_register: bool) {
        if let Some(cq) = self.completions.get_mut(&queue) {
            cq.held -= count.min(cq.held);
            let (index, head) = (2 * u32::from(queue) + 1, cq.released());
            self.ring(index, head, by_register);
        }
    }

    /// Any doorbell, any value. A wrong one must change nothing; the host then writes the right one again.
    fn doorbell(&mut self, index: u32, value: u32, by_register: bool) {
        let queue = u16::try_from(index / 2).unwrap_or(u16::MAX);
        let right = if index.is_multiple_of(2) {
            self.submissions.get(&queue).map(|sq| (sq.depth, sq.tail))
        } else {
            self.completions
                .get(&queue)
                .map(|cq| (cq.depth, cq.released()))
        };
        let before = self.world.controller.counters().bad_doorbells;
        let was_serving = self.world.is_serving();
        self.ring(index, value, by_register);
        let wrong = right.is_none_or(|(depth, _)| value >= depth);
        if self.foreseen && by_register && wrong && was_serving {
            let after = self.world.controller.counters().bad_doorbells;
            assert_eq!(
                after,
                before + 1,
                "doorbell {index} with {value:#x} is wrong"
            );
        }
        match right {
            Some((_, right)) if wrong => {
                self.tick();
                self.ring(index, right, false);
            }
            // A right value that the host did not mean: its entries are no longer known.
            Some((_, right)) if right != value => self.foreseen = false,
            _ => {}
        }
    }

    fn write_register(&mut self, offset: u32, bytes: u32, value: u64) {
        let state = |world: &World| {
            let resets = world.controller.counters().resets;
            (world.csts(), world.controller.read_register(CC, 4), resets)
        };
        if matches!(bytes, 4 | 8) && offset >= DOORBELLS && offset.is_multiple_of(bytes) {
            let index = (offset - DOORBELLS) / 4;
            if bytes == 4 {
                return self.doorbell(index, value as u32, true);
            }
            self.foreseen = false;
        }
        let before = state(&self.world);
        self.world.controller.write_register(offset, bytes, value);
        self.foreseen &= state(&self.world) == before;
    }

    fn poke(&mut self, offset: usize, words: &[u64]) {
        let ring = offset < DATA_OFFSET;
        if ring && self.foreseen && !self.wild {
            return;
        }
        for (index, word) in words.iter().enumerate() {
            let place = offset + index * 8;
            self.world.write(place, &word.to_le_bytes());
            self.model.write(place, &word.to_le_bytes());
        }
        self.foreseen &= !ring;
    }
}
