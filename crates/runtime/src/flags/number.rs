//! Numbers, and port numbers.

use super::{Value, value::last};
use std::fmt;

/// A TCP port; 0 means "none".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

impl fmt::Display for Port {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl Value for Port {
    fn kind(&self) -> &'static str {
        "int"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let parse = |text: &str| {
            let port = whole(text).and_then(|number| u16::try_from(number).ok());
            port.ok_or_else(|| "must be between 0 and 65535, inclusive".to_owned())
        };
        last(given, parse).map(|port| *self = Self(port))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl Value for i64 {
    fn kind(&self) -> &'static str {
        "int"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        last(given, |text| whole(text).ok_or_else(|| "not a whole number".to_owned())).map(|number| *self = number)
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl Value for i32 {
    fn kind(&self) -> &'static str {
        "int32"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let parse = |text: &str| {
            let number = whole(text).and_then(|number| i32::try_from(number).ok());
            number.ok_or_else(|| "not a whole number between -2147483648 and 2147483647".into())
        };
        last(given, parse).map(|number| *self = number)
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl Value for f32 {
    fn kind(&self) -> &'static str {
        "float32"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let parse = |text: &str| text.parse().ok().filter(|number: &f32| number.is_finite());
        last(given, |text| parse(text).ok_or_else(|| "not a number".to_owned())).map(|number| *self = number)
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

/// Parses a whole number as Go's flags do: decimal, with the prefix `0x`, `0o`, `0` or `0b` in another base, and with
/// underscores between digits.
pub fn whole(text: &str) -> Option<i64> {
    let (sign, number) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let (radix, digits) = match number.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &number[2..]),
        [b'0', b'o' | b'O', ..] => (8, &number[2..]),
        [b'0', b'b' | b'B', ..] => (2, &number[2..]),
        [b'0', _, ..] => (8, &number[1..]),
        _ => (10, number),
    };
    // An underscore may follow the prefix.
    let after_base = if radix == 10 {
        digits
    } else {
        digits.strip_prefix('_').unwrap_or(digits)
    };
    let is_digit = |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_digit(radix));
    if !after_base.split('_').all(is_digit) {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{}", digits.replace('_', "")), radix).ok()
}
