//! Nodes from words, including those about load balancers.

use crate::service::hosts::{EXCLUDE, TO_BE_DELETED};
use k8s_openapi::api::core::v1::Node;

/// As [`testkit::node::node`], and also `exclude=V`, `doomed` (about to be deleted by the autoscaler), `other:S` (an unrelated
/// condition) and `phase:P`.
pub fn node(name: &str, words: &str) -> Node {
    let (mut known, mut others, mut phase) = (Vec::new(), Vec::new(), None);
    for word in words.split_whitespace() {
        match (word.split_once('='), word.split_once(':')) {
            (Some(("exclude", value)), _) => known.push(format!("{EXCLUDE}={value}")),
            (None, Some(("other", status))) => others.push(testkit::node::condition("Other", status)),
            (None, Some(("phase", text))) => phase = Some(text.to_owned()),
            _ if word == "doomed" => known.push(format!("taint:{TO_BE_DELETED}")),
            _ => known.push(word.to_owned()),
        }
    }
    let mut node = testkit::node::node(name, &known.join(" "));
    let status = node.status.get_or_insert_default();
    status.conditions.get_or_insert_default().extend(others);
    status.phase = phase;
    node
}
