//! What came of a round of writes: a loop whose writes are all refused does not do its work.

/// What came of one piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wrote {
    /// It was written.
    Done,
    /// There was nothing to write.
    Nothing,
    /// The API server refused it, for this reason.
    Refused(String),
}

/// What came of a round.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    written: bool,
    refused: Option<String>,
}

impl Tally {
    /// An error if something was refused and nothing was written: one Node that is in the way is not the loop's fault.
    pub(crate) fn verdict(self) -> Result<(), String> {
        match self.refused {
            Some(reason) if !self.written => Err(reason),
            _ => Ok(()),
        }
    }
}

impl Extend<Wrote> for Tally {
    fn extend<T: IntoIterator<Item = Wrote>>(&mut self, all: T) {
        for one in all {
            match one {
                Wrote::Done => self.written = true,
                Wrote::Nothing => {}
                Wrote::Refused(reason) => drop(self.refused.get_or_insert(reason)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Tally,
        Wrote::{self, Done, Nothing, Refused},
    };
    use rstest::rstest;

    #[rstest]
    #[case::nothing_to_do(&[], Ok(()))]
    #[case::as_it_should(&[Nothing, Done], Ok(()))]
    #[case::one_is_in_the_way(&[Refused("no".to_owned()), Done], Ok(()))]
    #[case::all_are_refused(&[Nothing, Refused("no".to_owned()), Refused("never".to_owned())], Err("no"))]
    fn judges(#[case] all: &[Wrote], #[case] expected: Result<(), &str>) {
        let mut tally = Tally::default();
        tally.extend(all.iter().cloned());
        assert_eq!(tally.verdict(), expected.map_err(str::to_owned));
    }
}
