//! What is printed for six clusters. A change of these files is a change of what users read, and is visible in a review.

#![expect(clippy::unwrap_used, reason = "all of this crate is a test")]

use migrate::{
    Snapshot, check,
    plan::{self, To},
};
use rstest::rstest;
use std::{fs, path::PathBuf};

const REGENERATE: &str = "OUTRIGGER_REGENERATE_GOLDEN";

fn folder(cluster: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/clusters", cluster].iter().collect()
}

/// Compares with the file, or writes it if requested.
fn compare(cluster: &str, name: &str, text: &str) {
    let path = folder(cluster).join(name);
    if std::env::var_os(REGENERATE).is_some() {
        fs::write(&path, text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written,
        text,
        "{} is different; if that is meant, run the test again with {REGENERATE}=1 and read the diff",
        path.display()
    );
}

fn plan(snapshot: &Snapshot, to: To) -> String {
    match plan::plan(snapshot, to) {
        Ok(plan) => plan.to_string(),
        Err(refused) => format!("Error: {refused}\n"),
    }
}

#[rstest]
fn prints(
    #[values(
        "kubeadm-in-tree",
        "kubeadm-occm",
        "kubeadm-outrigger",
        "openshift-in-tree",
        "openshift-external",
        "broken"
    )]
    cluster: &str,
) {
    let text = fs::read_to_string(folder(cluster).join("cluster.yaml")).unwrap();
    let snapshot = Snapshot::parse(&text).unwrap();
    let report = check(&snapshot);
    compare(cluster, "check.txt", &report.to_string());
    let json = serde_json::to_string_pretty(&report).unwrap();
    compare(cluster, "check.json", &format!("{json}\n"));
    compare(cluster, "plan.txt", &plan(&snapshot, To::External));
    compare(cluster, "plan-in-tree.txt", &plan(&snapshot, To::InTree));
}
