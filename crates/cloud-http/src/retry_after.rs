//! `Retry-After`, in both of its forms.

use http::{HeaderMap, HeaderValue, header};
use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use std::time::Duration;

/// The longest wait that one header can ask for.
const LONGEST: Duration = Duration::from_hours(1);

/// The cloud's retry-after, if it is given and valid.
///
/// A date is compared with the cloud's own clock where the answer shows it, because clocks differ.
pub(crate) fn parse(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = seconds(text).or_else(|| {
        let base = headers.get(header::DATE).and_then(date).unwrap_or(now);
        let wait = date(headers.get(header::RETRY_AFTER)?)?.duration_since(base);
        // A moment that has passed means now.
        Some(Duration::try_from(wait).unwrap_or_default())
    })?;
    Some(wait.min(LONGEST))
}

/// Some clouds send fractions, although the RFC allows only whole seconds.
fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds: &f64| !seconds.is_nan())?;
    Duration::try_from_secs_f64(seconds.min(LONGEST.as_secs_f64())).ok()
}

fn date(value: &HeaderValue) -> Option<Timestamp> {
    DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_timestamp(value.to_str().ok()?)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const NOW: &str = "2026-11-15T10:00:00Z";

    #[rstest]
    #[case::absent(None, None, None)]
    #[case::seconds(Some("7"), None, Some(7.0))]
    #[case::spaces(Some(" 7 "), None, Some(7.0))]
    #[case::zero(Some("0"), None, Some(0.0))]
    #[case::fraction(Some("0.5"), None, Some(0.5))]
    #[case::date(Some("Sun, 15 Nov 2026 10:00:30 GMT"), None, Some(30.0))]
    #[case::date_in_the_past(Some("Sun, 15 Nov 2026 09:00:00 GMT"), None, Some(0.0))]
    #[case::their_clock_is_ahead(
        Some("Sun, 15 Nov 2026 10:30:30 GMT"),
        Some("Sun, 15 Nov 2026 10:30:00 GMT"),
        Some(30.0)
    )]
    #[case::their_clock_is_nonsense(Some("Sun, 15 Nov 2026 10:00:30 GMT"), Some("yesterday"), Some(30.0))]
    #[case::wrong_weekday(Some("Mon, 15 Nov 2026 10:00:30 GMT"), None, Some(30.0))]
    #[case::absurd(Some("99999999999999"), None, Some(3600.0))]
    #[case::infinite(Some("inf"), None, Some(3600.0))]
    #[case::absurd_date(Some("Sun, 15 Nov 2099 10:00:30 GMT"), None, Some(3600.0))]
    #[case::negative(Some("-5"), None, None)]
    #[case::not_a_number(Some("NaN"), None, None)]
    #[case::prose(Some("later"), None, None)]
    #[case::empty(Some(""), None, None)]
    fn parses(
        #[case] retry_after: Option<&'static str>,
        #[case] date: Option<&'static str>,
        #[case] wait: Option<f64>,
    ) {
        let mut headers = HeaderMap::new();
        headers.extend(retry_after.map(|value| (header::RETRY_AFTER, HeaderValue::from_static(value))));
        headers.extend(date.map(|value| (header::DATE, HeaderValue::from_static(value))));
        assert_eq!(parse(&headers, NOW.parse().unwrap()), wait.map(Duration::from_secs_f64));
    }
}
