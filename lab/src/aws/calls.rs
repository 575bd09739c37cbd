//! The recorded calls of an account, in order.

use super::Account;
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::PathBuf,
};

/// A place in the record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// A call that was answered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Call {
    account: String,
    harness: bool,
    /// As botocore has it: `ec2`, `elb`, `elbv2`, `sts`, `ecr`, `ecr-public`.
    pub service: String,
    /// For example `DescribeInstances`.
    pub action: String,
    /// As they were sent: `InstanceId.1`, …
    pub params: Map<String, Value>,
    /// The HTTP status.
    pub status: u16,
    /// The `User-Agent`.
    pub agent: String,
    /// Whether it changes something.
    pub write: bool,
    /// When it came, in seconds.
    pub start: f64,
    /// When it was answered, in seconds.
    pub end: f64,
    /// The body of the answer.
    pub answer: String,
}

impl Account<'_> {
    /// The end of the record.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn mark(&self) -> Result<Mark> {
        Ok(Mark(fs::metadata(self.file())?.len()))
    }

    /// All calls to this account, without the owner's own. A call is in the record before its answer is sent.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn calls(&self) -> Result<Vec<Call>> {
        self.calls_since(Mark::default())
    }

    /// Those after the mark.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn calls_since(&self, mark: Mark) -> Result<Vec<Call>> {
        let mut file = File::open(self.file())?;
        file.seek(SeekFrom::Start(mark.0))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // The last line may still be being written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let parse = |line| serde_json::from_str::<Call>(line).with_context(|| format!("a strange call: {line}"));
        let calls: Vec<Call> = whole.lines().map(parse).collect::<Result<_>>()?;
        let is_ours = |call: &Call| call.account == self.number() && !call.harness;
        Ok(calls.into_iter().filter(is_ours).collect())
    }

    fn file(&self) -> PathBuf {
        self.server.dir().join("calls.json")
    }
}
