//! A number that is used if the flag is given; otherwise the program decides.

use super::Value;

/// A setting that exists because the Go program needs a fixed number. If the flag is given, exactly this number is used; if not,
/// the program adapts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto<T> {
    /// Not given; the default of the Go program.
    Unset(T),
    /// Given.
    Given(T),
}

impl<T: Copy> Auto<T> {
    /// The given number; `None` if the program decides.
    pub fn given(&self) -> Option<T> {
        match self {
            Self::Unset(_) => None,
            Self::Given(value) => Some(*value),
        }
    }

    /// The given number, else the default of the Go program.
    pub fn nominal(&self) -> T {
        match self {
            Self::Unset(value) | Self::Given(value) => *value,
        }
    }
}

impl<T: Copy + Value> Value for Auto<T> {
    fn kind(&self) -> &'static str {
        self.nominal().kind()
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let mut value = self.nominal();
        value.set(given).map(|()| *self = Self::Given(value))
    }

    fn print(&self) -> String {
        self.given().map_or_else(|| "auto".to_owned(), |value| value.print())
    }
}
