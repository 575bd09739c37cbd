//! Go's durations: `1h10m0.5s` is read, `12h0m0s` is printed.

use super::{Value, value::last};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr, time::Duration};

/// A length of time with Go's range (about 292 years either way), syntax and print. In JSON it is the printed string.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration {
    nanos: i64,
}

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a duration such as 300ms, 1.5h or 2h45m")]
pub struct NotADuration;

const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl GoDuration {
    /// Nothing.
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

    /// As the standard library has it; what is less than nothing becomes nothing.
    pub fn std(self) -> Duration {
        Duration::from_nanos(self.nanos.try_into().unwrap_or(0))
    }

    /// Whether it is more than nothing.
    pub fn is_positive(self) -> bool {
        self.nanos > 0
    }

    /// Whether it is less than nothing.
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

    fn from_str(text: &str) -> Result<Self, NotADuration> {
        let (sign, digits) = match text.as_bytes() {
            [b'-', ..] => (-1, &text[1..]),
            [b'+', ..] => (1, &text[1..]),
            _ => (1, text),
        };
        if digits == "0" {
            return Ok(Self::ZERO);
        }
        let nanos = magnitude(digits).ok_or(NotADuration)? * sign;
        Ok(Self {
            nanos: nanos.try_into().map_err(|_| NotADuration)?,
        })
    }
}

/// The sum of all `<number><unit>` in the text, in nanoseconds.
fn magnitude(text: &str) -> Option<i128> {
    let mut rest = text;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number = &rest[..rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?];
        rest = &rest[number.len()..];
        let unit = &rest[..rest
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(rest.len())];
        rest = &rest[unit.len()..];
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(scaled(number, i128::from(*scale))?)?;
    }
    (!text.is_empty()).then_some(total)
}

/// A decimal number times the unit; what is finer than a nanosecond is cut off.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // More digits than this cannot make a nanosecond of an hour.
    let fraction = &fraction[..fraction.len().min(18)];
    let parts = digits(fraction)?.checked_mul(unit)? / 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    digits(whole)?.checked_mul(unit)?.checked_add(parts)
}

fn digits(text: &str) -> Option<i128> {
    if text.is_empty() { Some(0) } else { text.parse().ok() }
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

impl Value for GoDuration {
    fn kind(&self) -> &'static str {
        "duration"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        last(given, |text| {
            text.parse().map_err(|error: NotADuration| error.to_string())
        })
        .map(|value| *self = value)
    }

    fn print(&self) -> String {
        self.to_string()
    }
}
