//! Timing profiles beside their sources, in virtual and in real time, and what the wrapper costs.

use media::timing::{Load, Measured, Profile, TimedMedia, closed_loop};
use media::{BlockSize, NullMedia};
use spec::BlockCount;

use crate::bars::{Bar, Effort, Samples, Sense};
use crate::clock::thread_cpu_seconds;
use crate::spine::rig::Rig;

/// Requests of a loop in virtual time.
const VIRTUAL_REQUESTS: u32 = 200_000;

/// A real-time sample during which the thread had less than this share of its CPU does not count.
const CPU_SHARE_MIN: f64 = 0.97;

/// Windows of one real-time sample: at the greatest depth a request takes two milliseconds.
const WINDOWS: u32 = 5;

pub(super) fn bars(
    effort: Effort,
    only_gates: bool,
    progress: &mut dyn FnMut(&str),
    bars: &mut Vec<Bar>,
) {
    progress("timing profiles in virtual time");
    for (profile, row) in rows() {
        let limit = (Sense::AtMost, 5.0);
        let name = format!("{}, virtual time: off by", title(&profile, &row));
        bars.push(Bar::judge(
            name,
            "%",
            limit,
            true,
            Ok(in_virtual_time(&profile, &row)),
        ));
    }
    if only_gates {
        return;
    }
    // Where the source has no latency it has only the rate at which the drive is full, which asks for a faster machine.
    for (profile, row) in rows().filter(|(_, row)| row.mean_us.is_some()) {
        let name = format!("{}, real time: off by", title(&profile, &row));
        progress(&name);
        let samples = in_real_time(effort, &profile, &row);
        bars.push(Bar::judge(name, "%", (Sense::AtMost, 10.0), false, samples));
    }
}

/// The rows of all published profiles.
fn rows() -> impl Iterator<Item = (Profile, Measured)> {
    Profile::names()
        .filter_map(Profile::named)
        .flat_map(|profile| {
            let rows = profile.measured().to_vec();
            rows.into_iter().map(move |row| (profile.clone(), row))
        })
}

fn title(profile: &Profile, row: &Measured) -> String {
    let Measured {
        depth, block_bytes, ..
    } = row;
    format!("{} QD {depth}, {block_bytes} B", profile.name())
}

/// How far a figure is from the source's, in percent of that.
fn off(found: f64, wanted: f64) -> f64 {
    (found / wanted - 1.0).abs() * 100.0
}

/// The greater of the differences in IOPS and in mean latency.
fn in_virtual_time(profile: &Profile, row: &Measured) -> Samples {
    let seen = closed_loop(profile, &Load::of(row, VIRTUAL_REQUESTS), 1);
    let latency = row
        .mean_us
        .map_or(0.0, |mean_us| off(seen.mean_us, mean_us));
    let source = row
        .mean_us
        .map_or("no latency in the source".into(), |us| format!("{us} us"));
    Samples {
        values: vec![off(seen.iops, row.iops).max(latency)],
        discarded: 0,
        detail: format!(
            "{:.0} IOPS, {:.2} us; source {:.0} IOPS, {source}; {VIRTUAL_REQUESTS} requests, seed 1",
            seen.iops, seen.mean_us, row.iops
        ),
    }
}

/// The difference in IOPS of reads through driver and controller in this thread. The depth is kept full, so by Little's law
/// the mean latency is off as far.
fn in_real_time(effort: Effort, profile: &Profile, row: &Measured) -> Result<Samples, String> {
    let inner = NullMedia::new(BlockCount::new(1 << 21), BlockSize::B512);
    let media = TimedMedia::new(Box::new(inner), profile, 1);
    let mut rig = Rig::over(Box::new(media), row.block_bytes as usize)?;
    let mut samples = Samples::default();
    let mut last = 0.0;
    for _ in 0..effort.repeats {
        for _ in 0..=effort.retries {
            let begin = thread_cpu_seconds();
            let rate = rig.read_for(row.depth as usize, effort.window * WINDOWS);
            let share = (thread_cpu_seconds() - begin) / rate.seconds;
            last = rate.per_second();
            if share >= CPU_SHARE_MIN {
                samples.values.push(off(last, row.iops));
                break;
            }
            samples.discarded += 1;
        }
    }
    samples.detail = format!(
        "last {last:.0} IOPS, source {:.0} IOPS; null media (no data moved), one thread, {} discarded",
        row.iops, samples.discarded
    );
    Ok(samples)
}

/// The bar of the wrapper's own instructions: what a timed request costs more than an untimed one, in a loop of rounds at
/// QD 128, less the body of the landing, which is the controller's.
///
/// `count` runs [`timing_counted::run`](super::timing_counted::run) under callgrind and gives the instructions, for one command,
/// of the functions whose name matches `*WORD*`, with all that they call.
pub(super) fn own_cost(count: &mut dyn FnMut(&str) -> Result<f64, String>) -> Bar {
    let mut samples = || {
        let (timed, untimed) = (count("counted_timed")?, count("counted_untimed")?);
        let landing = count("CountedLanding*answer")?;
        Ok(Samples {
            values: vec![timed - untimed - landing],
            discarded: 0,
            detail: format!("{timed:.1} timed, {untimed:.1} untimed, {landing:.1} landing"),
        })
    };
    let name = "timing wrapper over null media, QD 128, own cost";
    Bar::judge(name, "instr", (Sense::AtMost, 60.0), true, samples())
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn every_row_of_every_profile_is_within_five_percent_in_virtual_time() {
        let mut found = Vec::new();
        let quiet = &mut |_: &str| {};
        bars(Effort::QUICK, true, quiet, &mut found);
        assert_eq!(found.len(), 8);
        for bar in found {
            assert_eq!(bar.verdict, crate::bars::Verdict::Met, "{bar:?}");
        }
    }

    #[test]
    fn a_timed_drive_takes_its_time_through_driver_and_controller() {
        let profile = Profile::named("aws-c7gd").expect("published");
        let effort = Effort {
            window: Duration::from_millis(5),
            repeats: 1,
            ..Effort::QUICK
        };
        for row in profile.measured() {
            let inner = NullMedia::new(BlockCount::new(1 << 21), BlockSize::B512);
            let media = TimedMedia::new(Box::new(inner), &profile, 1);
            let mut rig = Rig::over(Box::new(media), 4096).expect("a rig");
            let rate = rig.read_for(row.depth as usize, effort.window * WINDOWS);
            // A busy machine makes it slower, nothing makes it faster.
            assert!(rate.per_second() < row.iops * 1.05, "{row:?} {rate:?}");
            assert!(rate.commands > 0);
        }
    }
}
