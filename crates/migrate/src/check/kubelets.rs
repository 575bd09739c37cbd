//! The flags and feature gates of kubelets.

use super::{Finding, components::on};
use crate::{
    Cluster,
    cluster::{EXTERNAL, Kubelet, Now},
    table,
};
use std::collections::BTreeMap;

/// The clouds whose kubelets pull images with the credentials of their instance: after the migration a plugin does.
const PULLS_IMAGES: [&str; 3] = ["aws", "azure", "gce"];
const PULL_GATE: &str = "DisableKubeletCloudCredentialProviders";
const CLOUD_GATE: &str = "DisableCloudProviders";

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    if cluster.kubelets.is_empty() {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = by_provider(cluster);
    findings.extend(unreadable(cluster));
    findings.extend(contradictions(cluster));
    findings.extend(image_credentials(cluster));
    findings
}

fn by_provider(cluster: &Cluster<'_>) -> Vec<Finding> {
    let mut groups: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    for kubelet in &cluster.kubelets {
        if let Some(flags) = &kubelet.flags {
            groups
                .entry(flags.get("cloud-provider"))
                .or_default()
                .push(&kubelet.node);
        }
    }
    let is_in_tree = matches!(cluster.now(), Now::InTree(_));
    let findings = groups.into_iter().map(|(provider, nodes)| {
        let on = on(nodes.iter().copied());
        match provider {
            Some(EXTERNAL) if is_in_tree => Finding::blocker(
                "kubelet",
                format!("--cloud-provider=external {on}, and kube-controller-manager runs the cloud's controllers"),
            )
            .remedy("new nodes there wait for a manager that does not run: set the in-tree provider until kube-controller-manager has changed"),
            Some(name) => Finding::ok("kubelet", format!("--cloud-provider={name} {on}")),
            None => Finding::warning("kubelet", format!("no --cloud-provider {on}"))
                .remedy("new nodes there do not wait until they are initialized: `outrigger migrate plan` sets it"),
        }
    });
    findings.collect()
}

fn unreadable(cluster: &Cluster<'_>) -> Option<Finding> {
    let unknown: Vec<&str> = nodes(cluster, |kubelet| kubelet.flags.is_none());
    (!unknown.is_empty()).then(|| {
        Finding::blocker("kubelet", format!("its flags, which the API does not have, are not known {}", on(unknown)))
            .remedy("give them: --flags=kubelet=FILE for all, --flags=kubelet@NODE=FILE for one; with kubeadm it is /var/lib/kubelet/kubeadm-flags.env")
    })
}

fn contradictions(cluster: &Cluster<'_>) -> Option<Finding> {
    let is_in_tree = |kubelet: &Kubelet| kubelet.flags.as_ref().and_then(crate::cluster::in_tree).is_some();
    let bad = nodes(cluster, |kubelet| {
        is_in_tree(kubelet) && kubelet.gate(CLOUD_GATE) == Some(true)
    });
    (!bad.is_empty()).then(|| {
        Finding::blocker(
            "kubelet",
            format!(
                "{CLOUD_GATE} is on, and --cloud-provider is an in-tree provider, {}",
                on(bad)
            ),
        )
        .remedy("remove the feature gate until the migration is complete")
    })
}

/// With the gate on, or without an in-tree provider, kubelet pulls private images only with a plugin.
fn image_credentials(cluster: &Cluster<'_>) -> Option<Finding> {
    let cloud = cluster.in_tree().map(|in_tree| in_tree.name)?;
    if !PULLS_IMAGES.contains(&cloud) {
        return None;
    }
    let has_plugin = |kubelet: &Kubelet| {
        let flags = kubelet.flags.as_ref();
        flags.is_none_or(|flags| flags.get("image-credential-provider-config").is_some())
    };
    let without = nodes(cluster, |kubelet| !has_plugin(kubelet));
    let with = cluster.kubelets.len() - without.len();
    Some(if without.is_empty() {
        Finding::ok(
            "kubelet",
            format!("{} with an image credential provider", table::count(with, "kubelet")),
        )
    } else {
        Finding::warning(
            "kubelet",
            format!("no --image-credential-provider-config {}: without the in-tree provider, or with {PULL_GATE}, it cannot pull from the registry of the cloud", on(without)),
        )
        .remedy("if Pods pull from it, install a plugin, and set --image-credential-provider-config and --image-credential-provider-bin-dir")
    })
}

fn nodes<'a>(cluster: &'a Cluster<'_>, select: impl Fn(&Kubelet) -> bool) -> Vec<&'a str> {
    let selected = cluster.kubelets.iter().filter(|kubelet| select(kubelet));
    selected.map(|kubelet| kubelet.node.as_str()).collect()
}
