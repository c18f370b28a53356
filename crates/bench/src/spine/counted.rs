//! The loop whose instructions are counted: an in-line device, one thread, the two sides in functions of their own so
//! that callgrind can tell them apart. The plan (which block, which buffer) is made outside of both.

use driver::{Device, Done, IoBuffer, QueuePair};
use local::Inline;
use spec::{Lba, NamespaceId};

use super::rig::{DEPTH_MAX, Kept, Rig};

/// One command of the plan.
#[derive(Clone, Copy)]
struct Planned {
    at: Lba,
    buffer: IoBuffer,
    tag: u64,
}

/// The driver's first half: writes the planned commands into the ring and rings once. Counted.
#[inline(never)]
fn counted_driver_submit(pair: &mut QueuePair, plan: &[Planned]) {
    for planned in plan {
        let _ = pair.read(
            NamespaceId::new(1),
            planned.at,
            1,
            planned.buffer,
            planned.tag,
        );
    }
    pair.publish();
}

/// The caller's own share of `counted_driver_submit`: walks the plan and has each value in a register. Counted, so that it
/// can be taken off.
#[inline(never)]
fn counted_caller(plan: &[Planned]) {
    for planned in plan {
        in_registers(planned);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn in_registers(planned: &Planned) {
    let Planned { at, buffer, tag } = *planned;
    let (second, len) = (buffer.second_page(), buffer.len());
    // SAFETY: no instruction at all; the operands only have to be there.
    unsafe {
        core::arch::asm!(
            "/* {at} {iova} {second} {len:e} {tag} */",
            at = in(reg) at.get(),
            iova = in(reg) buffer.iova(),
            second = in(reg) second,
            len = in(reg) len,
            tag = in(reg) tag,
            options(nomem, nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn in_registers(planned: &Planned) {
    core::hint::black_box(*planned);
}

/// The driver's second half: takes what was completed. Counted.
#[inline(never)]
fn counted_driver_reap(pair: &mut QueuePair, done: &mut [Done]) -> usize {
    pair.reap(done)
}

/// The controller's part: one turn. Counted.
#[inline(never)]
fn counted_controller(device: &mut Device<Inline>) {
    device.link_mut().turn();
}

/// Runs 512 B reads from null media at QD 128 on `devices` devices until at least `commands` are done. The loop stops
/// after whole rounds, so that a run of 2N does exactly what a run of N did, and the same again.
///
/// # Errors
/// When a device cannot be made: the reason.
///
/// # Panics
/// If a command is refused.
pub fn run(devices: usize, commands: u64) -> Result<u64, String> {
    let mut rigs = (0..devices)
        .map(|_| Rig::inline(Kept::Null, 512))
        .collect::<Result<Vec<_>, _>>()?;
    let mut finished = 0;
    let mut state = 1_u64;
    let mut done = [Done::EMPTY; DEPTH_MAX];
    while finished < commands {
        for rig in &mut rigs {
            let plan: [Planned; DEPTH_MAX] = core::array::from_fn(|slot| {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                Planned {
                    at: Lba::new(state >> 44),
                    buffer: rig.buffer(slot),
                    tag: slot as u64,
                }
            });
            counted_caller(&plan);
            counted_driver_submit(&mut rig.pair, &plan);
            let mut reaped = 0;
            while reaped < DEPTH_MAX {
                counted_controller(&mut rig.device);
                reaped += counted_driver_reap(&mut rig.pair, &mut done[reaped..]);
            }
            for done in &done {
                assert!(done.status.is_success(), "a read failed: {}", done.status);
            }
            finished += reaped as u64;
        }
    }
    Ok(finished)
}
