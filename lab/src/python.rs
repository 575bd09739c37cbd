//! Python packages that Outrigger is compared with, installed once for each version.

use crate::assets::{cache, with_progress};
use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    process::Command,
};

/// The path of a Python that has these packages, one `name==version` a line, installed first if need be.
///
/// # Errors
/// If there is no Python with `venv`, or a package cannot be installed.
pub fn with(name: &str, requirements: &str) -> Result<PathBuf> {
    let folder = cache().join("python");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let lock = File::create(folder.join(".lock"))?;
    lock.lock().context("cannot lock the cache")?;
    let mut hasher = DefaultHasher::new();
    requirements.hash(&mut hasher);
    let venv = folder.join(format!("{name}-{:016x}", hasher.finish()));
    if !venv.join("complete").exists() {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&venv);
        with_progress(&format!("making a virtual environment for {name}"), make)?;
        let list = venv.join("requirements.txt");
        fs::write(&list, requirements)?;
        let mut install = Command::new(venv.join("bin/pip"));
        install
            .args(["install", "--quiet", "--no-deps", "--requirement"])
            .arg(&list);
        with_progress(&format!("installing {name}"), install)?;
        fs::write(venv.join("complete"), "")?;
    }
    Ok(venv.join("bin/python"))
}
