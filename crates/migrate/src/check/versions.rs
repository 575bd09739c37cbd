//! The versions of the programs, by Kubernetes' version skew policy.

use super::Finding;
use crate::{
    Cluster,
    cluster::{Now, Program},
    table,
    version::Version,
};
use operator::observer::InTree;

/// The first minor version with what our manager needs: server-side apply, Leases, and the migration lock.
const OLDEST: u32 = 22;
/// From this minor version on, kubelets may be three minor versions older than the API server, instead of two.
const THREE_OLDER: u32 = 28;

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let Some(server) = &cluster.version else {
        let reason = cluster.snapshot.reason("version").unwrap_or("it was not read");
        return vec![Finding::blocker(
            "kube-apiserver",
            format!("its version is not known: {reason}"),
        )];
    };
    let mut findings = vec![of_server(server, cluster)];
    findings.extend(of_controller_managers(server, cluster));
    findings.extend(of_kubelets(server, cluster));
    findings
}

fn of_server(server: &Version, cluster: &Cluster<'_>) -> Finding {
    if server.minor < OLDEST {
        return Finding::blocker(
            "kube-apiserver",
            format!("version {server} is too old for Outrigger's manager"),
        )
        .remedy(format!("upgrade the control plane to 1.{OLDEST} or later"));
    }
    match (cluster.now(), cluster.in_tree()) {
        (Now::InTree(_), Some(InTree { name, gone, .. })) if server.minor >= gone => Finding::blocker(
            "kube-apiserver",
            format!(
                "version {server}, and the in-tree provider {name} exists only up to 1.{}",
                gone - 1
            ),
        )
        .remedy("components of this version ignore or refuse it: continue with `outrigger migrate plan`"),
        (Now::InTree(_), Some(InTree { name, gone, .. })) => Finding::ok(
            "kube-apiserver",
            format!(
                "version {server}; the in-tree provider {name} exists up to 1.{}",
                gone - 1
            ),
        ),
        _ => Finding::ok("kube-apiserver", format!("version {server}")),
    }
}

fn of_controller_managers<'a>(server: &'a Version, cluster: &'a Cluster<'_>) -> impl Iterator<Item = Finding> + 'a {
    let replicas = cluster.replicas(Program::KubeControllerManager);
    let known = replicas.filter_map(|replica| Some((replica, replica.version.as_ref()?)));
    known.map(
        move |(replica, version)| match server.minor.checked_sub(version.minor) {
            None => Finding::blocker(
                replica,
                format!("version {version} is newer than the API server, {server}"),
            )
            .remedy("upgrade the API servers first"),
            Some(0 | 1) => Finding::ok(replica, format!("version {version}")),
            Some(_) => Finding::blocker(
                replica,
                format!("version {version} is more than one minor version older than the API server, {server}"),
            )
            .remedy("upgrade it to the version of the API server"),
        },
    )
}

fn of_kubelets(server: &Version, cluster: &Cluster<'_>) -> Vec<Finding> {
    let allowed = if server.minor >= THREE_OLDER { 3 } else { 2 };
    let select = |is_bad: &dyn Fn(&Version) -> bool| {
        let kubelets = cluster
            .kubelets
            .iter()
            .filter(|kubelet| kubelet.version.as_ref().is_some_and(is_bad));
        kubelets.map(|kubelet| kubelet.node.as_str()).collect::<Vec<_>>()
    };
    let newer = select(&|version| version.minor > server.minor);
    let older = select(&|version| version.minor + allowed < server.minor);
    let mut findings = Vec::new();
    if !newer.is_empty() {
        let nodes = table::names(newer.iter().copied());
        findings.push(
            Finding::blocker("kubelet", format!("newer than the API server, {server}, on {nodes}"))
                .remedy("upgrade the control plane first"),
        );
    }
    if !older.is_empty() {
        let nodes = table::names(older.iter().copied());
        findings.push(
            Finding::blocker(
                "kubelet",
                format!("more than {allowed} minor versions older than the API server, {server}, on {nodes}"),
            )
            .remedy("upgrade these kubelets"),
        );
    }
    if findings.is_empty() && !cluster.kubelets.is_empty() {
        let nodes = table::count(cluster.kubelets.len(), "kubelet");
        findings.push(Finding::ok(
            "kubelet",
            format!("{nodes} within the version skew of the API server"),
        ));
    }
    findings
}
