//! The problems of a command line.

use std::fmt;

/// All problems, one sentence each. Never empty when it is returned as an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct Problems(Vec<String>);

impl Problems {
    /// One problem.
    #[must_use]
    pub fn one(problem: impl Into<String>) -> Self {
        Self(vec![problem.into()])
    }

    /// Adds a problem.
    pub fn push(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    /// Adds the problem of a failed check.
    pub fn check(&mut self, result: Result<(), String>) {
        self.0.extend(result.err());
    }

    /// Adds the problems of another.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The problems, in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether there are no problems.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `value` if there are no problems.
    ///
    /// # Errors
    /// The problems, if there are any.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl FromIterator<String> for Problems {
    fn from_iter<I: IntoIterator<Item = String>>(problems: I) -> Self {
        Self(problems.into_iter().collect())
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => out.write_str(one),
            many => {
                write!(out, "{} problems:", many.len())?;
                many.iter().try_for_each(|problem| write!(out, "\n  - {problem}"))
            }
        }
    }
}
