//! What a test program printed, read.

use std::{fmt, ops::AddAssign};

/// So many lines of each failure; the rest is in the file.
const LINES: usize = 40;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) counts: Counts,
    /// The tests that report how many seconds they took.
    pub(super) tests: Vec<(String, f64)>,
    /// The output of the tests that failed; the end of the text if there is none.
    pub(super) failures: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.ignored > 0 {
            write!(f, ", {} ignored", self.ignored)?;
        }
        Ok(())
    }
}

impl Outcome {
    pub(super) fn of(text: &str) -> Self {
        let mut outcome = Self::default();
        let mut left = 0;
        for line in text.lines() {
            if let Some(summary) = line.strip_prefix("test result: ") {
                outcome.counts += counts(summary);
            }
            outcome.tests.extend(test(line));
            if begins_failure(line) {
                left = LINES;
            } else if ends_failure(line) {
                left = 0;
            }
            if left > 0 {
                left -= 1;
                outcome.failures.extend([line, "\n"]);
            }
        }
        if outcome.failures.is_empty() {
            let lines: Vec<_> = text.lines().collect();
            let end = &lines[lines.len().saturating_sub(LINES)..];
            outcome.failures = end.iter().flat_map(|line| [*line, "\n"]).collect();
        }
        outcome
    }
}

fn begins_failure(line: &str) -> bool {
    line.starts_with("---- ") && line.ends_with(" stdout ----")
        || line.contains(" panicked at ")
        || line.starts_with("error: ")
}

fn ends_failure(line: &str) -> bool {
    ["stack backtrace:", "note: run with", "failures:", "test result:"]
        .iter()
        .any(|end| line.starts_with(end))
}

/// As in `ok. 195 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 5.25s`.
fn counts(summary: &str) -> Counts {
    let of = |what: &str| {
        let mut parts = summary.split(['.', ';']).map(str::trim);
        let number = parts.find_map(|part| part.strip_suffix(what)?.trim().parse().ok());
        number.unwrap_or_default()
    };
    Counts {
        passed: of("passed"),
        failed: of("failed"),
        ignored: of("ignored"),
    }
}

/// As in `test load_balancers::plan::adds_a_host ... ok <0.012s>`.
fn test(line: &str) -> Option<(String, f64)> {
    let (name, end) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let (_, time) = end.rsplit_once('<')?;
    Some((name.to_owned(), time.strip_suffix("s>")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Counts, LINES, Outcome};

    #[test]
    fn counts_what_passed_and_what_did_not() {
        let text = "running 5 tests\n..\n\ntest result: ok. 3 passed; 0 failed; 2 ignored; 0 measured; 9 filtered out; finished in 5.25s\n";
        let counts = Outcome::of(text).counts;
        assert_eq!(
            counts,
            Counts {
                passed: 3,
                failed: 0,
                ignored: 2
            }
        );
        assert_eq!(counts.to_string(), "3 passed, 0 failed, 2 ignored");
    }

    #[test]
    fn reads_how_long_each_test_took() {
        let text = "test a::b ... ok <0.012s>\ntest a::c - should panic ... ok <61.500s>\ntest d ... ignored\ntest e ... FAILED <1.000s>\n";
        let tests = Outcome::of(text).tests;
        let tests: Vec<_> = tests
            .iter()
            .map(|(name, seconds)| format!("{name} {seconds}"))
            .collect();
        assert_eq!(tests, ["a::b 0.012", "a::c - should panic 61.5", "e 1"]);
    }

    #[test]
    fn several_results_are_added() {
        let line =
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        assert_eq!(Outcome::of(&line.repeat(2)).counts.to_string(), "2 passed, 4 failed");
    }

    #[test]
    fn prints_the_failure_and_omits_the_rest() {
        let text = "test good ... ok\ntest bad ... FAILED\n\nfailures:\n\n---- bad stdout ----\n\nthread 'bad' panicked at src/lib.rs:1:2:\nleft is not right\nnote: run with `RUST_BACKTRACE=1`\n\nfailures:\n    bad\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored;\n";
        let failures = Outcome::of(text).failures;
        assert_eq!(
            failures,
            "---- bad stdout ----\n\nthread 'bad' panicked at src/lib.rs:1:2:\nleft is not right\n"
        );
    }

    #[test]
    fn the_last_lines_of_a_crashed_program_are_printed() {
        let text = "a line\n".repeat(99) + "the last one\n";
        let failures = Outcome::of(&text).failures;
        assert_eq!(failures.lines().count(), LINES);
        assert!(failures.ends_with("the last one\n"), "{failures}");
    }
}
