//! A finding, and how findings are printed.

use crate::table;
use serde::Serialize;
use std::fmt;

/// How a finding affects the migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It is as it should be.
    Ok,
    /// The migration can begin, and something changes or should be known.
    Warning,
    /// The migration must not begin.
    Blocker,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Blocker => "blocker",
        })
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it affects the migration.
    pub level: Level,
    /// The object that it is about.
    pub object: String,
    /// What was found, in one sentence.
    pub message: String,
    /// What to do, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(object: impl fmt::Display, message: impl Into<String>) -> Self {
        Self::new(Level::Ok, object, message.into())
    }

    pub(super) fn warning(object: impl fmt::Display, message: impl Into<String>) -> Self {
        Self::new(Level::Warning, object, message.into())
    }

    pub(super) fn blocker(object: impl fmt::Display, message: impl Into<String>) -> Self {
        Self::new(Level::Blocker, object, message.into())
    }

    /// With what to do.
    #[must_use]
    pub(super) fn remedy(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }

    fn new(level: Level, object: impl fmt::Display, message: String) -> Self {
        Self {
            level,
            object: object.to_string(),
            message,
            remedy: None,
        }
    }
}

/// All findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The worst level.
    #[must_use]
    pub fn worst(&self) -> Level {
        self.findings
            .iter()
            .map(|finding| finding.level)
            .max()
            .unwrap_or(Level::Ok)
    }

    fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

/// A table, and one line with the numbers.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ["LEVEL", "OBJECT", "FINDING"].map(str::to_owned).to_vec();
        let rows = self.findings.iter().flat_map(|finding| {
            let Finding {
                level,
                object,
                message,
                remedy,
            } = finding;
            let first = vec![level.to_string(), object.clone(), message.clone()];
            let second = remedy
                .iter()
                .map(|remedy| vec![String::new(), String::new(), format!("-> {remedy}")]);
            std::iter::once(first).chain(second)
        });
        let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
        f.write_str(&table::align(&rows))?;
        writeln!(
            f,
            "\n{}, {}, {} ok",
            table::count(self.count(Level::Blocker), "blocker"),
            table::count(self.count(Level::Warning), "warning"),
            self.count(Level::Ok)
        )
    }
}
