//! Why there is no cloud configuration to give.

/// Why there is no cloud configuration to give, in one sentence that can stand in a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The user has to change something: a retry does not help.
    #[error("{0}")]
    Terminal(String),
    /// Something has not been seen yet: trying again may help.
    #[error("{0}")]
    Transient(String),
}

impl Error {
    /// The same, with the object it is about.
    #[must_use]
    pub(crate) fn of(self, origin: &str) -> Self {
        match self {
            Self::Terminal(problem) => Self::Terminal(format!("{origin}: {problem}")),
            Self::Transient(_) => self,
        }
    }
}
