//! The test cases of the Go framework: each must be a row in a test of ours, or have a reason why not.
//!
//! `crates/testkit/upstream/*.txt` lists them, one a line: `Test :: case`, and ` -- reason` for those that cannot exist
//! here. A row is found by the comment `// upstream: Test` above it and the case's name as a string literal below that, in
//! code and not in a comment. A test that is ignored holds nothing, unless another step runs it.

use anyhow::{Context, Result};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

const LISTS: &str = "crates/testkit/upstream";
const MARK: &str = "// upstream: ";
/// Stands in the reason why a test is ignored that another step of `make test` or of `make test-full` runs.
const RUN_ELSEWHERE: [&str; 3] = ["make test-openstack", "make test-cluster", "make test-full"];

struct Case {
    test: String,
    name: String,
    reason: Option<String>,
}

/// For each upstream test, the places where it is marked: the file and the text that follows the mark.
type Marks = BTreeMap<String, Vec<(String, String)>>;

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let (cases, marks) = (read_cases(root)?, read_marks(root)?);
    let problems = cases
        .iter()
        .filter(|case| case.reason.is_none() && find(case, &marks).is_none())
        .map(|case| format!("cases: no row for {} :: {}", case.test, case.name))
        .collect();
    Ok(problems)
}

/// The document that lists them all.
pub(crate) fn document(root: &Path) -> Result<String> {
    table(&read_cases(root)?, &read_marks(root)?)
}

fn table(cases: &[Case], marks: &Marks) -> Result<String> {
    let missing = cases.iter().filter(|case| case.reason.is_some()).count();
    let mut text = format!(
        "# The Go framework's test cases\n\nGenerated from the tests by `make docs`. {} cases; {missing} cannot exist here, \
         and say why.\n\n| upstream test | case | ours |\n|---|---|---|\n",
        cases.len()
    );
    for case in cases {
        let ours = match &case.reason {
            Some(reason) => format!("– {reason}"),
            None => find(case, marks).map_or("**missing**".to_owned(), |file| format!("`{file}`")),
        };
        writeln!(text, "| {} | {} | {ours} |", case.test, case.name.replace('|', "\\|"))?;
    }
    Ok(text)
}

fn find<'a>(case: &Case, marks: &'a Marks) -> Option<&'a str> {
    let literal = format!("{:?}", case.name);
    let places = marks.get(&case.test)?;
    places
        .iter()
        .find(|(_, text)| text.contains(&literal))
        .map(|(file, _)| file.as_str())
}

fn read_cases(root: &Path) -> Result<Vec<Case>> {
    let mut lists: Vec<PathBuf> = fs::read_dir(root.join(LISTS))
        .with_context(|| format!("cannot read {LISTS}"))?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    lists.sort();
    let mut cases = Vec::new();
    for list in lists {
        let text = fs::read_to_string(&list)?;
        let lines = text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        for line in lines {
            let (name_of_test, rest) = line
                .split_once(" :: ")
                .with_context(|| format!("{}: {line}", list.display()))?;
            let (name, reason) = match rest.split_once(" -- ") {
                Some((name, reason)) => (name, Some(reason.trim().to_owned())),
                None => (rest, None),
            };
            cases.push(Case {
                test: name_of_test.trim().to_owned(),
                name: name.trim().to_owned(),
                reason,
            });
        }
    }
    Ok(cases)
}

fn read_marks(root: &Path) -> Result<Marks> {
    let mut marks = Marks::new();
    let mut folders = vec![root.join("crates"), root.join("providers"), root.join("outrigger")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(root)?.display().to_string();
                collect(&file, &fs::read_to_string(&path)?, &mut marks);
            }
        }
    }
    Ok(marks)
}

fn collect(file: &str, text: &str, marks: &mut Marks) {
    for part in text.split(MARK).skip(1) {
        let (name, rest) = part.split_once('\n').unwrap_or((part, ""));
        marks
            .entry(name.trim().to_owned())
            .or_default()
            .push((file.to_owned(), held(rest)));
    }
}

/// What follows a mark, without comments; nothing if the test right below it is never run.
fn held(text: &str) -> String {
    let code: Vec<_> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let mut attributes = code.iter().take_while(|line| !line.contains("fn "));
    if attributes.any(|line| is_never_run(line)) {
        return String::new();
    }
    code.join("\n")
}

fn is_never_run(line: &str) -> bool {
    line.trim_start().starts_with("#[ignore") && !RUN_ELSEWHERE.iter().any(|step| line.contains(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_if_a_test_runs_it() {
        for (text, expected) in [
            ("// upstream: TestA\n#[case(\"one\")]\n", Some("a.rs")),
            ("// upstream: TestB\n#[case(\"one\")]\n", None),
            ("// upstream: TestA\n// not yet: \"one\"\n", None),
            (
                "// upstream: TestA\n#[case(\"another\")]\n// upstream: TestB\n#[case(\"one\")]\n",
                None,
            ),
            (
                "// upstream: TestA\n#[test]\n#[ignore = \"some day\"]\nfn a() {\n    let case = \"one\";\n}\n",
                None,
            ),
            (
                "// upstream: TestA\n#[test]\n#[ignore = \"make test-openstack runs it\"]\nfn a() {\n    let case = \"one\";\n}\n",
                Some("a.rs"),
            ),
            (
                "// upstream: TestA\n#[case(\"one\")]\nfn a() {}\n\n#[test]\n#[ignore = \"some day\"]\nfn b() {}\n",
                Some("a.rs"),
            ),
        ] {
            let mut marks = Marks::new();
            collect("a.rs", text, &mut marks);
            let case = Case {
                test: "TestA".to_owned(),
                name: "one".to_owned(),
                reason: None,
            };
            assert_eq!(find(&case, &marks), expected, "{text}");
        }
    }
}
