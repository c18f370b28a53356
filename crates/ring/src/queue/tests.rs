use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::{HeapRegister, HeapWords, Register32};

const PHASE: u64 = 1 << 48;

/// A bit that some runs of completions have in common.
const COMMON: u64 = 1 << 40;

/// Both queues of one queue pair, with both sides of each and the two doorbells.
struct Pair<'m> {
    host_sq: SubmissionTail<&'m HeapWords>,
    host_cq: CompletionHead<&'m HeapWords>,
    device_sq: SubmissionHead<&'m HeapWords>,
    device_cq: CompletionTail<&'m HeapWords>,
    tail_doorbell: HeapRegister,
    head_doorbell: HeapRegister,
}

fn memory(depth: u32) -> (HeapWords, HeapWords) {
    let depth = depth as usize;
    (HeapWords::new(depth * 8), HeapWords::new(depth * 2))
}

impl<'m> Pair<'m> {
    fn new(memory: &'m (HeapWords, HeapWords), depth: u32) -> Self {
        Self {
            host_sq: SubmissionTail::new(&memory.0, depth),
            host_cq: CompletionHead::new(&memory.1, depth),
            device_sq: SubmissionHead::new(&memory.0, depth),
            device_cq: CompletionTail::new(&memory.1, depth),
            tail_doorbell: HeapRegister::new(),
            head_doorbell: HeapRegister::new(),
        }
    }
}

fn entry(number: u64) -> [u64; 8] {
    core::array::from_fn(|word| number * 8 + word as u64)
}

/// What the host and the device do in one random run, checked against plain queues.
#[derive(Default)]
struct Model {
    pushed: u64,
    taken: u64,
    posted: u64,
    reaped: u64,
    reaped_published: u64,
    unpublished: VecDeque<u64>,
    waiting: VecDeque<u64>,
    executing: VecDeque<u64>,
    completed: VecDeque<u64>,
}

impl Model {
    fn submit(&mut self, pair: &mut Pair<'_>, count: u64) {
        let room = u64::from(pair.host_sq.depth()) - 1 - (self.pushed - self.reaped);
        for _ in 0..count.min(room) {
            pair.host_sq.push(&entry(self.pushed));
            self.unpublished.push_back(self.pushed);
            self.pushed += 1;
        }
        assert_eq!(pair.host_sq.unpublished(), !self.unpublished.is_empty());
    }

    fn publish(&mut self, pair: &mut Pair<'_>) {
        pair.host_sq.publish(&pair.tail_doorbell);
        self.waiting.append(&mut self.unpublished);
        assert!(!pair.host_sq.unpublished());
    }

    fn fetch(&mut self, pair: &mut Pair<'_>, count: u64) {
        let pending = pair.device_sq.observe(pair.tail_doorbell.load_acquire());
        assert_eq!(pending, Ok(u32::try_from(self.waiting.len()).unwrap()));
        if self.taken % 2 == 1 {
            self.fetch_by_looking(pair, count);
        }
        for _ in 0..count {
            let Some(number) = self.waiting.pop_front() else {
                break;
            };
            assert_eq!(pair.device_sq.take(), entry(number));
            self.executing.push_back(number);
            self.taken += 1;
        }
        let depth = u64::from(pair.device_sq.depth());
        assert_eq!(u64::from(pair.device_sq.head()), self.taken % depth);
        assert_eq!(pair.device_sq.pending() as usize, self.waiting.len());
    }

    /// Looks at up to `count` commands, word by word, and skips all of them but one.
    fn fetch_by_looking(&mut self, pair: &mut Pair<'_>, count: u64) {
        let max = count.min(self.waiting.len() as u64);
        let mut seen = Vec::new();
        pair.device_sq.look(u32::try_from(max).unwrap(), |slot| {
            seen.push(core::array::from_fn(|word| slot.word(word)));
            true
        });
        let depth = u64::from(pair.device_sq.depth());
        let until_the_end = depth - self.taken % depth;
        assert_eq!(
            seen.len() as u64,
            max.min(until_the_end),
            "all, or up to the end of memory"
        );
        for (seen, &number) in seen.iter().zip(&self.waiting) {
            assert_eq!(*seen, entry(number));
        }
        let skipped = seen.len().saturating_sub(1);
        let head = pair.device_sq.skip(u32::try_from(skipped).unwrap());
        self.executing.extend(self.waiting.drain(..skipped));
        self.taken += skipped as u64;
        assert_eq!(u64::from(head), self.taken % depth);
    }

    /// Posts up to `count` completions as one run with a bit in common.
    fn complete_as_a_run(&mut self, pair: &mut Pair<'_>, count: u64) {
        let mut run = pair.device_cq.run(COMMON);
        for number in self
            .executing
            .drain(..self.executing.len().min(count as usize))
        {
            run.post(!number, number);
            self.completed.push_back(number | COMMON);
            self.posted += 1;
        }
        let end = run.end();
        pair.device_cq.settle(end);
    }

    fn complete(&mut self, pair: &mut Pair<'_>, count: u64) {
        let depth = u64::from(pair.device_cq.depth());
        pair.device_cq
            .observe_head(pair.head_doorbell.load_acquire())
            .unwrap();
        let room = depth - 1 - (self.posted - self.reaped_published);
        assert_eq!(u64::from(pair.device_cq.room()), room);
        if self.posted % 2 == 1 {
            self.complete_as_a_run(pair, count.min(room));
        }
        let room = depth - 1 - (self.posted - self.reaped_published);
        for _ in 0..count.min(room) {
            let Some(number) = self.executing.pop_front() else {
                break;
            };
            pair.device_cq.post(!number, number);
            self.completed.push_back(number);
            self.posted += 1;
        }
        assert_eq!(u64::from(pair.device_cq.tail()), self.posted % depth);
    }

    fn reap(&mut self, pair: &mut Pair<'_>, count: u64) {
        let depth = u64::from(pair.host_cq.depth());
        let mut left = count;
        if left > 0 {
            pair.host_cq.drain(|found| {
                let number = self
                    .completed
                    .pop_front()
                    .expect("a stale entry looked new");
                let lap = self.reaped / depth;
                let phase = if lap.is_multiple_of(2) { PHASE } else { 0 };
                assert_eq!(found, [!(number & !COMMON), number | phase]);
                self.reaped += 1;
                left -= 1;
                left > 0
            });
            assert!(left == 0 || self.completed.is_empty(), "stopped early");
        }
        pair.host_cq.publish(&pair.head_doorbell);
        self.reaped_published = self.reaped;
        assert_eq!(u64::from(pair.host_cq.head()), self.reaped % depth);
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_queue_pair_of_any_depth_behaves_like_plain_queues(
        depth in 2_u32..70,
        steps in prop::collection::vec((0_u8..5, 0_u64..70), 1..if cfg!(miri) { 40 } else { 400 }),
    ) {
        let memory = memory(depth);
        let mut pair = Pair::new(&memory, depth);
        let mut model = Model::default();
        for (kind, count) in steps {
            match kind {
                0 => model.submit(&mut pair, count),
                1 => model.publish(&mut pair),
                2 => model.fetch(&mut pair, count),
                3 => model.complete(&mut pair, count),
                _ => model.reap(&mut pair, count),
            }
        }
    }

    #[test]
    fn no_tail_from_the_host_breaks_the_device(
        depth in 2_u32..70,
        tails in prop::collection::vec((0_u32..140, 0_u32..70, any::<bool>()), 1..40),
    ) {
        let words = HeapWords::new(depth as usize * 8);
        let mut device = SubmissionHead::new(&words, depth);
        for (tail, takes, wild) in tails {
            let tail = if wild { tail.wrapping_mul(0x9e37_79b9) } else { tail };
            let before = device.pending();
            match device.observe(tail) {
                Ok(pending) => {
                    prop_assert!(tail < depth && pending < depth && pending >= before);
                    prop_assert_eq!((u32::from(device.head()) + pending) % depth, tail);
                }
                Err(bad) => {
                    prop_assert_eq!(bad, BadTail { tail, depth });
                    prop_assert_eq!(device.pending(), before);
                }
            }
            for _ in 0..takes.min(device.pending()) {
                device.take();
            }
        }
    }

    #[test]
    fn no_head_from_the_host_breaks_the_device(
        depth in 2_u32..70,
        heads in prop::collection::vec((0_u32..140, 0_u32..70, any::<bool>()), 1..40),
    ) {
        let words = HeapWords::new(depth as usize * 2);
        let mut device = CompletionTail::new(&words, depth);
        for (head, posts, wild) in heads {
            let head = if wild { head.wrapping_mul(0x9e37_79b9) } else { head };
            let before = device.room();
            match device.observe_head(head) {
                Ok(()) => {
                    prop_assert!(head < depth && device.room() < depth && device.room() >= before);
                    let tail = u32::from(device.tail());
                    prop_assert_eq!((tail + 1 + device.room()) % depth, head);
                }
                Err(bad) => {
                    prop_assert_eq!(bad, BadHead { head, depth });
                    prop_assert_eq!(device.room(), before);
                }
            }
            for _ in 0..posts.min(device.room()) {
                device.post(0, 0);
            }
        }
    }
}

#[test]
fn a_tail_that_takes_back_commands_is_refused_and_changes_nothing() {
    let (words, _) = memory(8);
    let mut device = SubmissionHead::new(&words, 8);
    assert_eq!(device.observe(5), Ok(5));
    device.take();
    assert_eq!(device.observe(3), Err(BadTail { tail: 3, depth: 8 }));
    assert_eq!(device.observe(8), Err(BadTail { tail: 8, depth: 8 }));
    assert_eq!(device.observe(u32::MAX).unwrap_err().tail, u32::MAX);
    assert_eq!(device.observe(0), Ok(7), "a full queue holds depth - 1");
    assert_eq!(device.observe(1), Err(BadTail { tail: 1, depth: 8 }));
}

#[test]
fn a_head_beyond_the_tail_is_refused_and_changes_nothing() {
    let (_, words) = memory(4);
    let mut device = CompletionTail::new(&words, 4);
    assert_eq!(device.observe_head(1), Err(BadHead { head: 1, depth: 4 }));
    device.post(0, 0);
    device.post(0, 0);
    assert_eq!(device.room(), 1);
    assert_eq!(device.observe_head(3), Err(BadHead { head: 3, depth: 4 }));
    assert_eq!(device.observe_head(4), Err(BadHead { head: 4, depth: 4 }));
    assert_eq!(device.room(), 1);
    assert_eq!(device.observe_head(2), Ok(()));
    assert_eq!(device.room(), 3);
    assert_eq!(device.observe_head(1), Err(BadHead { head: 1, depth: 4 }));
}

#[test]
fn the_doorbell_is_rung_once_per_batch_and_not_without_news() {
    let memory = memory(4);
    let mut pair = Pair::new(&memory, 4);
    pair.tail_doorbell.store_release(77);
    pair.host_sq.publish(&pair.tail_doorbell);
    assert_eq!(pair.tail_doorbell.load_relaxed(), 77, "nothing to publish");
    pair.host_sq.push(&entry(1));
    pair.host_sq.push(&entry(2));
    assert_eq!(pair.tail_doorbell.load_relaxed(), 77, "not published yet");
    pair.host_sq.publish(&pair.tail_doorbell);
    assert_eq!(pair.tail_doorbell.load_relaxed(), 2);
}

#[test]
fn a_zeroed_queue_has_no_completion_and_the_first_round_carries_phase_one() {
    let (_, words) = memory(3);
    let mut device = CompletionTail::new(&words, 3);
    let mut host = CompletionHead::new(&words, 3);
    assert_eq!(host.take(), None);
    device.post(7, 0);
    assert_eq!(host.take(), Some([7, PHASE]));
}

#[cfg(not(miri))]
#[test]
fn the_deepest_queue_wraps_after_65536_entries() {
    let memory = memory(QUEUE_DEPTH_MAX);
    let mut pair = Pair::new(&memory, QUEUE_DEPTH_MAX);
    let mut model = Model::default();
    for _ in 0..5 {
        model.submit(&mut pair, 40_000);
        model.publish(&mut pair);
        model.fetch(&mut pair, 40_000);
        model.complete(&mut pair, 40_000);
        model.reap(&mut pair, 40_000);
    }
    assert_eq!(model.reaped, 200_000);
}

#[test]
fn each_side_fits_one_line_with_a_handle_of_forty_bytes() {
    assert!(size_of::<SubmissionTail<[u64; 5]>>() <= 64);
    assert!(size_of::<SubmissionHead<[u64; 5]>>() <= 64);
    assert!(size_of::<CompletionTail<[u64; 5]>>() <= 64);
    assert!(size_of::<CompletionHead<[u64; 5]>>() <= 64);
}

#[test]
#[should_panic(expected = "needs 16 words, found 15")]
fn too_little_memory_is_our_bug() {
    let words = HeapWords::new(15);
    let _ = SubmissionTail::new(&words, 2);
}

#[test]
#[should_panic(expected = "queue depth 1 is not in 2..=65536")]
fn a_queue_of_one_entry_is_our_bug() {
    let words = HeapWords::new(15);
    let _ = CompletionHead::new(&words, 1);
}

#[test]
fn two_threads_pass_every_command_and_completion_in_order() {
    let total: u64 = if cfg!(miri) { 40 } else { 100_000 };
    let depth = 5;
    let memory = memory(depth);
    let (tail_doorbell, head_doorbell) = (HeapRegister::new(), HeapRegister::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut sq = SubmissionHead::new(&memory.0, depth);
            let mut cq = CompletionTail::new(&memory.1, depth);
            let mut done = 0;
            while done < total {
                let pending = sq.observe(tail_doorbell.load_acquire()).unwrap();
                cq.observe_head(head_doorbell.load_acquire()).unwrap();
                for _ in 0..pending.min(cq.room()) {
                    assert_eq!(sq.take(), entry(done));
                    cq.post(done, done);
                    done += 1;
                }
                std::thread::yield_now();
            }
        });
        let mut sq = SubmissionTail::new(&memory.0, depth);
        let mut cq = CompletionHead::new(&memory.1, depth);
        let (mut pushed, mut reaped) = (0, 0);
        while reaped < total {
            while pushed < total && pushed - reaped < u64::from(depth) - 1 {
                sq.push(&entry(pushed));
                pushed += 1;
            }
            sq.publish(&tail_doorbell);
            while let Some([word0, word1]) = cq.take() {
                assert_eq!(word1 & !PHASE, reaped);
                assert_eq!(word0, reaped);
                reaped += 1;
            }
            cq.publish(&head_doorbell);
            std::thread::yield_now();
        }
    });
}
