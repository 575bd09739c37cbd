//! The results of a run.

use std::{fmt, time::Duration};

/// The result of each case; its `Display` is one line per case and a last line with the counts.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order in which the cases ran.
    pub results: Vec<CaseResult>,
}

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// The name of the case.
    pub name: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// How long it took, without cleaning up.
    pub took: Duration,
}

/// The verdict about one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The provider meets the requirement.
    Passed,
    /// The provider does not meet the requirement.
    Failed(String),
    /// This world cannot run the case.
    Unable(String),
}

/// The provider does not conform.
#[derive(thiserror::Error)]
#[error("{} cases failed:{}", .0.len(), lines(.0))]
pub struct Failed(pub Vec<CaseResult>);

/// A test that ends with this error shows the list, not the structs.
impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Report {
    /// An error that lists what failed, if anything did.
    pub fn check(&self) -> Result<(), Failed> {
        let failed = self.of(|verdict| matches!(verdict, Verdict::Failed(_)));
        if failed.is_empty() { Ok(()) } else { Err(Failed(failed)) }
    }

    /// The cases that this world could not run.
    pub fn unable(&self) -> Vec<CaseResult> {
        self.of(|verdict| matches!(verdict, Verdict::Unable(_)))
    }

    fn of(&self, wanted: impl Fn(&Verdict) -> bool) -> Vec<CaseResult> {
        self.results
            .iter()
            .filter(|result| wanted(&result.verdict))
            .cloned()
            .collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for result in &self.results {
            writeln!(f, "{result}")?;
        }
        let (failed, unable) = (
            self.check().err().map_or(0, |failed| failed.0.len()),
            self.unable().len(),
        );
        write!(
            f,
            "{} passed, {failed} failed, {unable} impossible in this world",
            self.results.len() - failed - unable
        )
    }
}

impl fmt::Display for CaseResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, verdict, took } = self;
        match verdict {
            Verdict::Passed => write!(f, "ok          {name} ({} ms)", took.as_millis()),
            Verdict::Failed(why) => write!(f, "FAILED      {name}: {why}"),
            Verdict::Unable(why) => write!(f, "impossible  {name}: {why}"),
        }
    }
}

fn lines(results: &[CaseResult]) -> String {
    results
        .iter()
        .flat_map(|result| ["\n  ".to_owned(), result.to_string()])
        .collect()
}
