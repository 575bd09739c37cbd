//! Whether a change makes progress.

use std::time::{Duration, Instant};

/// How long a change may make no progress before that is reported.
const HANGS: Duration = Duration::from_secs(150);

/// The state of a change, and since when. Progress is not reported; the message about a change that is
/// stuck is renewed at the same intervals, because Pods that crash appear and disappear all the time.
#[derive(Debug, Default)]
pub(super) struct Progress {
    stands: Option<(Vec<String>, Instant)>,
    message: Option<Vec<String>>,
}

impl Progress {
    /// Records the current state. Returns the message if it is stuck, with the causes at that time; and when the next pass is due.
    pub(super) fn update(
        &mut self,
        here: &[String],
        now: Instant,
        causes: impl FnOnce() -> Vec<String>,
    ) -> (Option<Vec<String>>, Duration) {
        match &mut self.stands {
            Some((before, since)) if before == here => {
                if let Some(left) = left(*since, now) {
                    return (self.message.clone(), left);
                }
                *since = now;
                self.message = Some(here.iter().cloned().chain(causes()).collect());
            }
            _ => {
                self.stands = Some((here.to_vec(), now));
                self.message = None;
            }
        }
        (self.message.clone(), HANGS)
    }

    /// Whether it has made no progress for so long that the causes are needed.
    pub(super) fn hangs(&self, now: Instant) -> bool {
        let since = self.stands.as_ref().map(|(_, since)| *since);
        since.is_some_and(|since| left(since, now).is_none())
    }
}

fn left(since: Instant, now: Instant) -> Option<Duration> {
    let left = HANGS.checked_sub(now.saturating_duration_since(since));
    left.filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// The states by time, each with its cause then, and the last message.
    #[rstest]
    #[case::it_begins(&[(0, "1 of 9", "x")], "", 150)]
    #[case::it_moves(&[(0, "1 of 9", "x"), (149, "2 of 9", "x"), (298, "3 of 9", "x")], "", 150)]
    #[case::not_yet(&[(0, "1 of 9", "x"), (149, "1 of 9", "x")], "", 1)]
    #[case::it_hangs(&[(0, "1 of 9", "x"), (150, "1 of 9", "x")], "1 of 9; x", 150)]
    #[case::the_cause_is_not_followed(&[(0, "1 of 9", "x"), (150, "1 of 9", "x"), (160, "1 of 9", "y")], "1 of 9; x", 140)]
    #[case::but_looked_at_again(&[(0, "1 of 9", "x"), (150, "1 of 9", "x"), (300, "1 of 9", "y")], "1 of 9; y", 150)]
    #[case::it_moves_again(&[(0, "1 of 9", "x"), (150, "1 of 9", "x"), (160, "2 of 9", "x")], "", 150)]
    fn reports_a_change_that_is_stuck(#[case] story: &[(u64, &str, &str)], #[case] expected: &str, #[case] again: u64) {
        let (start, mut progress) = (Instant::now(), Progress::default());
        let mut last = (None, Duration::ZERO);
        for (second, here, cause) in story {
            let now = start + Duration::from_secs(*second);
            last = progress.update(&[(*here).to_owned()], now, || vec![(*cause).to_owned()]);
        }
        let (message, left) = last;
        assert_eq!(message.unwrap_or_default().join("; "), expected);
        assert_eq!(left.as_secs(), again);
    }
}
