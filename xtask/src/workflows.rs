//! The workflows: every action is pinned to a commit, and every target that a workflow makes exists.

use anyhow::{Context, Result};
use std::{fs, path::Path};

const FOLDER: &str = ".github/workflows";

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let makefile = fs::read_to_string(root.join("Makefile")).context("cannot read Makefile")?;
    let mut problems = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).with_context(|| format!("cannot read {FOLDER}"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        problems.extend(of_workflow(&name, &fs::read_to_string(&path)?, &makefile));
    }
    Ok(problems)
}

fn of_workflow(name: &str, text: &str, makefile: &str) -> Vec<String> {
    let actions = text
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("uses: "));
    let unpinned = actions
        .filter(|action| !is_pinned(action))
        .map(|action| format!("workflows: {name} uses {action}: name the commit, and its version in a comment"));
    let targets = text
        .lines()
        .filter_map(|line| line.split_once("make ").map(|(_, rest)| rest));
    let targets = targets.filter_map(|rest| rest.split_whitespace().next());
    let unknown = targets
        .filter(|target| !makefile.lines().any(|line| line.starts_with(&format!("{target}:"))))
        .map(|target| format!("workflows: {name} makes {target}, which Makefile does not have"));
    unpinned.chain(unknown).collect()
}

/// A commit, and the version that it is.
fn is_pinned(action: &str) -> bool {
    let Some((_, reference)) = action.split_once('@') else {
        return false;
    };
    let Some((commit, version)) = reference.split_once(" # v") else {
        return false;
    };
    commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit()) && !version.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_not_pinned_and_what_does_not_exist() {
        let commit = "0123456789".repeat(4);
        let text = format!(
            "- uses: a/b@{commit} # v1\n- uses: a/b@v1\n- uses: a/b@{commit}\n- run: make test\n- run: make tests\n"
        );
        let found = of_workflow("x", &text, "test: setup\n");
        assert_eq!(found.len(), 3, "{found:#?}");
        assert!(found[2].contains("makes tests"), "{found:#?}");
    }
}
