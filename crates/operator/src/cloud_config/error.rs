//! Why there is no cloud configuration.

/// Why there is no cloud configuration, in one sentence for a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The user has to change something: a retry cannot succeed.
    #[error("{0}")]
    Terminal(String),
    /// Something was not read yet: a retry may succeed.
    #[error("{0}")]
    Transient(String),
}

impl Error {
    /// The same, with the object that the error is about.
    #[must_use]
    pub(crate) fn of(self, origin: &str) -> Self {
        match self {
            Self::Terminal(problem) => Self::Terminal(format!("{origin}: {problem}")),
            Self::Transient(_) => self,
        }
    }
}

/// What is wrong with a configuration, in one sentence that names the key and shows no value that may be secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub(crate) String);

impl Invalid {
    /// The same, with the name of the file.
    #[must_use]
    pub(crate) fn within(self, file: &str) -> Self {
        Self(format!("{file}: {self}"))
    }
}

impl From<gcfg::Error> for Invalid {
    fn from(error: gcfg::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Invalid> for Error {
    fn from(Invalid(problem): Invalid) -> Self {
        Self::Terminal(problem)
    }
}
