//! The loop whose instructions are counted: rounds of 128 requests on null media, with a profile and without.

use core::time::Duration;

use media::timing::{Profile, TimedMedia};
use media::{BlockSize, Landing, Media, NullMedia, Operation, Request, Token};
use mem::Span;
use spec::nvme::Status;
use spec::{BlockCount, Lba};

const DEPTH: u32 = 128;

/// The profile of the demo.
const PROFILE: &str = "aws-c7gd";

/// From one round to the next: a little longer than the profile takes for 128 requests.
const ROUND: Duration = Duration::from_micros(2000);

/// Starts and answers a round on a timed medium. Counted.
#[inline(never)]
fn counted_timed(
    media: &mut dyn Media,
    plan: &[(Token, Request)],
    now: Duration,
    landing: &mut dyn Landing,
) {
    media.set_time(now);
    for (token, request) in plan {
        let _ = media.start(*token, request, &[]);
    }
    media.poll(now + ROUND, landing);
}

/// Starts a round on a medium that answers at once: the loop and the inner medium, to be taken off. Counted.
#[inline(never)]
fn counted_untimed(media: &mut dyn Media, plan: &[(Token, Request)]) {
    for (token, request) in plan {
        let _ = media.start(*token, request, &[]);
    }
}

/// Hears the answers. What that costs is counted alone, so that it can be taken off; the call to it is not.
struct CountedLanding(u64);

impl Landing for CountedLanding {
    fn blocks(&mut self, _token: Token, _blocks: Span<'_>) -> Status {
        Status::SUCCESS
    }

    #[inline(never)]
    fn answer(&mut self, token: Token, status: Status) {
        self.0 += u64::from(token.0 < DEPTH && status == Status::SUCCESS);
    }
}

/// Runs rounds until at least `commands` are done, and says how many were.
///
/// # Errors
/// When an answer is missing.
pub fn run(commands: u64) -> Result<u64, String> {
    let profile = Profile::named(PROFILE).ok_or("the profile is published")?;
    let null = || Box::new(NullMedia::new(BlockCount::new(1 << 30), BlockSize::B512));
    // Behind the compiler's back, as in a controller: every call goes through a table.
    let hidden = |media: Box<dyn Media>| core::hint::black_box(media);
    let mut untimed = hidden(null());
    let mut timed = hidden(Box::new(TimedMedia::new(hidden(null()), &profile, 1)));
    let mut answers = CountedLanding(0);
    let (mut now, mut started, mut state) = (Duration::ZERO, 0, 1_u64);
    while started < commands {
        let plan: Vec<(Token, Request)> = (0..DEPTH)
            .map(|token| {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                let write = state >> 63 != 0;
                let request = Request {
                    op: if write {
                        Operation::Write
                    } else {
                        Operation::Read
                    },
                    at: Lba::new(state >> 40),
                    count: BlockCount::new(8),
                    fua: false,
                };
                (Token(token), request)
            })
            .collect();
        counted_untimed(&mut *untimed, &plan);
        counted_timed(&mut *timed, &plan, now, &mut answers);
        started += u64::from(DEPTH);
        now += ROUND;
        if answers.0 != started {
            return Err(format!("{started} requests, {} answers", answers.0));
        }
    }
    Ok(started)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_round_is_answered_before_the_next() {
        assert_eq!(super::run(1000), Ok(1024));
    }
}
