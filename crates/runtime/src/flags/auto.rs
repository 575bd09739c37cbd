//! A number that is obeyed when given, and otherwise left to the program.

use super::Value;

/// A setting that exists because the original program needs a fixed number. If the flag is given, the number is
/// obeyed exactly; if not, the program adapts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto<T> {
    /// Not given; the number the original program would use.
    Unset(T),
    /// Given.
    Given(T),
}

impl<T: Copy> Auto<T> {
    /// The number to obey, or `None` if the program is to decide.
    pub fn given(&self) -> Option<T> {
        match self {
            Self::Unset(_) => None,
            Self::Given(value) => Some(*value),
        }
    }

    /// The given number, else the original program's: what goes where only a number may stand.
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
