//! How long something may fail before it is reported: an API server that restarts is not worth an alert.

use std::time::{Duration, Instant};

/// The time since which something has failed without a success that lasted.
#[derive(Debug, Clone)]
pub struct Window {
    threshold: Duration,
    since: Option<Instant>,
    /// Since when it works again, and how long it has to work before the failure is over.
    recovering: Option<(Instant, Duration)>,
    reported: Reported,
    /// After this time without a failure, the next one starts a new window; and when the last one was.
    forgets: Option<Duration>,
    last: Option<Instant>,
}

/// Whether the failure has been reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reported {
    Yes,
    No,
}

/// Whether a failure is to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Not yet: it may be over within this time.
    Wait(Duration),
    /// It has lasted.
    Report,
}

impl Window {
    /// A window that tolerates failures for so long.
    #[must_use]
    pub fn new(threshold: Duration) -> Self {
        Self {
            threshold,
            since: None,
            recovering: None,
            reported: Reported::No,
            forgets: None,
            last: None,
        }
    }

    /// The same for what is not checked continuously: after this time without a failure, the next one starts a new window.
    #[must_use]
    pub fn forgetting(self, after: Duration) -> Self {
        Self {
            forgets: Some(after),
            ..self
        }
    }

    /// Records a success.
    pub fn worked(&mut self) {
        *self = Self {
            forgets: self.forgets,
            ..Self::new(self.threshold)
        };
    }

    /// Records that it works at this time. The failure is over once that has lasted for `calm`: alternating success and failure is a failure. Returns
    /// the rest of that time.
    pub fn works(&mut self, now: Instant, calm: Duration) -> Option<Duration> {
        self.since?;
        let (since, _) = *self.recovering.get_or_insert((now, calm));
        self.recovering = Some((since, calm));
        let left = left(calm, since, now);
        if left.is_none() {
            self.worked();
        }
        left
    }

    /// Records a failure at this time.
    pub fn failed(&mut self, now: Instant) -> Verdict {
        if let Some((since, calm)) = self.recovering.take()
            && left(calm, since, now).is_none()
        {
            self.worked();
        }
        let is_past = |after| self.last.is_some_and(|last| left(after, last, now).is_none());
        if self.forgets.is_some_and(is_past) {
            self.worked();
        }
        self.last = Some(now);
        let since = *self.since.get_or_insert(now);
        if let Some(left) = left(self.threshold, since, now) {
            return Verdict::Wait(left);
        }
        self.reported = Reported::Yes;
        Verdict::Report
    }

    /// Whether it has failed without a success that lasted.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// Whether the failure was reported.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        self.reported == Reported::Yes
    }
}

/// The rest of a time that began then.
fn left(time: Duration, since: Instant, now: Instant) -> Option<Duration> {
    let lasted = now.saturating_duration_since(since);
    time.checked_sub(lasted).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const THRESHOLD: Duration = Duration::from_secs(150);
    const CALM: Duration = Duration::from_secs(30);

    #[rstest]
    #[case::first("fail 0", "wait 150")]
    #[case::below_the_threshold("fail 0, fail 100", "wait 50")]
    #[case::at_the_threshold("fail 0, fail 150", "report")]
    #[case::above_the_threshold("fail 0, fail 40, fail 151", "report")]
    #[case::a_success_starts_again("fail 0, work 100, fail 151", "wait 150")]
    #[case::it_is_reported_again("fail 0, fail 150, fail 160", "report")]
    #[case::up_and_down_is_down("fail 0, up 100, up 120, fail 129, fail 150", "report")]
    #[case::up_and_down_after_the_report("fail 0, fail 150, up 160, fail 170", "report")]
    #[case::up_for_long_enough("fail 0, up 100, up 130, fail 151", "wait 150")]
    #[case::up_between_two_passes("fail 0, up 100, fail 131", "wait 150")]
    fn windows(#[case] story: &str, #[case] verdict: &str) {
        let start = Instant::now();
        let mut window = Window::new(THRESHOLD);
        let mut last = String::new();
        for step in story.split(", ") {
            let (what, at) = step.split_once(' ').expect("two words");
            let now = start + Duration::from_secs(at.parse().expect("a number"));
            match what {
                "work" => window.worked(),
                "up" => drop(window.works(now, CALM)),
                _ => {}
            }
            if what != "fail" {
                continue;
            }
            last = match window.failed(now) {
                Verdict::Wait(left) => format!("wait {}", left.as_secs()),
                Verdict::Report => "report".to_owned(),
            };
        }
        assert_eq!(last, verdict);
    }

    // After a gap a new window starts; occasional failures within it count.
    #[rstest]
    #[case::a_gap_starts_again(&[0, 150], Verdict::Wait(THRESHOLD))]
    #[case::a_gap_starts_again_after_the_report(&[0, 100, 160, 400], Verdict::Wait(THRESHOLD))]
    #[case::no_gap(&[0, 149, 151], Verdict::Report)]
    #[case::reported_after_the_new_start(&[0, 200, 300, 350], Verdict::Report)]
    fn staleness(#[case] failures: &[u64], #[case] verdict: Verdict) {
        let start = Instant::now();
        let mut window = Window::new(THRESHOLD).forgetting(THRESHOLD);
        let verdicts = failures
            .iter()
            .map(|second| window.failed(start + Duration::from_secs(*second)));
        assert_eq!(verdicts.last(), Some(verdict));
    }

    // W4: how long it still has to work, and whether the failure was reported.
    #[test]
    fn a_recovery_takes_its_time() {
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let mut window = Window::new(THRESHOLD);
        assert_eq!(window.works(at(0), CALM), None, "nothing has failed");
        window.failed(at(0));
        window.failed(at(150));
        assert_eq!(window.works(at(160), CALM), Some(CALM));
        assert_eq!(window.works(at(170), CALM), Some(Duration::from_secs(20)));
        // Pods that have crashed repeatedly have to run longer.
        assert_eq!(window.works(at(180), CALM * 2), Some(Duration::from_secs(40)));
        assert!(window.is_open() && window.is_reported());
        assert_eq!(window.works(at(220), CALM * 2), None);
        assert!(!window.is_open() && !window.is_reported());
    }
}
