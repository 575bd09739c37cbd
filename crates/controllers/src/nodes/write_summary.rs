//! The results of a round of writes: a loop fails if the API server refuses all its writes.

/// The result of reconciling one Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteResult {
    /// The Node was written.
    Written,
    /// There was nothing to write.
    Unchanged,
    /// The API server refused the write, for this reason.
    Refused(String),
}

/// A round failed for all Nodes, for this reason: the cloud, the cache or the API server failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RoundFailed(pub(crate) String);

/// The results of a round.
#[derive(Debug, Default)]
pub(crate) struct WriteSummary {
    written: bool,
    refused: Option<String>,
}

impl WriteSummary {
    /// Fails if writes were refused and none succeeded. If others succeed, the failure is that of one Node.
    ///
    /// # Errors
    /// If all writes were refused.
    pub(crate) fn outcome(self) -> Result<(), RoundFailed> {
        match self.refused {
            Some(reason) if !self.written => Err(RoundFailed(reason)),
            _ => Ok(()),
        }
    }
}

impl Extend<WriteResult> for WriteSummary {
    fn extend<T: IntoIterator<Item = WriteResult>>(&mut self, results: T) {
        for result in results {
            match result {
                WriteResult::Written => self.written = true,
                WriteResult::Unchanged => {}
                WriteResult::Refused(reason) => drop(self.refused.get_or_insert(reason)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        WriteResult::{self, Refused, Unchanged, Written},
        WriteSummary,
    };
    use rstest::rstest;

    #[rstest]
    #[case::nothing_to_do(&[], Ok(()))]
    #[case::written(&[Unchanged, Written], Ok(()))]
    #[case::one_refused(&[Refused("no".to_owned()), Written], Ok(()))]
    #[case::all_refused(&[Unchanged, Refused("no".to_owned()), Refused("never".to_owned())], Err("no"))]
    fn outcome(#[case] results: &[WriteResult], #[case] expected: Result<(), &str>) {
        let mut summary = WriteSummary::default();
        summary.extend(results.iter().cloned());
        let outcome = summary.outcome().map_err(|refused| refused.to_string());
        assert_eq!(outcome, expected.map_err(str::to_owned));
    }
}
