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
            text.parse()
                .map_err(|_| "must be between 0 and 65535, inclusive".to_owned())
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
        last(given, |text| text.parse().map_err(|_| "not a whole number".to_owned())).map(|number| *self = number)
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
            text.parse()
                .map_err(|_| "not a whole number between -2147483648 and 2147483647".into())
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
