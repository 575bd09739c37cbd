//! Finds the values of keys in text that may be JSON, XML, a form, headers, prose, or the torn beginning of any of them.
//!
//! It does not parse: what has to be hidden is most often in text that is broken.

use std::ops::Range;

/// Where the values of all keys that are wanted stand, in order and without overlap.
pub(super) fn values(text: &str, wanted: &dyn Fn(&str) -> bool) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(word) = word(bytes, at) {
        at = word.end;
        if !wanted(&text[word]) {
            continue;
        }
        if let Some(range) = value(bytes, at).filter(|range| !range.is_empty()) {
            at = range.end;
            ranges.push(range);
        }
    }
    ranges
}

fn word(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let start = from + bytes[from..].iter().position(|byte| in_word(*byte))?;
    Some(start..skip(bytes, start, in_word))
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'%')
}

fn value(bytes: &[u8], after_key: usize) -> Option<Range<usize>> {
    let separator = skip(bytes, after_key, |byte| {
        matches!(byte, b'"' | b'\'' | b'\\' | b' ' | b'\t')
    });
    let quoted_key = bytes[after_key..separator]
        .iter()
        .any(|byte| matches!(byte, b'"' | b'\''));
    let start = skip(bytes, separator + 1, |byte| byte.is_ascii_whitespace());
    match bytes.get(separator)? {
        b'>' => Some(start..skip(bytes, start, |byte| byte != b'<')),
        b':' if quoted_key => Some(json(bytes, start)),
        b':' => Some(delimited(bytes, start, |byte| {
            !matches!(byte, b'\n' | b'\r' | b'<' | b'"')
        })),
        b'=' => Some(delimited(bytes, start, |byte| {
            !byte.is_ascii_whitespace() && !matches!(byte, b'&' | b',' | b';' | b'<' | b'>' | b'"' | b'\'' | b'\\')
        })),
        _ => None,
    }
}

fn json(bytes: &[u8], start: usize) -> Range<usize> {
    match bytes.get(start) {
        Some(b'{' | b'[') => start..balanced(bytes, start),
        _ => delimited(bytes, start, |byte| {
            !byte.is_ascii_whitespace() && !matches!(byte, b',' | b'}' | b']')
        }),
    }
}

/// A value in quotes, in the escaped quotes of JSON within JSON, or as far as `bare` goes.
fn delimited(bytes: &[u8], start: usize, bare: impl Fn(u8) -> bool) -> Range<usize> {
    match bytes[start.min(bytes.len())..] {
        [quote @ (b'"' | b'\''), ..] => start + 1..closing(bytes, start + 1, quote),
        [b'\\', b'"', ..] => start + 2..skip(bytes, start + 2, |byte| byte != b'\\' && byte != b'"'),
        _ => start..skip(bytes, start, bare),
    }
}

/// Where a quoted text ends; a torn one ends with the text.
fn closing(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Where an object or list ends; a torn one ends with the text.
fn balanced(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = closing(bytes, at + 1, b'"'),
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return at + 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn skip(bytes: &[u8], from: usize, keep: impl Fn(u8) -> bool) -> usize {
    let from = from.min(bytes.len());
    bytes[from..]
        .iter()
        .position(|byte| !keep(*byte))
        .map_or(bytes.len(), |at| from + at)
}
