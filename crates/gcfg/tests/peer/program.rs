//! The Go program.

use anyhow::{Context, Result, bail};
use std::{
    io::Write,
    ops::RangeInclusive,
    path::PathBuf,
    process::{Command, Stdio},
};

const READER: lab::peer::Peer = lab::peer::Peer {
    name: "gcfg-reader",
    what: "the Go reader of cloud.conf",
    package: ".",
    files: &[
        ("go.mod", include_str!("go.mod")),
        ("go.sum", include_str!("go.sum")),
        ("main.go", include_str!("main.go")),
    ],
};

pub struct Peer(PathBuf);

impl Peer {
    pub fn build() -> Result<Self> {
        READER.program().map(Self)
    }

    /// Its answer to each text.
    pub fn read(&self, inputs: &[Vec<u8>]) -> Result<Vec<String>> {
        let mut framed = Vec::new();
        for input in inputs {
            framed.extend(u32::try_from(input.len())?.to_be_bytes());
            framed.extend(input);
        }
        let mut child = Command::new(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no input")?;
        let feeder = std::thread::spawn(move || stdin.write_all(&framed));
        let output = child.wait_with_output()?;
        feeder
            .join()
            .map_err(|_| anyhow::anyhow!("cannot feed the program"))??;
        lines(&output)
    }

    /// The version of Unicode, and the ranges of its letters or digits beyond ASCII.
    pub fn ranges(&self, which: &str) -> Result<(String, Vec<RangeInclusive<u32>>)> {
        let output = Command::new(&self.0).arg(which).output()?;
        let mut lines = lines(&output)?;
        let version = lines.remove(0);
        let ranges = lines.iter().map(|line| {
            let (first, last) = line.split_once(' ').context("a range has two ends")?;
            Ok(u32::from_str_radix(first, 16)?..=u32::from_str_radix(last, 16)?)
        });
        Ok((version, ranges.collect::<Result<_>>()?))
    }
}

fn lines(output: &std::process::Output) -> Result<Vec<String>> {
    if !output.status.success() {
        bail!("the program failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(str::from_utf8(&output.stdout)?.lines().map(str::to_owned).collect())
}
