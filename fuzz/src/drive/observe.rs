//! Looking at what a turn did: completions, what they answer, and what must not have changed.

use controller::Failure;
use spec::QueueId;
use spec::nvme::{
    CompletionEntry, CreateCompletionQueue, CreateSubmissionQueue, DeleteQueue, GetLogPage,
    SetFeatures, Status, SubmissionEntry, admin_opcode, feature_id,
};

use super::{Completion, Drive, Submission, is_event_request};
use crate::model::{Verdict, ring_offset};
use crate::world::{BASE, BYTES, DATA_OFFSET, DEPTH_MAX, PAGE, QUEUES};

impl Drive {
    /// Looks at every completion queue, and at everything that must not have changed.
    pub(super) fn observe(&mut self) {
        let mut last = (0, Vec::new());
        // The admin queue comes last: what an admin command aborts completes before it.
        for queue in [1, 2, 3, 0] {
            while let Some(entry) = self.next_completion(queue) {
                self.completed += 1;
                last.0 += 1;
                self.settle(queue, &entry, &mut last.1);
            }
        }
        for (place, len) in last.1 {
            self.refresh(place, len);
        }
        if !self.world.is_serving() && self.foreseen {
            let failure = self.world.controller.failure();
            assert!(
                self.keep_alive && failure == Some(Failure::KeepAlive),
                "{failure:?}"
            );
            self.foreseen = false;
        }
        if !self.foreseen {
            return;
        }
        let open: usize = self.submissions.values().map(Submission::open).sum();
        let lasting = if self.world.is_slow() {
            self.submissions.values().map(|sq| sq.waiting.len()).sum()
        } else {
            open
        };
        assert!(
            self.completed <= self.fetched,
            "a completion without a command"
        );
        assert!(
            self.fetched - self.completed <= lasting as u64,
            "a command was lost"
        );
        for (offset, bytes) in &self.graves {
            let mut now = vec![0; bytes.len()];
            self.world.read(*offset, &mut now);
            assert_eq!(&now, bytes, "a completion in a queue that does not exist");
        }
    }

    /// Takes over what an admin command wrote.
    fn refresh(&mut self, place: usize, len: usize) {
        let mut bytes = vec![0; len];
        self.world.read(place, &mut bytes);
        self.model.write(place, &bytes);
    }

    /// Takes the next completion of a queue, if there is one.
    fn next_completion(&mut self, queue: u16) -> Option<CompletionEntry> {
        let cq = self.completions.get_mut(&queue)?;
        let offset =
            ring_offset(QueueId::new(queue), true) + cq.next as usize * CompletionEntry::BYTES;
        let entry = self.world.completion(offset);
        if entry.phase() != cq.phase {
            return None;
        }
        assert!(cq.held + 1 < cq.depth, "completion queue {queue} overflows");
        cq.held += 1;
        cq.next = (cq.next + 1) % cq.depth;
        cq.phase ^= cq.next == 0;
        Some(entry)
    }

    /// Finds the command that a completion answers, and compares the answer with the model's.
    fn settle(&mut self, queue: u16, found: &CompletionEntry, touched: &mut Vec<(usize, usize)>) {
        let id = found.sqid().get();
        let slow = self.world.is_slow();
        let Some(sq) = self.submissions.get_mut(&id) else {
            panic!("a completion of submission queue {id}, which does not exist");
        };
        assert_eq!(
            sq.completion, queue,
            "a completion in another queue than its own"
        );
        assert!(u32::from(found.sqhd()) < sq.depth);
        let at = sq
            .waiting
            .iter()
            .position(|entry| entry.cid() == found.cid());
        let at =
            at.unwrap_or_else(|| panic!("a completion of {:?}, which nobody sent", found.cid()));
        let overtaken = sq
            .waiting
            .iter()
            .take(at)
            .filter(|entry| !is_event_request(id, entry))
            .count();
        let entry = sq.waiting.remove(at).expect("just found");
        // Fast media serve a queue in order; event requests wait for their event.
        let may_overtake = (slow && id != 0) || is_event_request(id, &entry);
        assert!(
            may_overtake || overtaken == 0,
            "{entry:?} overtook {overtaken} commands"
        );
        if id == 0 {
            self.settle_admin(&entry, found.status(), touched);
        } else if self.data {
            let verdict = self.model.execute(&entry);
            match &verdict {
                Verdict::Good => assert_eq!(found.status().code(), Status::SUCCESS, "{entry:?}"),
                Verdict::Refused(causes) => assert!(
                    causes
                        .iter()
                        .any(|cause| cause.code() == found.status().code()),
                    "{entry:?}: {} instead of {causes:?}",
                    found.status()
                ),
            }
        }
    }

    /// What an admin command changes for the host.
    fn settle_admin(
        &mut self,
        entry: &SubmissionEntry,
        status: Status,
        touched: &mut Vec<(usize, usize)>,
    ) {
        if !status.is_success() {
            return;
        }
        match entry.opcode() {
            admin_opcode::CREATE_IO_CQ => {
                self.created_completion(&CreateCompletionQueue::parse(entry))
            }
            admin_opcode::CREATE_IO_SQ => {
                self.created_submission(&CreateSubmissionQueue::parse(entry))
            }
            admin_opcode::DELETE_IO_SQ => {
                let id = DeleteQueue::parse(entry).qid.get();
                assert!(
                    id != 0 && self.submissions.remove(&id).is_some(),
                    "deleted what was not there"
                );
            }
            admin_opcode::DELETE_IO_CQ => self.deleted_completion(DeleteQueue::parse(entry).qid),
            admin_opcode::SET_FEATURES => {
                self.keep_alive |= SetFeatures::parse(entry).fid == feature_id::KEEP_ALIVE_TIMER;
            }
            admin_opcode::IDENTIFY | admin_opcode::GET_FEATURES => self.touch(entry, PAGE, touched),
            admin_opcode::GET_LOG_PAGE => {
                let bytes = GetLogPage::parse(entry).bytes();
                self.touch(entry, bytes.min(BYTES as u64) as usize, touched);
            }
            _ => {}
        }
    }

    /// Notes the memory that an admin command may have written.
    fn touch(&mut self, entry: &SubmissionEntry, len: usize, touched: &mut Vec<(usize, usize)>) {
        match self.model.resolve(entry, len) {
            Ok(spans) => touched.extend(spans),
            Err(_) => touched.push((DATA_OFFSET, BYTES - DATA_OFFSET)),
        }
    }

    fn created_completion(&mut self, command: &CreateCompletionQueue) {
        let (id, depth) = (command.qid.get(), command.size.count());
        assert!((1..=QUEUES + 1).contains(&id) && command.contiguous);
        assert!((2..=DEPTH_MAX).contains(&depth));
        if id <= QUEUES && command.prp1 == BASE + ring_offset(command.qid, true) as u64 {
            let old = self.completions.insert(id, Completion::new(depth));
            assert!(old.is_none(), "completion queue {id} was created twice");
            // A grave here means that the host did not clear the memory for this queue: old completions look new.
            let offset = ring_offset(command.qid, true);
            self.foreseen &= !self.graves.iter().any(|(grave, _)| *grave == offset);
            self.graves.retain(|(grave, _)| *grave != offset);
        } else {
            self.foreseen = false; // a queue among the data
        }
    }

    fn created_submission(&mut self, command: &CreateSubmissionQueue) {
        let (id, depth, cq) = (command.qid.get(), command.size.count(), command.cqid.get());
        assert!((1..=QUEUES + 1).contains(&id) && command.contiguous);
        assert!((2..=DEPTH_MAX).contains(&depth));
        assert!(
            cq != 0 && self.completions.contains_key(&cq),
            "no completion queue {cq}"
        );
        if id <= QUEUES && command.prp1 == BASE + ring_offset(command.qid, false) as u64 {
            let old = self.submissions.insert(id, Submission::new(depth, cq));
            assert!(old.is_none(), "submission queue {id} was created twice");
        } else {
            self.foreseen = false;
        }
    }

    fn deleted_completion(&mut self, id: QueueId) {
        let queue = id.get();
        assert!(
            queue != 0 && self.completions.remove(&queue).is_some(),
            "deleted what was not there"
        );
        let used = self.submissions.values().any(|sq| sq.completion == queue);
        assert!(
            !used,
            "completion queue {queue} was deleted under a submission queue"
        );
        let offset = ring_offset(id, true);
        let mut bytes = vec![0; PAGE];
        self.world.read(offset, &mut bytes);
        self.graves.push((offset, bytes));
    }
}
