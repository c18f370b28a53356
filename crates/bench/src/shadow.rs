//! What every unit of the working set must hold, and who is busy with it.
//!
//! With many commands in flight the device may execute them in any order, so a read that overlaps a
//! write in flight has no single right answer, nor do two overlapping writes. The shadow therefore
//! lends each range either to one writer or to any number of readers; an access that cannot have its
//! range waits in front of the queue. Whatever is then in flight has exactly one right answer, at
//! any depth.

/// The generation of a unit whose content is not known: never written, or a write to it failed.
pub const UNKNOWN: u32 = 0;

const WRITER: u16 = u16::MAX;

/// Generations and loans of a range of units. One thread owns it.
#[derive(Debug, Clone)]
pub struct Shadow {
    first: u64,
    generations: Vec<u32>,
    /// Zero: free; [`WRITER`]: lent to one writer; else the number of readers.
    loans: Vec<u16>,
}

impl Shadow {
    /// A shadow of `units` units from `first` on, all [`UNKNOWN`] and free. Takes 6 bytes per unit.
    ///
    /// # Panics
    /// If the range does not fit the address space.
    #[must_use]
    pub fn new(first: u64, units: u64) -> Self {
        let units = usize::try_from(units).expect("a working set's units fit in memory");
        Self {
            first,
            generations: vec![UNKNOWN; units],
            loans: vec![0; units],
        }
    }

    /// Lends `units` units from `unit` on to a reader, unless a writer holds one of them.
    ///
    /// # Panics
    /// If the range is outside the shadow.
    pub fn begin_read(&mut self, unit: u64, units: u64) -> bool {
        let range = self.range(unit, units);
        let loans = &mut self.loans[range];
        // One below the writer's mark is never reached: depth is bounded far below it.
        if loans.iter().any(|&loan| loan >= WRITER - 1) {
            return false;
        }
        loans.iter_mut().for_each(|loan| *loan += 1);
        true
    }

    /// Takes a reader's range back.
    ///
    /// # Panics
    /// If no reader holds the range.
    pub fn end_read(&mut self, unit: u64, units: u64) {
        let range = self.range(unit, units);
        for loan in &mut self.loans[range] {
            assert!(*loan != 0 && *loan != WRITER, "no reader holds the range");
            *loan -= 1;
        }
    }

    /// Lends the range to a writer, unless anybody holds a part of it, and moves each unit to its
    /// next generation.
    ///
    /// # Panics
    /// If the range is outside the shadow.
    pub fn begin_write(&mut self, unit: u64, units: u64) -> bool {
        let range = self.range(unit, units);
        if self.loans[range.clone()].iter().any(|&loan| loan != 0) {
            return false;
        }
        self.loans[range.clone()].fill(WRITER);
        for generation in &mut self.generations[range] {
            // Generation zero means unknown, so wrapping skips it.
            *generation = generation.checked_add(1).unwrap_or(1);
        }
        true
    }

    /// Takes a writer's range back; if the write failed its content is [`UNKNOWN`] from now on.
    ///
    /// # Panics
    /// If no writer holds the range.
    pub fn end_write(&mut self, unit: u64, units: u64, succeeded: bool) {
        let range = self.range(unit, units);
        for loan in &mut self.loans[range.clone()] {
            assert!(*loan == WRITER, "no writer holds the range");
            *loan = 0;
        }
        if !succeeded {
            self.generations[range].fill(UNKNOWN);
        }
    }

    /// The generation that a unit has, or that the writer holding it is giving it.
    ///
    /// # Panics
    /// If the unit is outside the shadow.
    #[must_use]
    pub fn generation(&self, unit: u64) -> u32 {
        self.generations[self.range(unit, 1).start]
    }

    fn range(&self, unit: u64, units: u64) -> core::ops::Range<usize> {
        let start = usize::try_from(unit - self.first).expect("a unit of this shadow");
        start..start + units as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn readers_share_and_writers_do_not() {
        let mut shadow = Shadow::new(100, 10);
        assert!(shadow.begin_read(100, 2) && shadow.begin_read(101, 2));
        assert!(!shadow.begin_write(102, 1));
        assert!(shadow.begin_write(103, 2));
        assert!(!shadow.begin_read(102, 2));
        assert!(!shadow.begin_write(104, 1));
        shadow.end_read(101, 2);
        assert!(shadow.begin_write(102, 1));
    }

    #[test]
    fn a_failed_write_leaves_the_content_unknown() {
        let mut shadow = Shadow::new(0, 4);
        assert_eq!(shadow.generation(2), UNKNOWN);
        assert!(shadow.begin_write(2, 1));
        shadow.end_write(2, 1, true);
        assert_eq!(shadow.generation(2), 1);
        assert!(shadow.begin_write(2, 1));
        shadow.end_write(2, 1, false);
        assert_eq!(shadow.generation(2), UNKNOWN);
    }

    proptest! {
        #[test]
        fn what_is_in_flight_is_never_ambiguous(
            steps in prop::collection::vec((any::<bool>(), 0u64..12, 1u64..5, any::<prop::sample::Index>()), 1..200),
        ) {
            let mut shadow = Shadow::new(0, 16);
            let mut flights: Vec<(bool, u64, u64)> = Vec::new();
            for (write, unit, units, which) in steps {
                let begun = if write { shadow.begin_write(unit, units) } else { shadow.begin_read(unit, units) };
                let clash = flights.iter().any(|&(other, at, len)| {
                    (write || other) && unit < at + len && at < unit + units
                });
                prop_assert_eq!(begun, !clash);
                if begun {
                    flights.push((write, unit, units));
                } else {
                    let (write, unit, units) = flights.swap_remove(which.index(flights.len()));
                    if write { shadow.end_write(unit, units, true) } else { shadow.end_read(unit, units) }
                }
            }
        }
    }
}
