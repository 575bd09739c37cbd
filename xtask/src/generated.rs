//! Documents that are generated, so that they cannot be stale.

use crate::cases;
use anyhow::{Context, Result, bail};
use std::{fs, path::Path, process::Command};

/// Each document and its text.
fn documents(root: &Path) -> Result<[(&'static str, String); 2]> {
    Ok([
        ("docs/upstream-cases.md", cases::document(root)?),
        ("docs/reference/flags.md", flags(root)?),
    ])
}

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let stale = documents(root)?
        .into_iter()
        .filter(|(path, text)| fs::read_to_string(root.join(path)).unwrap_or_default() != *text);
    Ok(stale
        .map(|(path, _)| format!("generated: {path} is stale: run make docs"))
        .collect())
}

pub(crate) fn write(root: &Path) -> Result<()> {
    for (path, text) in documents(root)? {
        let path = root.join(path);
        path.parent().map(fs::create_dir_all).transpose()?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// What the program itself says of its flags.
fn flags(root: &Path) -> Result<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["run", "--quiet", "--locked", "-p", "outrigger", "--", "reference"])
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!(
            "outrigger reference failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}
