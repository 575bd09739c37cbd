//! Documents that are generated, so that they cannot be stale.

use crate::cases;
use anyhow::{Context, Result, bail};
use std::{fs, path::Path, process::Command};

/// The file and the text of each document.
fn documents(root: &Path) -> Result<Vec<(String, String)>> {
    let mut documents = vec![("docs/evidence/upstream-cases.md".to_owned(), cases::document(root)?)];
    for line in outrigger(&[])?.lines() {
        let (name, path) = line
            .split_once(' ')
            .context("outrigger reference printed something else")?;
        documents.push((path.to_owned(), outrigger(&[name])?));
    }
    Ok(documents)
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

/// The output of `outrigger reference`, of the binary that was built together with this one.
fn outrigger(arguments: &[&str]) -> Result<String> {
    let program = std::env::current_exe()?.with_file_name("outrigger");
    let output = Command::new(&program)
        .arg("reference")
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {}: build the workspace first", program.display()))?;
    if !output.status.success() {
        bail!(
            "outrigger reference {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}
