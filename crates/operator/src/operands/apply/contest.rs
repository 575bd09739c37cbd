//! Another program reverts an object: it is repaired at once at first, and with back-off if that continues.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// So many repairs within this time mean that another program reverts the object.
const REPAIRS: usize = 10;
const WHILE: Duration = Duration::from_mins(1);
/// How long the object is left alone then; each further repair doubles the time.
const PAUSE: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(5);

/// The repairs of one object.
#[derive(Debug, Default)]
pub(in crate::operands) struct Contest {
    /// The repairs of the last [`WHILE`].
    repairs: VecDeque<Instant>,
    /// How often it was left alone.
    pauses: u32,
}

impl Contest {
    /// Records a repair at this time.
    pub(in crate::operands) fn repaired(&mut self, now: Instant) {
        let since = self.repairs.back().map(|last| now.saturating_duration_since(*last));
        if since.is_some_and(|since| since >= WHILE.max(self.pause() * 2)) {
            *self = Self::default();
        }
        self.repairs
            .retain(|repair| now.saturating_duration_since(*repair) < WHILE);
        self.repairs.push_back(now);
        if self.repairs.len() >= REPAIRS || self.pauses > 0 {
            self.pauses += 1;
        }
    }

    /// Whether it is left alone at this time.
    pub(in crate::operands) fn is_paused(&self, now: Instant) -> bool {
        let last = self.repairs.back();
        last.is_some_and(|last| now.saturating_duration_since(*last) < self.pause())
    }

    fn pause(&self) -> Duration {
        match self.pauses {
            0 => Duration::ZERO,
            pauses => LONGEST.min(PAUSE * 2_u32.saturating_pow(pauses.min(16) - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// So many repairs, one every so many seconds unless it is left alone.
    #[rstest]
    #[case::now_and_then(100, 10, 100)]
    #[case::a_few(9, 0, 9)]
    // Ten in a row, and then at 19 s, 39 s, 79 s, 159 s, 319 s, 619 s and 919 s.
    #[case::insists(1_000, 1, 17)]
    #[case::at_once(1_000, 0, 10)]
    fn repairs(#[case] times: u64, #[case] every: u64, #[case] expected: usize) {
        let (start, mut contest, mut repairs) = (Instant::now(), Contest::default(), 0);
        for time in 0..times {
            let now = start + Duration::from_secs(time * every);
            if !contest.is_paused(now) {
                contest.repaired(now);
                repairs += 1;
            }
        }
        assert_eq!(repairs, expected);
    }

    #[test]
    fn an_ended_contest_is_forgotten() {
        let (start, mut contest) = (Instant::now(), Contest::default());
        for _ in 0..REPAIRS {
            contest.repaired(start);
        }
        assert!(contest.is_paused(start + PAUSE / 2));
        let later = start + PAUSE + WHILE;
        contest.repaired(later);
        assert!(!contest.is_paused(later));
    }
}
