//! Whether a request that was not answered well is sent again, and when.

use super::verb::Verb;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use std::time::Duration;

/// As in client-go.
const MAX_RETRIES: u32 = 10;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The server answered this, and maybe when to come back.
    Status(StatusCode, Option<Duration>),
    /// The connection broke before the answer.
    Lost,
    /// It failed in another way.
    Failed,
}

impl Outcome {
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let seconds = headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok());
        Self::Status(status, seconds.map(Duration::from_secs))
    }
}

/// How long to wait before the next attempt, after `failures` failed ones; `None` if this one counts.
///
/// The response shows whether the server has processed the request: 429, or any 5xx with `Retry-After`, means that it has not. Only
/// reads are sent again when that is not known.
pub(super) fn next(verb: Verb, failures: u32, outcome: Outcome) -> Option<Duration> {
    if verb == Verb::Watch || failures > MAX_RETRIES {
        return None;
    }
    let backoff = FIRST_WAIT
        .saturating_mul(1 << (failures.clamp(1, 16) - 1))
        .min(LONGEST_WAIT);
    match outcome {
        Outcome::Status(status, Some(wait)) if throttles(status) || status.is_server_error() => {
            Some(wait.max(FIRST_WAIT))
        }
        Outcome::Status(status, None) if throttles(status) => Some(backoff),
        Outcome::Status(StatusCode::SERVICE_UNAVAILABLE, None) | Outcome::Lost if !verb.writes() => Some(backoff),
        Outcome::Status(..) | Outcome::Lost | Outcome::Failed => None,
    }
}

fn throttles(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn status(code: u16, retry_after: Option<u64>) -> Outcome {
        Outcome::Status(
            StatusCode::from_u16(code).unwrap(),
            retry_after.map(Duration::from_secs),
        )
    }

    #[rstest]
    #[case::well_answered(Verb::Get, 1, status(200, None), None)]
    #[case::not_found(Verb::Get, 1, status(404, None), None)]
    #[case::not_found_but_later(Verb::Get, 1, status(404, Some(1)), None)]
    #[case::throttled_write_with_a_time(Verb::Patch, 1, status(429, Some(3)), Some(3000))]
    #[case::throttled_write(Verb::Patch, 1, status(429, None), Some(100))]
    #[case::throttled_with_zero_seconds(Verb::Get, 1, status(429, Some(0)), Some(100))]
    #[case::unavailable_read(Verb::Get, 1, status(503, None), Some(100))]
    #[case::unavailable_write(Verb::Post, 1, status(503, None), None)]
    #[case::unavailable_write_with_a_time(Verb::Post, 1, status(503, Some(1)), Some(1000))]
    #[case::server_error_with_a_time(Verb::Delete, 1, status(500, Some(1)), Some(1000))]
    #[case::server_error(Verb::Get, 1, status(500, None), None)]
    #[case::lost_read(Verb::Get, 1, Outcome::Lost, Some(100))]
    #[case::lost_write(Verb::Put, 1, Outcome::Lost, None)]
    #[case::refused(Verb::Get, 1, Outcome::Failed, None)]
    #[case::backs_off(Verb::Get, 4, status(429, None), Some(800))]
    #[case::backs_off_to_a_limit(Verb::Get, 10, status(429, None), Some(5000))]
    #[case::gives_up(Verb::Get, 11, status(429, Some(1)), None)]
    #[case::never_a_watch(Verb::Watch, 1, status(429, Some(1)), None)]
    fn waits(#[case] verb: Verb, #[case] failures: u32, #[case] outcome: Outcome, #[case] millis: Option<u64>) {
        assert_eq!(next(verb, failures, outcome), millis.map(Duration::from_millis));
    }

    #[rstest]
    #[case("7", Some(7))]
    #[case(" 1 ", Some(1))]
    #[case("Wed, 21 Oct 2026 07:28:00 GMT", None)]
    #[case("-1", None)]
    fn reads_retry_after(#[case] header: &'static str, #[case] seconds: Option<u64>) {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, http::HeaderValue::from_static(header))]);
        assert_eq!(
            Outcome::of(StatusCode::TOO_MANY_REQUESTS, &headers),
            status(429, seconds)
        );
    }
}
