//! The pages of docs/evidence name tests that exist, and at least one in every row. The page of the Go framework's cases is
//! generated.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The beginning of a cell that needs no test.
const DECLINED: &str = "declined:";

/// A page that a program writes.
const GENERATED: &str = "upstream-cases.md";

/// The beginning of a list of tests.
const LIST: &str = "scenarios! {";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of all pages.
fn document() -> String {
    let pages = fs::read_dir(root().join("docs/evidence")).expect("a folder");
    let pages = pages.map(|page| page.expect("a page").path());
    let written = pages.filter(|page| !page.ends_with(GENERATED));
    let texts = written.map(|page| fs::read_to_string(page).expect("a text"));
    texts.collect::<Vec<_>>().join("\n")
}

/// The names of all tests in these folders.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for folder in ["providers", "crates", "outrigger", "lab"] {
        collect(&root().join(folder), &mut found);
    }
    found
}

fn collect(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(tests_in(&fs::read_to_string(&path).expect("a source")));
        }
    }
}

/// The functions that have an attribute of a test, and those that a list of scenarios runs.
fn tests_in(source: &str) -> Vec<String> {
    let (mut is_test, mut is_list) = (false, false);
    let mut found = Vec::new();
    for line in source.lines().map(str::trim_start) {
        is_test |= ["#[test]", "#[tokio::test", "#[rstest"]
            .iter()
            .any(|start| line.starts_with(start));
        is_list = line == LIST || (is_list && line != "}");
        if is_list {
            found.push(line.to_owned());
        }
        if let Some(name) = function(line) {
            found.extend(is_test.then(|| name.to_owned()));
            is_test = false;
        }
    }
    found
}

fn function(line: &str) -> Option<&str> {
    let line = line.trim_start_matches("pub ").trim_start_matches("async ");
    let name = line.strip_prefix("fn ")?;
    name.split(['(', '<']).next()
}

/// The texts between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether it can only be the name of a function: settings have hyphens, and variables upper-case letters.
fn is_name(code: &str) -> bool {
    let letters = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    code.contains('_') && code.split('_').all(letters)
}

#[test]
fn every_name_of_a_test_is_one() {
    let (document, tests) = (document(), tests());
    let missing: Vec<&str> = code(&document)
        .filter(|code| is_name(code) && !tests.contains(*code))
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}

#[test]
fn every_row_names_a_test() {
    let (document, tests) = (document(), tests());
    let rows = document
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| |"));
    let rows: Vec<&str> = rows.filter(|line| !line.ends_with("| tests |")).collect();
    assert!(rows.len() > 60, "only {} rows were found", rows.len());
    let is_bare = |row: &&str| {
        let tests_of = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        !tests_of.starts_with(DECLINED) && !code(tests_of).any(|code| tests.contains(code))
    };
    let bare: Vec<&str> = rows.into_iter().filter(is_bare).collect();
    assert!(bare.is_empty(), "rows without a test:\n{}", bare.join("\n"));
}

#[test]
fn a_function_is_a_test_by_its_attribute() {
    let source = "fn helper() {}\n#[rstest]\n#[case::a(\n    1,\n)]\n#[tokio::test]\nasync fn first(#[case] n: u8) {\n}\nfn other<T>() {}";
    assert_eq!(tests_in(source), ["first"]);
    assert_eq!(
        tests_in("scenarios! {\n    one\n    two\n}\nfn other() {}")[1..],
        ["one", "two"]
    );
}
