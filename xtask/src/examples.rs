//! The examples: workspaces of their own that share what is built with this one.

use anyhow::{Context, Result};
use std::{collections::BTreeSet, fs, path::Path};

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let ours = versions(&read(&root.join("Cargo.lock"))?);
    let mut problems = Vec::new();
    for entry in fs::read_dir(root.join("examples")).context("cannot read examples")? {
        let folder = entry?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let theirs = versions(&read(&folder.join("Cargo.lock"))?);
        problems.extend(theirs.difference(&ours).map(|version| other_version(&name, version)));
    }
    Ok(problems)
}

fn other_version(example: &str, version: &str) -> String {
    format!(
        "examples: {example} has {version}, which this workspace has not: copy Cargo.lock to examples/{example} and run \
         cargo metadata there"
    )
}

/// The name and version of each crate that comes from a registry.
fn versions(lock: &str) -> BTreeSet<String> {
    let packages = lock
        .split("[[package]]")
        .filter(|package| package.contains("\nsource = "));
    let value = |package: &str, key: &str| {
        let line = package
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.unwrap_or_default().trim_matches('"').to_owned()
    };
    packages
        .map(|package| format!("{} {}", value(package, "name"), value(package, "version")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_versions_of_a_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"anyhow\"\nversion = \"1.0.1\"\nsource = \"registry\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        assert_eq!(versions(lock), BTreeSet::from(["anyhow 1.0.1".to_owned()]));
    }
}
