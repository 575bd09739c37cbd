//! The permissions of both controller managers for the migration lock.

use super::Finding;
use crate::{
    Cluster,
    cluster::{Distribution, Now},
};
use std::collections::BTreeMap;

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    // On OpenShift the operators hand over without a second lock; and one program alone needs none.
    if cluster.distribution == Distribution::OpenShift || !matches!(cluster.now(), Now::InTree(_)) {
        return Vec::new();
    }
    let mut users: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for access in &cluster.snapshot.access {
        let missing = users.entry((&access.user, &access.lease)).or_default();
        if !access.allowed {
            missing.push(&access.verb);
        }
    }
    let findings = users.into_iter().map(|((user, lease), missing)| {
        let object = format!("Lease kube-system/{lease}");
        if missing.is_empty() {
            Finding::ok(object, format!("{user} may use it"))
        } else {
            Finding::warning(object, format!("{user} may not {} it", missing.join(", ")))
                .remedy("the first step of `outrigger migrate plan` grants it")
        }
    });
    findings.collect()
}
