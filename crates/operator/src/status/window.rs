//! How long something may fail before anybody is told: an API server that restarts is not worth an alert.

use std::time::{Duration, Instant};

/// The time since which something has failed without a success.
#[derive(Debug, Clone)]
pub struct Window {
    threshold: Duration,
    since: Option<Instant>,
}

/// Whether a failure is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Not yet: it may pass within this time.
    Wait(Duration),
    /// It has lasted.
    Tell,
}

impl Window {
    /// A window that tolerates failures for so long.
    #[must_use]
    pub fn new(threshold: Duration) -> Self {
        Self { threshold, since: None }
    }

    /// It has worked.
    pub fn worked(&mut self) {
        self.since = None;
    }

    /// It has failed at this moment.
    pub fn failed(&mut self, now: Instant) -> Verdict {
        let since = *self.since.get_or_insert(now);
        let lasted = now.saturating_duration_since(since);
        match self.threshold.checked_sub(lasted) {
            Some(left) if !left.is_zero() => Verdict::Wait(left),
            _ => Verdict::Tell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const THRESHOLD: Duration = Duration::from_secs(150);

    // operator.md §10.8
    #[rstest]
    #[case::first("fail 0", "wait 150")]
    #[case::below_the_threshold("fail 0, fail 100", "wait 50")]
    #[case::at_the_threshold("fail 0, fail 150", "tell")]
    #[case::above_the_threshold("fail 0, fail 40, fail 151", "tell")]
    #[case::a_success_starts_again("fail 0, work 100, fail 151", "wait 150")]
    #[case::it_is_told_again("fail 0, fail 150, fail 160", "tell")]
    fn windows(#[case] story: &str, #[case] verdict: &str) {
        let start = Instant::now();
        let mut window = Window::new(THRESHOLD);
        let mut last = String::new();
        for step in story.split(", ") {
            let (what, at) = step.split_once(' ').expect("two words");
            let now = start + Duration::from_secs(at.parse().expect("a number"));
            if what == "work" {
                window.worked();
                continue;
            }
            last = match window.failed(now) {
                Verdict::Wait(left) => format!("wait {}", left.as_secs()),
                Verdict::Tell => "tell".to_owned(),
            };
        }
        assert_eq!(last, verdict);
    }
}
