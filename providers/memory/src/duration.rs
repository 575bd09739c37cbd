//! Durations as people write them: `250ms`, `1m30s`, `1.5s`.

use std::time::Duration;

/// Longest first, so that `ms` is not read as `m`.
const UNITS: [(&str, f64); 6] = [
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
];

/// Reads a duration as Go writes it, without a sign; `None` if it is not one.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() || text.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let (unit, seconds) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = &after[unit.len()..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", Some(0))]
    #[case("0s", Some(0))]
    #[case("250ms", Some(250))]
    #[case("1.5s", Some(1500))]
    #[case("1m30s", Some(90_000))]
    #[case("1h0m0.5s", Some(3_600_500))]
    #[case("", None)]
    #[case("5", None)]
    #[case("s", None)]
    #[case("-1s", None)]
    #[case("1.2.3s", None)]
    #[case("1 s", None)]
    #[case("1d", None)]
    #[case("99999999999999999999h", None)]
    fn reads(#[case] text: &str, #[case] millis: Option<u64>) {
        assert_eq!(parse(text), millis.map(Duration::from_millis));
    }
}
