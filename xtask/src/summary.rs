//! The end of `make test`: steps with their times, the slowest tests, what was left out, what failed, and the counts.

use crate::suite::{Record, read};
use anyhow::Result;
use clap::Args;
use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

/// So many of the slowest tests are listed.
const SLOWEST: usize = 10;

/// Print the summary of all steps.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The file with the results.
    results: PathBuf,
}

pub(crate) fn print(options: &Options) -> Result<()> {
    print!("{}", text(&read(&options.results)?));
    Ok(())
}

fn text(records: &[Record]) -> String {
    [
        steps(records),
        slowest(records),
        left(records),
        failures(records),
        counts(records),
    ]
    .concat()
}

fn steps(records: &[Record]) -> String {
    let (mut text, mut all) = ("== steps\n".to_owned(), 0);
    for record in records {
        if let Record::Step { name, seconds } = record {
            let _ = writeln!(text, "{seconds:7} s  {name}");
            all += seconds;
        }
    }
    let _ = writeln!(text, "{all:7} s  in all");
    text
}

fn slowest(records: &[Record]) -> String {
    let tests = records.iter().filter_map(|record| match record {
        Record::Test { program, name, seconds } => Some((*seconds, program, name)),
        _ => None,
    });
    let mut tests: Vec<_> = tests.collect();
    tests.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut text = "== slowest tests\n".to_owned();
    for (seconds, program, name) in tests.iter().take(SLOWEST) {
        let _ = writeln!(text, "{seconds:7.1} s  {program}: {name}");
    }
    text
}

/// By program and module: there are many.
fn left(records: &[Record]) -> String {
    let mut modules: BTreeMap<String, usize> = BTreeMap::new();
    for record in records {
        if let Record::Left { program, name } = record {
            let place = name.rsplit_once("::").map_or(name.as_str(), |(module, _)| module);
            *modules.entry(format!("{program}: {place}")).or_default() += 1;
        }
    }
    if modules.is_empty() {
        return String::new();
    }
    let all: usize = modules.values().sum();
    let mut text = format!("== left to make test-full: {all} tests:\n");
    for (module, count) in modules {
        let _ = writeln!(text, "{count:7}    {module}");
    }
    text
}

fn failures(records: &[Record]) -> String {
    let texts = records.iter().filter_map(|record| match record {
        Record::Failure { text } => Some(text.as_str()),
        _ => None,
    });
    let texts: String = texts.collect();
    if texts.is_empty() {
        return String::new();
    }
    format!("== failed\n{texts}")
}

fn counts(records: &[Record]) -> String {
    let (mut passed, mut failed) = (0, 0);
    for record in records {
        if let Record::Program {
            passed: more_passed,
            failed: more_failed,
        } = record
        {
            passed += more_passed;
            failed += more_failed;
        }
    }
    format!("{passed} passed, {failed} failed\n")
}

#[cfg(test)]
mod tests {
    use super::{Record, SLOWEST, text};

    fn test(name: &str, seconds: f64) -> Record {
        Record::Test {
            program: "lab".to_owned(),
            name: name.to_owned(),
            seconds,
        }
    }

    #[test]
    fn everything_in_its_order() {
        let step = |name: &str, seconds| Record::Step {
            name: name.to_owned(),
            seconds,
        };
        let left = |name: &str| Record::Left {
            program: "openstack".to_owned(),
            name: name.to_owned(),
        };
        let counts = |passed, failed| Record::Program { passed, failed };
        let failure = Record::Failure {
            text: "lab: exit status 101\n".to_owned(),
        };
        let records = [
            step("format", 2),
            step("tests", 600),
            counts(3, 1),
            test("quick", 0.5),
            test("slow", 12.25),
            counts(4, 0),
            failure,
            left("hosts::real::a"),
            left("hosts::real::b"),
            left("alone"),
        ];
        let expected = "\
== steps
      2 s  format
    600 s  tests
    602 s  in all
== slowest tests
   12.2 s  lab: slow
    0.5 s  lab: quick
== left to make test-full: 3 tests:
      1    openstack: alone
      2    openstack: hosts::real
== failed
lab: exit status 101
7 passed, 1 failed
";
        assert_eq!(text(&records), expected);
    }

    #[test]
    fn only_the_slowest_are_listed() {
        let records: Vec<_> = (0..20).map(|n| test(&format!("test-{n}"), f64::from(n))).collect();
        let lines = text(&records).lines().filter(|line| line.contains("test-")).count();
        assert_eq!(lines, SLOWEST);
    }
}
