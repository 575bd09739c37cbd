//! The Go framework's own manager, on the memory cloud: what Outrigger is measured and compared with.

use crate::assets;
use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

const FILES: [(&str, &str); 4] = [
    ("go.mod", include_str!("../../bench/peer/go.mod")),
    ("go.sum", include_str!("../../bench/peer/go.sum")),
    ("main.go", include_str!("../../bench/peer/main.go")),
    ("cloud.go", include_str!("../../bench/peer/cloud.go")),
];

/// The path of the program, built first if need be: once for each version of its sources.
///
/// # Errors
/// If it cannot be built; the message ends with what the compiler said.
pub fn program() -> Result<PathBuf> {
    let folder = assets::cache().join("peer");
    let target = folder.join(format!("cloud-controller-manager-{}", fingerprint()));
    if !target.exists() {
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let lock = File::create(folder.join(".lock"))?;
        lock.lock().context("cannot lock the cache")?;
        if !target.exists() {
            build(&folder.join("source"), &target)?;
        }
    }
    Ok(target)
}

/// To another name first, so that nobody ever sees half a program.
fn build(source: &Path, target: &Path) -> Result<()> {
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
    assets::with_progress("building the Go framework's manager", go)?;
    fs::rename(unfinished, target)?;
    Ok(())
}

fn fingerprint() -> String {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
