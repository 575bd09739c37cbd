//! How long to wait before a retry.

use std::time::Duration;

/// The pause after the first failure; each further one doubles it.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);

/// The pause after so many failures in a row.
pub(crate) fn pause(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
    PAUSE.saturating_mul(doubled).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(1, 200)]
    #[case(2, 400)]
    #[case(8, 25_600)]
    #[case(9, 30_000)]
    #[case(1000, 30_000)]
    fn pauses_grow(#[case] failures: u32, #[case] milliseconds: u64) {
        assert_eq!(pause(failures), Duration::from_millis(milliseconds));
    }
}
