//! What a run of the tests leaves for the summary: one JSON object a line, in the file that an environment variable names.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::{
    env,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

/// Names the file. Without it nothing is recorded.
const RESULTS: &str = "OUTRIGGER_TEST_RESULTS";

/// One line of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record {
    /// A step of `make test`, as scripts/test writes it.
    Step { name: String, seconds: u64 },
    /// A test program that has ended.
    Program { passed: usize, failed: usize },
    /// A test that has ended.
    Test {
        program: String,
        name: String,
        seconds: f64,
    },
    /// A test that is left to `make test-full`.
    Left { program: String, name: String },
    /// The output of a test program that failed.
    Failure { text: String },
}

/// Appends these records.
pub(super) fn write(records: &[Record]) -> Result<()> {
    let Some(path) = env::var_os(RESULTS).map(PathBuf::from) else {
        return Ok(());
    };
    let mut text = String::new();
    for record in records {
        text += &serde_json::to_string(record)?;
        text.push('\n');
    }
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let mut file = file.with_context(|| format!("cannot open {}", path.display()))?;
    // In one piece: several runs may write to it.
    file.write_all(text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Reads all records.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not a record: {line}")))
        .collect()
}
