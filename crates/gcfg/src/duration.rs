//! Durations in Go's notation: `1m30s`, `-1.5h`, `0`.

use std::time::Duration;

/// A duration as Go has it: a signed number of nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub i64);

impl Nanos {
    /// The same as a standard duration; nothing if it is negative.
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

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

/// The lowest value's distance from zero.
const MOST: u64 = 1 << 63;

/// Reads what Go's `time.ParseDuration` reads.
pub(crate) fn parse(text: &str) -> Option<Nanos> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(Nanos(0));
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (amount, after) = term(rest)?;
        total = total.checked_add(amount).filter(|total| *total <= MOST)?;
        rest = after;
    }
    if negative {
        Some(Nanos(0_i64.wrapping_sub_unsigned(total)))
    } else {
        i64::try_from(total).ok().map(Nanos)
    }
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
