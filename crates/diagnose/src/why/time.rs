//! Times as people read them.

use k8s_openapi::jiff::Timestamp;

/// `2026-11-19T22:15:30Z (12 min)`
pub(super) fn since(at: Timestamp, now: Timestamp) -> String {
    format!("{at:.0} ({})", span(at, now))
}

/// `12 min ago`
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", span(at, now))
}

/// The time between both in its largest unit; zero if the clocks disagree.
fn span(from: Timestamp, to: Timestamp) -> String {
    const UNITS: [(i64, &str); 3] = [(2 * 86_400, "d"), (2 * 3_600, "h"), (2 * 60, "min")];
    let seconds = to.duration_since(from).as_secs().max(0);
    let unit = UNITS.into_iter().find(|(least, _)| seconds >= *least);
    match unit {
        Some((least, unit)) => format!("{} {unit}", seconds / (least / 2)),
        None => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::clocks_disagree(-5, "0 s")]
    #[case::seconds(119, "119 s")]
    #[case::minutes(120, "2 min")]
    #[case::hours(3 * 3600 + 59, "3 h")]
    #[case::days(50 * 3600, "2 d")]
    fn spans(#[case] seconds: i64, #[case] expected: &str) {
        let from = Timestamp::UNIX_EPOCH;
        let to = Timestamp::from_second(seconds).unwrap();
        assert_eq!(span(from, to), expected);
    }
}
