//! The names of all calls in `src/api`, in metrics and in the simulation.

use regex_lite::Regex;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// `Call::get(Service::Network, "port_get", …)`, `Request::get("version_list", …)`, or Octavia's `create: "loadbalancer_create"` and
/// `const GET: &'static str = "loadbalancer_get"`.
const CALL: &str = r#"(?:\b(?:get|post|put|delete)\(\s*(?:Service::\w+,\s*)?|\b(?:list|create|update|delete): |\bGET: &'static str = )"(\w+)""#;

/// The names of all calls.
pub fn all() -> BTreeSet<String> {
    let found = named(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/api"));
    assert!(found.len() > 50, "only {found:?} were found");
    found
}

fn named(folder: &Path) -> BTreeSet<String> {
    let call = Regex::new(CALL).expect("a pattern");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(named(&path));
        } else {
            let source = fs::read_to_string(&path).expect("a source");
            found.extend(call.captures_iter(&source).map(|found| found[1].to_owned()));
        }
    }
    found
}
