//! The IAM policy allows what the code calls, and nothing else.

use crate::permissions::{READ, WRITE, policy};
use regex_lite::Regex;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Calls that are not written in the files of endpoints, but need a permission: creating something with tags.
const WITH_TAGS: [&str; 1] = ["elasticloadbalancing:AddTags"];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

/// The actions in the files whose names start like this, as IAM names them.
fn called(start: &str, service: &str) -> BTreeSet<String> {
    let verbs = "Describe|Create|Delete|Modify|Authorize|Revoke|Register|Deregister|Set|Attach|Detach|Apply|Configure|Add|Remove";
    let action = Regex::new(&format!("\"((?:{verbs})[A-Z][A-Za-z]+)\"")).unwrap();
    let api = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api");
    let of_it = |path: &PathBuf| path.strip_prefix(&api).unwrap().to_str().unwrap().starts_with(start);
    let texts = files(&api)
        .into_iter()
        .filter(of_it)
        .map(|path| fs::read_to_string(path).unwrap());
    let texts: Vec<String> = texts.collect();
    let found = texts.iter().flat_map(|text| action.captures_iter(text));
    found.map(|found| format!("{service}:{}", &found[1])).collect()
}

#[test]
fn the_table_has_what_is_called() {
    let table: BTreeSet<String> = READ.iter().chain(WRITE).map(ToString::to_string).collect();
    let mut needed = called("ec2", "ec2");
    needed.extend(called("elb", "elasticloadbalancing"));
    needed.extend(WITH_TAGS.map(str::to_owned));
    assert!(needed.len() > 40, "{needed:?}");
    assert_eq!(table, needed);
    let is_read = |action: &&str| {
        action
            .split(':')
            .nth(1)
            .is_some_and(|name| name.starts_with("Describe"))
    };
    assert!(READ.iter().all(&is_read) && !WRITE.iter().any(is_read));
}

#[test]
fn the_first_load_balancer_of_an_account_needs_a_role() {
    let policy: Value = serde_json::from_str(&policy()).unwrap();
    let last = policy["Statement"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["Action"][0], "iam:CreateServiceLinkedRole");
    let service = &last["Condition"]["StringEquals"]["iam:AWSServiceName"];
    assert_eq!(service, "elasticloadbalancing.amazonaws.com");
}
