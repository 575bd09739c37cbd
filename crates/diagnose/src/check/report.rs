//! The results, as a table or as JSON.

use crate::table::aligned;
use serde::Serialize;

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It works.
    Passed,
    /// It works, and is probably a mistake.
    Warning,
    /// It could not be tried.
    NotTried,
    /// It does not work.
    Failed,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What was checked.
    pub check: &'static str,
    /// The result.
    pub outcome: Outcome,
    /// What was seen.
    pub detail: String,
    /// What to do; may be empty.
    pub advice: &'static str,
}

/// All checks, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The checks.
    pub checks: Vec<Row>,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Warning => "warning",
            Self::NotTried => "not tried",
            Self::Failed => "failed",
        }
    }
}

impl Report {
    pub(super) fn passed(&mut self, check: &'static str, detail: String) {
        self.push(check, Outcome::Passed, detail, "");
    }

    pub(super) fn warning(&mut self, check: &'static str, detail: String, advice: &'static str) {
        self.push(check, Outcome::Warning, detail, advice);
    }

    pub(super) fn not_tried(&mut self, check: &'static str, because: &str) {
        self.push(check, Outcome::NotTried, because.to_owned(), "");
    }

    pub(super) fn failed(&mut self, check: &'static str, detail: String, advice: &'static str) {
        self.push(check, Outcome::Failed, detail, advice);
    }

    /// The report about flags that are invalid: nothing else can be checked with them.
    pub fn invalid_flags<'a>(problems: impl IntoIterator<Item = &'a str>) -> Self {
        let mut report = Self::default();
        for problem in problems {
            report.failed("flags", problem.to_owned(), "");
        }
        report
    }

    fn push(&mut self, check: &'static str, outcome: Outcome, detail: String, advice: &'static str) {
        self.checks.push(Row {
            check,
            outcome,
            detail,
            advice,
        });
    }

    /// Whether a check has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.checks.iter().any(|row| row.outcome == Outcome::Failed)
    }

    /// The table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let row = |row: &Row| {
            let advice = if row.advice.is_empty() {
                String::new()
            } else {
                format!("; {}", row.advice)
            };
            let outcome = row.outcome.as_str().to_owned();
            [row.check.to_owned(), outcome, format!("{}{advice}", row.detail)]
        };
        let title = ["CHECK", "RESULT", "DETAIL"].map(str::to_owned);
        let rows: Vec<_> = std::iter::once(title).chain(self.checks.iter().map(row)).collect();
        aligned(&rows)
    }

    /// The same for programs.
    ///
    /// # Errors
    /// Never, as all parts of it are texts.
    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}
