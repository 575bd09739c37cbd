//! How many lines of Rust a folder may have.

use crate::unused::files;
use anyhow::Result;
use std::{fs, path::Path};

/// A cloud on the provider kit is small, and so is a manager outside of this repository.
const LIMITS: &[(&str, usize)] = &[
    ("examples/acme-cloud-controller-manager/src", 300),
    ("providers/digitalocean/src", 1500),
];

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (folder, limit) in LIMITS {
        let mut count = 0;
        for path in files(&root.join(folder))? {
            if path.file_name().is_none_or(|name| name != "tests.rs") {
                count += lines(&fs::read_to_string(&path)?);
            }
        }
        if count == 0 || count > *limit {
            problems.push(format!(
                "lines: {folder} has {count} lines of Rust without tests; at most {limit} are allowed"
            ));
        }
    }
    Ok(problems)
}

/// The lines before the tests at the end of a file.
fn lines(code: &str) -> usize {
    code.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn tests_do_not_count() {
        assert_eq!(lines("fn one() {}\n\n#[cfg(test)]\nmod tests {\n}\n"), 2);
    }
}
