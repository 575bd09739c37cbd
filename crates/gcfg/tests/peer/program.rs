//! The Go program: built once for each version of its sources, into the lab's cache.

use anyhow::{Context, Result, bail};
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const FILES: [(&str, &str); 3] = [
    ("go.mod", include_str!("go.mod")),
    ("go.sum", include_str!("go.sum")),
    ("main.go", include_str!("main.go")),
];

pub struct Peer(PathBuf);

impl Peer {
    pub fn build() -> Result<Self> {
        let folder = lab::assets::cache().join("gcfg-peer");
        let target = folder.join(format!("peer-{}", fingerprint()));
        if !target.exists() {
            fs::create_dir_all(&folder)?;
            let lock = File::create(folder.join(".lock"))?;
            lock.lock().context("cannot lock the cache")?;
            if !target.exists() {
                compile(&folder.join("source"), &target)?;
            }
        }
        Ok(Self(target))
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

/// To another name first, so that nobody ever sees half a program.
fn compile(source: &Path, target: &Path) -> Result<()> {
    fs::create_dir_all(source)?;
    for (name, text) in FILES {
        fs::write(source.join(name), text)?;
    }
    let unfinished = target.with_extension("unfinished");
    let mut go = Command::new("go");
    go.current_dir(source)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=mod -buildvcs=false");
    go.args(["build", "-trimpath", "-ldflags", "-s -w", "-o"])
        .arg(&unfinished)
        .arg(".");
    lab::assets::with_progress("building the Go reader of cloud.conf", go)?;
    fs::rename(unfinished, target)?;
    Ok(())
}

fn fingerprint() -> String {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
