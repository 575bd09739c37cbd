//! What could not be read. The rest is reported all the same.

use super::Finding;
use crate::Cluster;

/// Without these nothing can be said about the migration.
const NEEDED: [&str; 2] = ["nodes", "services"];

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    // The version has a finding of its own.
    let unread = cluster.snapshot.unread.iter().filter(|unread| unread.what != "version");
    let findings = unread.map(|unread| {
        let message = format!("could not be read: {}", unread.reason);
        if NEEDED.contains(&unread.what.as_str()) {
            Finding::blocker(&unread.what, message)
        } else {
            Finding::warning(&unread.what, message)
        }
    });
    findings.collect()
}
