//! What the how-to shows is what is printed for the clusters of the golden files.

use std::{collections::BTreeSet, fs};

const PAGE: &str = include_str!("../../../docs/migration.md");

/// The clusters of the page, each with the file that has the output of this command.
const OUTPUTS: [(&str, &str); 4] = [
    ("check --flags", "kubeadm-in-tree/check.txt"),
    ("plan --flags", "kubeadm-in-tree/plan.txt"),
    ("plan --to=in-tree", "kubeadm-outrigger/plan-in-tree.txt"),
    ("plan\n", "openshift-in-tree/plan.txt"),
];

/// The commands of the page, each with its output.
fn commands() -> Vec<(String, Vec<&'static str>)> {
    let blocks = PAGE.split("```console\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let command = |block: &'static str| {
        let mut lines = block.lines();
        let command = lines.next()?.strip_prefix("$ outrigger migrate ")?;
        Some((
            format!("{command}\n"),
            lines.filter(|line| !line.starts_with('$')).collect(),
        ))
    };
    blocks.filter_map(command).collect()
}

#[test]
fn shows_what_is_printed() {
    let mut compared = BTreeSet::new();
    for (command, lines) in commands() {
        let Some((_, file)) = OUTPUTS.iter().find(|(begin, _)| command.starts_with(begin)) else {
            assert!(lines.is_empty(), "{command} has output, and no file to compare it with");
            continue;
        };
        let path = format!("{}/tests/clusters/{file}", env!("CARGO_MANIFEST_DIR"));
        let printed = fs::read_to_string(path).unwrap();
        for line in &lines {
            assert!(
                printed.lines().any(|other| other == *line),
                "{line:?} is not printed by {command}"
            );
        }
        compared.insert(*file);
    }
    assert_eq!(compared.len(), OUTPUTS.len(), "only {compared:?}");
}
