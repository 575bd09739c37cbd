//! Go's durations: `1h10m0.5s` is read, `12h0m0s` is printed.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr, time::Duration};

/// A length of time with Go's range (about 292 years either way), syntax and print. In JSON it is the printed string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration {
    nanos: i64,
}

/// A text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a duration such as 300ms, 1.5h or 2h45m")]
pub struct NotADuration;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The distance of the lowest value from zero.
const MOST: u64 = 1 << 63;

impl GoDuration {
    /// Zero.
    pub const ZERO: Self = Self { nanos: 0 };

    /// That many milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i32) -> Self {
        Self {
            nanos: millis as i64 * 1_000_000,
        }
    }

    /// That many seconds.
    #[must_use]
    pub const fn from_secs(seconds: i32) -> Self {
        Self {
            nanos: seconds as i64 * 1_000_000_000,
        }
    }

    /// That many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self { nanos }
    }

    /// In nanoseconds.
    pub fn nanos(self) -> i64 {
        self.nanos
    }

    /// As a standard duration; zero if it is negative.
    pub fn std(self) -> Duration {
        self.to_std().unwrap_or_default()
    }

    /// As a standard duration; `None` if it is negative.
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.nanos).ok().map(Duration::from_nanos)
    }

    /// Whether it is greater than zero.
    pub fn is_positive(self) -> bool {
        self.nanos > 0
    }

    /// Whether it is less than zero.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// In seconds, for comparing with a factor.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a comparison of timings does not need all nanoseconds"
    )]
    pub fn as_secs_f64(self) -> f64 {
        self.nanos as f64 / 1e9
    }
}

impl From<Duration> for GoDuration {
    fn from(duration: Duration) -> Self {
        Self {
            nanos: duration.as_nanos().try_into().unwrap_or(i64::MAX),
        }
    }
}

impl FromStr for GoDuration {
    type Err = NotADuration;

    /// Reads what Go's `time.ParseDuration` reads.
    fn from_str(text: &str) -> Result<Self, NotADuration> {
        let (sign, rest) = match text.as_bytes() {
            [b'-', ..] => (-1, &text[1..]),
            [b'+', ..] => (1, &text[1..]),
            _ => (1, text),
        };
        let nanos = if rest == "0" { 0 } else { sum(rest).ok_or(NotADuration)? };
        let nanos = (i128::from(nanos) * sign).try_into();
        nanos.map(|nanos| Self { nanos }).map_err(|_| NotADuration)
    }
}

/// The sum of all `<number><unit>` in the text, in nanoseconds.
fn sum(text: &str) -> Option<u64> {
    let (mut total, mut rest) = term(text)?;
    while !rest.is_empty() {
        let (amount, after) = term(rest)?;
        total = total.checked_add(amount).filter(|total| *total <= MOST)?;
        rest = after;
    }
    Some(total)
}

/// A number and its unit, in nanoseconds, and what follows.
fn term(text: &str) -> Option<(u64, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let unit = UNITS.iter().find(|(unit, _)| *unit == name)?.1;
    let amount = number(whole)?.checked_mul(unit).filter(|amount| *amount <= MOST)?;
    let amount = amount
        .checked_add(part(fraction, unit))
        .filter(|amount| *amount <= MOST)?;
    Some((amount, rest))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn number(digits: &str) -> Option<u64> {
    match digits {
        "" => Some(0),
        digits => digits.parse().ok().filter(|number| *number <= MOST),
    }
}

/// A fraction of a unit; digits beyond what 63 bits hold do not count.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go computes it in floating point, too, and the result is below one unit"
)]
fn part(digits: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes() {
        let next = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit - b'0')));
        match next.filter(|next| value <= (MOST - 1) / 10 && *next <= MOST) {
            Some(next) => (value, scale) = (next, scale * 10.0),
            None => break,
        }
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

impl fmt::Display for GoDuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.nanos.unsigned_abs();
        if self.nanos < 0 {
            out.write_str("-")?;
        }
        match nanos {
            0 => out.write_str("0s"),
            1..1_000 => write!(out, "{nanos}ns"),
            1_000..1_000_000 => write!(out, "{}\u{b5}s", decimal(nanos, 1_000)),
            1_000_000..1_000_000_000 => write!(out, "{}ms", decimal(nanos, 1_000_000)),
            _ => clock(out, nanos),
        }
    }
}

fn clock(out: &mut fmt::Formatter<'_>, nanos: u64) -> fmt::Result {
    let minutes = nanos / 60_000_000_000;
    let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000);
    match (minutes / 60, minutes % 60) {
        (0, 0) => write!(out, "{seconds}s"),
        (0, minutes) => write!(out, "{minutes}m{seconds}s"),
        (hours, minutes) => write!(out, "{hours}h{minutes}m{seconds}s"),
    }
}

/// `count / unit` with as many decimals as are needed.
fn decimal(count: u64, unit: u64) -> String {
    let places = unit.ilog10() as usize;
    let text = format!("{}.{:0places$}", count / unit, count % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("0", "0s")]
    #[case("0s", "0s")]
    #[case("5s", "5s")]
    #[case("90s", "1m30s")]
    #[case("1h10m0.5s", "1h10m0.5s")]
    #[case("12h", "12h0m0s")]
    #[case("100m", "1h40m0s")]
    #[case("1.5h", "1h30m0s")]
    #[case("-1.5s", "-1.5s")]
    #[case("+5s", "5s")]
    #[case("300ms", "300ms")]
    #[case("1ms1us1ns", "1.001001ms")]
    #[case("1\u{b5}s", "1\u{b5}s")]
    #[case("1500\u{3bc}s", "1.5ms")]
    #[case("15ns", "15ns")]
    #[case(".5s", "500ms")]
    #[case("1.s", "1s")]
    #[case("1s1s", "2s")]
    #[case("0.3333333333333333333h", "20m0s")]
    #[case("9223372036854775807ns", "2562047h47m16.854775807s")]
    #[case("-9223372036854775808ns", "-2562047h47m16.854775808s")]
    fn durations(#[case] text: &str, #[case] printed: &str) {
        assert_eq!(text.parse::<GoDuration>().unwrap().to_string(), printed);
    }

    #[rstest]
    #[case("")]
    #[case("5")]
    #[case("s")]
    #[case(".s")]
    #[case("-")]
    #[case("5x")]
    #[case("5 s")]
    #[case("1h-5m")]
    #[case("1.2.3s")]
    #[case("1e3s")]
    #[case("9223372036854775808ns")]
    #[case("3000000h")]
    fn not_durations(#[case] text: &str) {
        assert_eq!(text.parse::<GoDuration>(), Err(NotADuration));
    }

    proptest! {
        #[test]
        fn a_printed_duration_reads_as_the_same(seconds in any::<i32>(), millis in 0..1000_i32) {
            let duration = format!("{seconds}s").parse::<GoDuration>().unwrap();
            prop_assert_eq!(duration.to_string().parse::<GoDuration>().unwrap(), duration);
            let fine = GoDuration::from_millis(millis);
            prop_assert_eq!(fine.to_string().parse::<GoDuration>().unwrap(), fine);
        }

        #[test]
        fn reads_any_text_without_a_panic(text in ".*") {
            let _ = text.parse::<GoDuration>();
        }
    }

    #[test]
    fn a_duration_is_a_string_in_json() {
        let json = serde_json::to_string(&GoDuration::from_secs(43200)).unwrap();
        assert_eq!(json, "\"12h0m0s\"");
        assert_eq!(
            serde_json::from_str::<GoDuration>(&json).unwrap(),
            GoDuration::from_secs(43200)
        );
        assert!(serde_json::from_str::<GoDuration>("\"soon\"").is_err());
    }
}
