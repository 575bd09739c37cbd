//! Documents that are generated, so that they cannot be stale.

use crate::cases;
use anyhow::{Context, Result, bail};
use std::{fs, path::Path, process::Command};

/// Each document and its text.
fn documents(root: &Path) -> Result<[(&'static str, String); 7]> {
    Ok([
        ("docs/upstream-cases.md", cases::document(root)?),
        ("docs/reference/flags.md", reference("flags")?),
        ("docs/reference/metrics.md", reference("metrics")?),
        ("docs/reference/operator-flags.md", reference("operator-flags")?),
        ("deploy/kubernetes/crd.yaml", reference("crd")?),
        ("docs/reference/openstack-config.md", reference("openstack-config")?),
        (
            "docs/reference/openstack-annotations.md",
            reference("openstack-annotations")?,
        ),
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

/// A page that the program itself, which was built together with this one, writes.
fn reference(page: &str) -> Result<String> {
    let program = std::env::current_exe()?.with_file_name("outrigger");
    let output = Command::new(&program)
        .args(["reference", page])
        .output()
        .with_context(|| format!("cannot run {}: build the workspace first", program.display()))?;
    if !output.status.success() {
        bail!(
            "outrigger reference {page} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}
