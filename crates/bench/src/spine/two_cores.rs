//! Controller and driver on two cores, beside the bare loop that they are held against.

use super::rig::{DEPTH_MAX, Kept, Rig};
use super::{Bar, Effort, Samples, Sense};
use crate::ceiling::{bare, ping_pong, placement};
use crate::regime::{PingPong, Regime};
use crate::stats::median;

pub(super) fn bars(effort: Effort) -> Vec<Bar> {
    let deep = compare(DEPTH_MAX as u32, effort);
    let single = compare(1, effort);
    vec![
        Bar::judge(
            "two cores, null media (no data moved), 512 B, QD 128 / bare loop",
            "x",
            (Sense::AtLeast, 0.60),
            false,
            deep.map(|pairs| pairs.samples(|bare, nvme| nvme / bare)),
        ),
        Bar::judge(
            "two cores, null media, QD 1 round trip / bare loop",
            "x",
            (Sense::AtMost, 1.5),
            false,
            single.map(|pairs| pairs.samples(|bare, nvme| bare / nvme)),
        ),
    ]
}

/// Rates of the bare loop and of ours, measured next to each other.
#[derive(Default)]
struct Pairs {
    bare: Vec<f64>,
    nvme: Vec<f64>,
    trips_ns: Vec<f64>,
    discarded: usize,
}

impl Pairs {
    fn samples(self, ratio: impl Fn(f64, f64) -> f64) -> Samples {
        let values = self
            .bare
            .iter()
            .zip(&self.nvme)
            .map(|(&bare, &nvme)| ratio(bare, nvme));
        let million = |rates: &[f64]| median(rates).map_or(0.0, |rate| rate / 1e6);
        Samples {
            values: values.collect(),
            discarded: self.discarded,
            detail: format!(
                "bare {:.2} M/s, ours {:.2} M/s, ping-pong {:.0} ns, {} discarded",
                million(&self.bare),
                million(&self.nvme),
                median(&self.trips_ns).unwrap_or(0.0),
                self.discarded
            ),
        }
    }
}

fn compare(depth: u32, effort: Effort) -> Result<Pairs, String> {
    let cpus = placement::two()?;
    std::thread::scope(|scope| {
        // A thread of its own, so that the pinning ends with it.
        let run = scope.spawn(move || {
            placement::pin(cpus.0);
            let mut pairs = Pairs::default();
            for repeat in 0..effort.repeats {
                for _ in 0..=effort.retries {
                    if pair(&mut pairs, depth, effort, cpus, repeat % 2 == 0)? {
                        break;
                    }
                }
            }
            Ok(pairs)
        });
        run.join()
            .map_err(|_| "the measuring thread panicked".to_string())?
    })
}

/// One pair, in either order. False: the regime changed under it, and it does not count.
fn pair(
    pairs: &mut Pairs,
    depth: u32,
    effort: Effort,
    cpus: (usize, usize),
    bare_first: bool,
) -> Result<bool, String> {
    let trip = || ping_pong::round_trip_ns(cpus, effort.window / 10);
    let ours = || {
        let mut rig = Rig::threaded(Kept::Null, 512, cpus.1)?;
        Ok::<_, String>(rig.read_for(depth as usize, effort.window).per_second())
    };
    let before = trip()?;
    let (bare, nvme) = if bare_first {
        let bare = bare::rate(depth, cpus, effort.window)?;
        (bare, ours()?)
    } else {
        let nvme = ours()?;
        (bare::rate(depth, cpus, effort.window)?, nvme)
    };
    let after = trip()?;
    // The two CPUs of a virtual machine move between near and far placements that differ by five and more, and other work
    // may run on one of them: what was measured across a change, or beside such work, does not count.
    let around = PingPong {
        before_ns: before,
        after_ns: after,
    };
    if around.changed() || Regime::of(before) == Regime::Disturbed {
        pairs.discarded += 1;
        return Ok(false);
    }
    pairs.bare.push(bare);
    pairs.nvme.push(nvme);
    pairs.trips_ns.push((before + after) / 2.0);
    Ok(true)
}
