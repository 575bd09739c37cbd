//! Go's way to quote a string.

use std::fmt::Write;

/// Quotes `text` as Go's `%q` does.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        push(&mut quoted, letter);
    }
    quoted.push('"');
    quoted
}

fn push(quoted: &mut String, letter: char) {
    match letter {
        '"' | '\\' => quoted.extend(['\\', letter]),
        '\u{7}' => quoted.push_str("\\a"),
        '\u{8}' => quoted.push_str("\\b"),
        '\u{c}' => quoted.push_str("\\f"),
        '\n' => quoted.push_str("\\n"),
        '\r' => quoted.push_str("\\r"),
        '\t' => quoted.push_str("\\t"),
        '\u{b}' => quoted.push_str("\\v"),
        ' '..='~' => quoted.push(letter),
        _ => push_unusual(quoted, letter),
    }
}

fn push_unusual(quoted: &mut String, letter: char) {
    let code = u32::from(letter);
    // `escape_debug` escapes exactly what cannot be printed, apart from a combining mark at the start of a string.
    let printable = letter.escape_debug().count() == 1;
    let written = match code {
        _ if printable => write!(quoted, "{letter}"),
        0..=0x7f => write!(quoted, "\\x{code:02x}"),
        0x80..=0xffff => write!(quoted, "\\u{code:04x}"),
        _ => write!(quoted, "\\U{code:08x}"),
    };
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a b", r#""a b""#)]
    #[case("\"\\", r#""\"\\""#)]
    #[case("\t\n\r", r#""\t\n\r""#)]
    #[case("\0\u{7f}\u{7}", r#""\x00\x7f\a""#)]
    #[case("é 日本", "\"é 日本\"")]
    #[case("\u{200b}\u{a0}", r#""\u200b\u00a0""#)]
    #[case("\u{e0001}", r#""\U000e0001""#)]
    fn quotes_as_go(#[case] text: &str, #[case] quoted: &str) {
        assert_eq!(quote(text), quoted);
    }
}
