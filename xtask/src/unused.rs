//! Dependencies that are listed and not used.

use crate::metadata::{Dependency, Metadata, Package};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Dependencies that select a feature of a crate that another dependency uses.
const FEATURES_ONLY: &[(&str, &str)] = &[("lab", "k8s-openapi")];

pub(crate) fn problems(metadata: &Metadata) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for package in metadata.members() {
        problems.extend(of_package(metadata, package)?);
    }
    Ok(problems)
}

fn of_package(metadata: &Metadata, package: &Package) -> Result<Vec<String>> {
    let folder = Path::new(&package.manifest_path).parent().unwrap_or(Path::new(""));
    let product = read(&folder.join("src"))?;
    let tests = read(&folder.join("tests"))?;
    let is_unused = |dependency: &&Dependency| {
        let name = name_in_code(metadata, dependency);
        let in_tests = dependency.kind.as_deref() == Some("dev") && names(&tests, &name);
        !in_tests && !names(&product, &name)
    };
    let is_needed =
        |dependency: &&Dependency| FEATURES_ONLY.contains(&(package.name.as_str(), dependency.name.as_str()));
    let unused = package.dependencies.iter().filter(is_unused);
    let unused = unused.filter(|dependency| !is_needed(dependency));
    let problem = |dependency: &Dependency| {
        let kind = dependency
            .kind
            .as_deref()
            .map_or(String::new(), |kind| format!("{kind}-"));
        format!(
            "dependencies: {} lists the {kind}dependency {}, which its code does not name",
            package.name, dependency.name
        )
    };
    Ok(unused.map(problem).collect())
}

/// The library of `md-5` is `md5`.
fn name_in_code(metadata: &Metadata, dependency: &Dependency) -> String {
    let package = metadata.packages.iter().find(|package| package.name == dependency.name);
    let targets = package.into_iter().flat_map(|package| &package.targets);
    let library = |kind: &String| kind.ends_with("lib") || kind == "proc-macro";
    let library = targets.into_iter().find(|target| target.kind.iter().any(library));
    let name = library.map_or(&dependency.name, |target| &target.name);
    dependency.rename.as_ref().unwrap_or(name).replace('-', "_")
}

/// Whether the name of a crate occurs as a word.
fn names(code: &str, name: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|one| one.is_alphanumeric() || one == '_');
    code.match_indices(name).any(|(start, _)| {
        let (before, after) = (&code[..start], &code[start + name.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

/// All Rust code in a folder; none if it does not exist.
fn read(folder: &Path) -> Result<String> {
    let mut code = String::new();
    for path in files(folder)? {
        code += &fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(code)
}

/// The Rust files in a folder and in those below it.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn finds_the_name_of_a_crate() {
        for (code, expected) in [
            ("use serde_json::json;", true),
            ("use serde_json_extra::json;", false),
            ("my_serde_json::json", false),
            ("serde_json_extra, serde_json", true),
            ("", false),
        ] {
            assert_eq!(names(code, "serde_json"), expected, "{code}");
        }
    }
}
