//! Runs: plain reads and writes of one page each, on one namespace of instant media. That is most of what a data plane
//! does, so it is done in three short loops, each with so little to keep in mind that it stays in registers: list the
//! commands, hand the list to media in one call, post completions.
//!
//! Whatever is not of that kind, or not right, is left in the queue untouched: `io.rs` serves every command, or names the
//! reason why not.

use arrayvec::ArrayVec;
use media::Piece;
use mem::{IovaTable, MappedWords};
use ring::queue::{SubmissionHead, SubmissionSlot};
use spec::nvme::{CompletionEntry, Status, SubmissionEntry, io_opcode};
use spec::{CommandId, QueueId};

use crate::counters::Counters;
use crate::limits::RUN_MAX;
use crate::logs::Logs;
use crate::namespace::{Namespace, NamespaceTable, contains};
use crate::prp;
use crate::queues::CompletionQueue;

/// What a run may touch.
pub(crate) struct Run<'c> {
    pub(crate) queue: u16,
    pub(crate) namespaces: &'c mut NamespaceTable,
    pub(crate) memory: &'c IovaTable,
    pub(crate) counters: &'c mut Counters,
    pub(crate) logs: &'c mut Logs,
}

/// Serves the run at the head of a submission queue, at most `max` commands, for which the completion queue has room.
/// Returns how many were taken.
#[inline(never)]
pub(crate) fn serve(
    run: Run<'_>,
    sq: &mut SubmissionHead<MappedWords>,
    cq: &mut CompletionQueue,
    max: u32,
) -> u32 {
    let Run {
        queue,
        namespaces,
        memory,
        counters,
        logs,
    } = run;
    let Ok(namespace) = namespaces.active(first_word(&sq.first()).nsid()) else {
        return 0;
    };
    if !namespace.instant {
        return 0;
    }
    let mut list = List::default();
    list.fill(sq, namespace, memory, max);
    if list.pieces.is_empty() {
        return 0;
    }
    let end = namespace.media.start_run(&list.pieces);
    match end.failed {
        None => assert!(
            end.answered == list.pieces.len(),
            "a run ended early for no reason"
        ),
        Some(_) => {
            assert!(
                end.answered < list.pieces.len(),
                "a run ended behind its last piece"
            );
            list.cut(end.answered + 1);
        }
    }
    list.totals.add_to(counters);
    let taken = list.pieces.len() as u32;
    let head = sq.skip(taken);
    let well = list.pieces.get(..end.answered).unwrap_or(&list.pieces);
    // What the completions have in common is made once. The head is that of the queue once the whole run was taken: every
    // entry of it has been copied by now.
    let [word0, common] = completion(queue, head, CommandId::new(0), Status::SUCCESS);
    let mut completions = cq.ring.run(common);
    for piece in well {
        completions.post(word0, CompletionEntry::word1_of(entry_of(piece).cid()));
    }
    let place = completions.end();
    cq.ring.settle(place);
    if let (Some(status), Some(entry)) = (end.failed, list.pieces.last().map(entry_of)) {
        counters.refused += 1;
        logs.note_refusal(queue, &entry, status);
        let [word0, word1] = completion(queue, head, entry.cid(), status);
        cq.ring.post(word0, word1);
    }
    taken
}

/// The words of a completion.
#[inline(always)]
fn completion(queue: u16, head: u16, cid: CommandId, status: Status) -> [u64; 2] {
    CompletionEntry::new(0, head, QueueId::new(queue), cid, false, status).words()
}

/// What is still known of a command once its piece was made: the first word and the start.
#[inline(always)]
fn entry_of(piece: &Piece<'_>) -> SubmissionEntry {
    SubmissionEntry::from_words([piece.tag, 0, 0, 0, 0, 0, 0, 0]).with_slba(piece.at)
}

/// The commands of a run, as media are to see them.
#[derive(Default)]
struct List<'m> {
    pieces: ArrayVec<Piece<'m>, RUN_MAX>,
    totals: Totals,
}

impl<'m> List<'m> {
    /// Lists the commands at the head of the queue that are reads or writes of one page on this namespace, and right.
    #[inline(always)]
    fn fill(
        &mut self,
        sq: &SubmissionHead<MappedWords>,
        namespace: &Namespace,
        memory: &'m IovaTable,
        max: u32,
    ) {
        let kind = |opcode| SubmissionEntry::new(opcode, CommandId::new(0), namespace.id).kind();
        let (reads, writes) = (kind(io_opcode::READ), kind(io_opcode::WRITE));
        let (blocks, shift) = (namespace.blocks, namespace.block_shift);
        sq.look(max.min(RUN_MAX as u32), |slot| {
            let first = first_word(slot);
            if first.kind() != reads && first.kind() != writes {
                return false;
            }
            let write = first.brings_data();
            let entry = with_transfer_words(first, slot);
            let (at, count) = (entry.slba(), entry.nlb().count());
            if entry.fua() || !contains(blocks, at, count.into()) {
                return false;
            }
            // At most 65,536 blocks of 4096 bytes: 2^28.
            let len = count << shift;
            let Some(data) = prp::one_page(memory, &entry, len) else {
                return false;
            };
            self.totals.add(write, len.into());
            let [tag, ..] = first.words();
            self.pieces.push(Piece {
                write,
                at,
                data,
                tag,
            });
            true
        });
    }

    /// Keeps the first `count` commands: media did not get to the others.
    #[cold]
    fn cut(&mut self, count: usize) {
        self.pieces.truncate(count);
        self.totals = Totals::default();
        for piece in &self.pieces {
            self.totals.add(piece.write, piece.data.len() as u64);
        }
    }
}

/// Commands and bytes, reads first and writes second.
#[derive(Default)]
struct Totals {
    commands: [u64; 2],
    bytes: [u64; 2],
}

impl Totals {
    #[inline(always)]
    fn add(&mut self, write: bool, len: u64) {
        let direction = usize::from(write);
        #[expect(clippy::indexing_slicing, reason = "a bool cannot pass the end of two")]
        {
            self.commands[direction] += 1;
            self.bytes[direction] += len;
        }
    }

    #[inline(always)]
    fn add_to(&self, counters: &mut Counters) {
        let ([reads, writes], [read_bytes, written_bytes]) = (self.commands, self.bytes);
        counters.reads += reads;
        counters.writes += writes;
        counters.read_bytes += read_bytes;
        counters.written_bytes += written_bytes;
    }
}

#[inline(always)]
fn first_word(slot: &SubmissionSlot<'_, MappedWords>) -> SubmissionEntry {
    SubmissionEntry::from_words([slot.word(0), 0, 0, 0, 0, 0, 0, 0])
}

/// The words that a read or write of one page uses: PRP1, the start, the count.
#[inline(always)]
fn with_transfer_words(
    first: SubmissionEntry,
    slot: &SubmissionSlot<'_, MappedWords>,
) -> SubmissionEntry {
    let [word0, ..] = first.words();
    SubmissionEntry::from_words([word0, 0, 0, slot.word(3), 0, slot.word(5), slot.word(6), 0])
}
