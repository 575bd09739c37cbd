//! YAML as the Go operator writes it, byte for byte: `sigs.k8s.io/yaml`, which is `yaml.v2` without line folding.

use serde_json::{Map, Value};
use std::{cmp::Ordering, fmt::Write};

/// Texts that YAML 1.1 reads as a boolean, as null or as a number.
const WORDS: [&str; 39] = [
    "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE", "n", "N",
    "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF",
    "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
];

/// One document. Keys are sorted, lists are not indented, and texts are quoted only where YAML 1.1 requires it.
pub(crate) fn to_string(map: Map<String, Value>) -> String {
    lines(&Value::Object(map)).join("\n") + "\n"
}

fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|(a, _), (b, _)| natural(a, b));
            entries.into_iter().flat_map(|(key, value)| entry(key, value)).collect()
        }
        Value::Array(items) if !items.is_empty() => items.iter().flat_map(item).collect(),
        Value::Object(_) => vec!["{}".to_owned()],
        Value::Array(_) => vec!["[]".to_owned()],
        Value::String(text) => vec![scalar(text)],
        Value::Null | Value::Bool(_) | Value::Number(_) => vec![value.to_string()],
    }
}

fn entry(key: &str, value: &Value) -> Vec<String> {
    let (key, lines) = (scalar(key), lines(value));
    let indent = match value {
        Value::Object(map) if !map.is_empty() => "  ",
        Value::Array(items) if !items.is_empty() => "",
        _ => return vec![format!("{key}: {}", lines.concat())],
    };
    let below = lines.into_iter().map(|line| format!("{indent}{line}"));
    std::iter::once(format!("{key}:")).chain(below).collect()
}

fn item(value: &Value) -> Vec<String> {
    let leads = std::iter::once("- ").chain(std::iter::repeat("  "));
    let lines = lines(value).into_iter().zip(leads);
    lines.map(|(line, lead)| format!("{lead}{line}")).collect()
}

/// A text: plain, else in single quotes, else in double quotes. Go writes a text of several lines as a block instead; no key
/// of a cloud configuration has one.
fn scalar(text: &str) -> String {
    if is_read_as_something_else(text) || !text.chars().all(is_printable) {
        double_quoted(text)
    } else if may_be_plain(text) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

fn is_read_as_something_else(text: &str) -> bool {
    WORDS.contains(&text) || is_number(&text.replace('_', "")) || is_sexagesimal(text) || is_date(text)
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let radix = |prefix: &str, base| {
        let rest = digits.strip_prefix(prefix);
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(base)))
    };
    let is_prefixed = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)];
    let is_decimal = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') && digits.parse::<f64>().is_ok();
    is_decimal || is_prefixed.into_iter().any(|(prefix, base)| radix(prefix, base))
}

/// `1:20`, which YAML 1.1 reads in base 60.
fn is_sexagesimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let is_part = |part: &str| part.len() <= 2 && part.parse::<u8>().is_ok_and(|part| part < 60);
    first.starts_with(|c: char| c.is_ascii_digit())
        && first.chars().all(|c| c.is_ascii_digit() || c == '_')
        && whole.contains(':')
        && parts.all(is_part)
}

/// `2026-11-18`, alone or before a time of day.
fn is_date(text: &str) -> bool {
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "0:0:0"));
    let parts: Vec<_> = date
        .split('-')
        .map(|part| (part.len(), part.parse::<u16>().ok()))
        .collect();
    let is_time = time.split(':').count() > 2 && time.starts_with(|c: char| c.is_ascii_digit());
    is_time && matches!(parts[..], [(4, Some(_)), (1 | 2, Some(1..=12)), (1 | 2, Some(1..=31))])
}

fn may_be_plain(text: &str) -> bool {
    let is_indicator = text.starts_with([
        '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`',
    ]);
    let is_entry = text.starts_with(['-', '?', ':']) && (text.len() == 1 || text[1..].starts_with(' '));
    let is_marker = text.starts_with("---") || text.starts_with("...");
    let is_key = text.contains(": ") || text.ends_with(':');
    let is_blank = text.starts_with(' ') || text.ends_with(' ');
    !(is_indicator || is_entry || is_marker || is_key || is_blank || text.contains(" #"))
}

fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        let escape = match c {
            '"' | '\\' => c,
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '\u{85}' => 'N',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            c if is_printable(c) => {
                out.push(c);
                continue;
            }
            c => {
                // Writing to a String cannot fail.
                let _ = match u32::from(c) {
                    code @ ..=0xff => write!(out, "\\x{code:02X}"),
                    code @ ..=0xffff => write!(out, "\\u{code:04X}"),
                    code => write!(out, "\\U{code:08X}"),
                };
                continue;
            }
        };
        out.extend(['\\', escape]);
    }
    out.push('"');
    out
}

/// The order of `yaml.v2`: numbers within keys by their value, and before letters.
fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else {
        return a.len().cmp(&b.len());
    };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero in the middle of a number counts as a digit of it.
    let is_inside = (a[at] == '0' || b[at] == '0')
        && a[..at]
            .iter()
            .rev()
            .take_while(|c| c.is_numeric())
            .any(|digit| *digit != '0');
    let number = |text: &[char]| {
        let digits: String = text[at..].iter().take_while(|c| c.is_ascii_digit()).collect();
        let value = format!("{}{digits}", u8::from(is_inside)).parse::<u128>();
        (value.unwrap_or(u128::MAX), digits.len())
    };
    number(&a).cmp(&number(&b)).then(a[at].cmp(&b[at]))
}

#[cfg(test)]
mod tests;
