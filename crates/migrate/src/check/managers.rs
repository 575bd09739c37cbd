//! The cloud controller managers that run already.

use super::Finding;
use crate::{
    Cluster,
    cluster::{DEFAULT_NAME, Manager, Now, Origin},
};

const LEASE: &str = "cloud-controller-manager";

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = cluster
        .managers
        .iter()
        .map(|manager| of_manager(cluster, manager))
        .collect();
    findings.extend(several(cluster));
    findings.extend(without_a_pod(cluster));
    findings.extend(nowhere(cluster));
    findings.extend(cluster_name(cluster));
    findings
}

fn of_manager(cluster: &Cluster<'_>, manager: &Manager) -> Finding {
    let Manager { program, provider, .. } = manager;
    let cloud = provider.as_deref().unwrap_or("a cloud that its flags do not name");
    let migrates = manager.flags.switch("enable-leader-migration") == Some(true);
    match cluster.now() {
        Now::InTree(name) if !migrates => Finding::blocker(
            manager,
            format!("{program} for {cloud} runs, and kube-controller-manager with --cloud-provider={name} runs the same controllers"),
        )
        .remedy("scale it to 0, or start it with --enable-leader-migration"),
        Now::InTree(_) => Finding::ok(manager, format!("{program} for {cloud} waits for the migration lock")),
        _ => Finding::ok(manager, format!("{program} for {cloud}")),
    }
}

/// Managers with one lease are replicas of each other; with two they write the same objects.
fn several(cluster: &Cluster<'_>) -> Option<Finding> {
    let lease = |manager: &Manager| {
        let flag = |name: &str, default: &str| manager.flags.get(name).unwrap_or(default).to_owned();
        (
            flag("leader-elect-resource-namespace", "kube-system"),
            flag("leader-elect-resource-name", LEASE),
        )
    };
    let is_confined = |manager: &Manager| {
        let flags = ["node-selector", "provider-id-schemes", "load-balancer-class"];
        manager.origin == Origin::Ours && flags.iter().any(|flag| manager.flags.get(flag).is_some())
    };
    let free: Vec<&Manager> = cluster
        .managers
        .iter()
        .filter(|manager| !is_confined(manager))
        .collect();
    let (first, rest) = free.split_first()?;
    let other = rest.iter().find(|other| lease(other) != lease(first))?;
    Some(
        Finding::blocker(
            other,
            format!("it and {first} hold different leases: both write the same nodes and load balancers"),
        )
        .remedy("remove one of them, or confine ours to its own nodes and load balancer classes"),
    )
}

/// A process outside of the cluster, or in a namespace that could not be read.
fn without_a_pod(cluster: &Cluster<'_>) -> Option<Finding> {
    let spec = cluster.snapshot.lease(LEASE)?.spec.as_ref()?;
    let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())?;
    cluster.managers.is_empty().then(|| {
        Finding::warning(
            format!("Lease kube-system/{LEASE}"),
            format!("{holder} holds or held it, and no manager was found"),
        )
        .remedy("find the program before another manager is installed: it may run outside of the cluster")
    })
}

fn nowhere(cluster: &Cluster<'_>) -> Option<Finding> {
    (cluster.now() == Now::Nowhere).then(|| {
        Finding::blocker(
            "the cluster",
            "no program runs the cloud's controllers: nodes stay uninitialized, and Services get no load balancer",
        )
        .remedy("install a manager")
    })
}

fn cluster_name(cluster: &Cluster<'_>) -> Option<Finding> {
    let name = cluster.name();
    let named = cluster
        .managers
        .iter()
        .filter_map(|manager| Some((manager, manager.cluster_name.as_deref()?)));
    let mut others = named.filter(|(_, theirs)| *theirs != name);
    if let Some((other, theirs)) = others.next() {
        let finding = Finding::blocker(
            other,
            format!(
                "--cluster-name={theirs}, and kube-controller-manager has {name}: it would not find the load balancers"
            ),
        );
        return Some(finding.remedy(format!("set --cluster-name={name}")));
    }
    if matches!(cluster.now(), Now::Unknown | Now::Nowhere) {
        return None;
    }
    Some(if name == DEFAULT_NAME {
        Finding::warning("the cluster", format!("its name in the cloud is the default, {name}"))
            .remedy(format!("keep it, because load balancers are found by it: --cluster-name={name}; a second cluster of this name in the same project must not exist"))
    } else {
        Finding::ok("the cluster", format!("its name in the cloud is {name}"))
    })
}
