//! A value as a boolean, a number, a duration, a word.

use crate::document::{Entry, Value};
use go_text::GoDuration;

/// The problem of a value, as a part of a sentence.
type Problem = String;

/// A text.
pub(crate) fn text(entry: &Entry) -> Result<&str, Problem> {
    match &entry.value {
        Value::Text(text) => Ok(text),
        Value::Blank => Err(format!(
            "{key} has no value: write {key}=… or remove the line",
            key = entry.key
        )),
    }
}

/// `true`, `yes`, `on`, `1` and their opposites; a blank one is true.
pub(crate) fn boolean(entry: &Entry) -> Result<bool, Problem> {
    let Value::Text(text) = &entry.value else {
        return Ok(true);
    };
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!(
            "{} is neither true nor false: write one of them, not {text:?}",
            entry.key
        )),
    }
}

/// A whole number, decimal or `0x`.
pub(crate) fn int(entry: &Entry) -> Result<i64, Problem> {
    let written = text(entry)?;
    let trimmed = written.trim();
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => (true, digits),
        // Go accepts a plus before a decimal number only.
        None => (
            false,
            trimmed
                .strip_prefix('+')
                .filter(|rest| !rest.starts_with("0x"))
                .unwrap_or(trimmed),
        ),
    };
    let read = magnitude(digits).and_then(|number| {
        if negative {
            0_i64.checked_sub_unsigned(number)
        } else {
            i64::try_from(number).ok()
        }
    });
    read.ok_or_else(|| {
        format!(
            "{} is not a whole number: write one, such as 2, not {written:?}",
            entry.key
        )
    })
}

/// A whole number from zero, decimal or `0x`, without a sign.
pub(crate) fn uint(entry: &Entry) -> Result<u64, Problem> {
    let written = text(entry)?;
    magnitude(written.trim()).ok_or_else(|| {
        format!(
            "{} is not a whole number without a sign: write one, such as 3, not {written:?}",
            entry.key
        )
    })
}

/// A duration in Go's notation.
pub(crate) fn duration(entry: &Entry) -> Result<GoDuration, Problem> {
    let written = text(entry)?;
    written.parse().map_err(|_| match written.trim().parse::<f64>() {
        Ok(_) => format!("{} needs a unit: write for example {}s", entry.key, written.trim()),
        Err(_) => format!(
            "{} is not a duration: write numbers with units, such as 5s or 1m30s, not {written:?}",
            entry.key
        ),
    })
}

/// One word. Blanks around it do not matter; a line end anywhere does.
pub(crate) fn word(entry: &Entry) -> Result<&str, Problem> {
    let written = text(entry)?;
    let mut words = written.split(char::is_whitespace).filter(|word| !word.is_empty());
    match (words.next(), words.next()) {
        (Some(word), None) if !written.contains('\n') => Ok(word),
        (None, _) => Err(format!("{} is empty: write a value or remove the line", entry.key)),
        _ => Err(format!("{} takes a single word, not {written:?}", entry.key)),
    }
}

fn magnitude(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x") {
        Some(hex) => hexadecimal(hex),
        None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        None => None,
    }
}

/// Go allows single underscores between digits and after the prefix.
fn hexadecimal(digits: &str) -> Option<u64> {
    let gap = digits.split('_').skip(1).any(str::is_empty);
    let plain = digits.replace('_', "");
    if gap || !plain.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        None
    } else {
        u64::from_str_radix(&plain, 16).ok()
    }
}
