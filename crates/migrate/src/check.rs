//! Whether a cluster can move to a cloud controller manager: findings about everything that a migration depends on.

mod cloud;
mod components;
mod finding;
mod kubelets;
mod managers;
mod nodes;
mod openshift;
mod rights;
mod services;
mod unread;
mod versions;
mod volumes;
mod workloads;

pub use finding::{Finding, Level, Report};
pub(crate) use nodes::is_uninitialized;
pub(crate) use services::{addresses, is_balanced, key};

use crate::{Cluster, Snapshot};

/// Checks a cluster. The findings are in the order in which a migration depends on them.
#[must_use]
pub fn check(snapshot: &Snapshot) -> Report {
    let cluster = Cluster::of(snapshot);
    let groups = [
        versions::findings(&cluster),
        components::findings(&cluster),
        kubelets::findings(&cluster),
        managers::findings(&cluster),
        rights::findings(&cluster),
        openshift::findings(&cluster),
        nodes::findings(&cluster),
        services::findings(&cluster),
        cloud::findings(&cluster),
        volumes::findings(&cluster),
        workloads::findings(&cluster),
        unread::findings(&cluster),
    ];
    Report {
        findings: groups.into_iter().flatten().collect(),
    }
}
