//! The steps of a migration: what to change on which node, in which order, what to look at after each step, and how to go back.

mod change;
pub mod openshift;
mod plain;
mod step;
mod swap;

pub use change::Change;
pub use step::{File, Plan, State, Step};

use crate::{
    Cluster, Snapshot,
    cluster::{Distribution, Now, Origin, Program},
};

/// Where the cloud code shall run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// In a cloud controller manager.
    External,
    /// In kube-controller-manager, kube-apiserver and kubelet.
    InTree,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The steps depend on flags that are not known.
    #[error("the flags of {} are not known: give them with --flags; `outrigger migrate check` names the files", .0.join(", "))]
    Unknown(Vec<String>),
    /// The version of the API server is not known.
    #[error("the version of the API server is not known: {0}")]
    NoVersion(String),
    /// There is no in-tree provider to go back to.
    #[error("this cluster cannot use an in-tree provider: {0}")]
    NoInTree(String),
    /// The platform of `OpenShift` is not known.
    #[error("status.platformStatus of Infrastructure cluster is not set: wait until the installation is complete")]
    NoPlatform,
}

/// Plans a migration. Steps whose changes are made already are part of the plan, and marked.
///
/// # Errors
/// If a step would have to be guessed, or there is no in-tree provider to go back to.
pub fn plan(snapshot: &Snapshot, to: To) -> Result<Plan, Refused> {
    let cluster = Cluster::of(snapshot);
    let Some(version) = &cluster.version else {
        let reason = snapshot.reason("version").unwrap_or("it was not read");
        return Err(Refused::NoVersion(reason.to_owned()));
    };
    let unknown = unknown(&cluster);
    if !unknown.is_empty() {
        return Err(Refused::Unknown(unknown));
    }
    let of_others = cluster.managers.iter().any(|manager| manager.origin == Origin::Other);
    match (cluster.distribution, to) {
        (Distribution::OpenShift, _) => openshift::plan(&cluster, to),
        (_, To::External) if of_others && cluster.now() == Now::External => Ok(swap::plan(&cluster)),
        _ => plain::plan(&cluster, version, to),
    }
}

/// The programs whose flags are not known.
fn unknown(cluster: &Cluster<'_>) -> Vec<String> {
    let missing = Program::ALL
        .into_iter()
        .filter(|program| cluster.replicas(*program).next().is_none());
    let unread = cluster.components.iter().filter(|component| component.flags.is_none());
    let kubelets = cluster.kubelets.iter().filter(|kubelet| kubelet.flags.is_none());
    let missing = missing.map(|program| program.to_string());
    let unread = unread.map(ToString::to_string);
    let kubelets = kubelets.map(|kubelet| format!("kubelet on {}", kubelet.node));
    missing.chain(unread).chain(kubelets).collect()
}
