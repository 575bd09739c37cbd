//! What our provider reads in the cloud: the instance of each Node, and the load balancer of each Service. Nothing may change.

use super::{Finding, nodes::provider_id, services};
use crate::{
    Cluster,
    snapshot::{Adoption, CloudView, Match},
    table,
};
use k8s_openapi::api::core::v1::{Node, Service};

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let Some(view) = &cluster.snapshot.cloud else {
        return Vec::new();
    };
    let mut findings: Vec<Finding> = cluster
        .snapshot
        .nodes
        .iter()
        .filter_map(|node| of_node(view, node))
        .collect();
    if findings.is_empty() && !cluster.snapshot.nodes.is_empty() {
        let nodes = table::count(cluster.snapshot.nodes.len(), "node");
        findings.push(Finding::ok(
            "Nodes",
            format!("{nodes}, each with an instance; nothing would be written to them"),
        ));
    }
    findings.extend(name(cluster, view));
    let services = cluster
        .snapshot
        .services
        .iter()
        .filter(|service| services::is_balanced(service));
    findings.extend(services.filter_map(|service| of_service(view, service)));
    findings
}

fn of_node(view: &CloudView, node: &Node) -> Option<Finding> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let object = format!("Node {name}");
    match view.nodes.get(name)? {
        Match::Found { provider_id: Some(found), .. } if provider_id(node).is_some_and(|id| id != found) => Some(
            Finding::blocker(object, format!("its provider ID is {}, and that of its instance {found}", provider_id(node).unwrap_or_default()))
                .remedy("a provider ID cannot be changed: delete the Node, so that its kubelet creates it again, after the migration"),
        ),
        Match::Found { changes, .. } if changes.is_empty() => None,
        Match::Found { changes, .. } => Some(
            Finding::warning(object, format!("the manager would write: {changes}"))
                .remedy("compare it with what depends on these addresses and labels"),
        ),
        Match::Missing => Some(
            Finding::blocker(object, "the cloud has no instance for it: the manager would delete the Node when its kubelet does not report")
                .remedy("check the project and region of the cloud configuration, and the name of the instance"),
        ),
        Match::Unknown(reason) => Some(Finding::blocker(object, format!("its instance is not known: {reason}"))),
    }
}

fn name(cluster: &Cluster<'_>, view: &CloudView) -> Option<Finding> {
    let (seen, name) = (view.cluster_name.as_str(), cluster.name());
    (seen != name).then(|| {
        Finding::blocker(
            "the cluster",
            format!("the cloud was read for a cluster named {seen}, and this one is {name}"),
        )
        .remedy(format!("--cluster-name={name}"))
    })
}

fn of_service(view: &CloudView, service: &Service) -> Option<Finding> {
    let key = services::key(service);
    let object = format!("Service {key}");
    let current = services::addresses(service);
    Some(match view.services.get(&key)? {
        Adoption::Found { name, addresses }
            if current
                .iter()
                .all(|address| addresses.iter().any(|other| other == address)) =>
        {
            Finding::ok(object, format!("keeps load balancer {name}, {}", addresses.join(", ")))
        }
        Adoption::Found { name, addresses } => Finding::blocker(
            object,
            format!(
                "its address is {}, and load balancer {name} has {}",
                current.join(", "),
                addresses.join(", ")
            ),
        )
        .remedy("find the load balancer of the address: the manager would change the address of the Service"),
        Adoption::Missing { name } if current.is_empty() => Finding::ok(
            object,
            format!("has no load balancer yet; the manager would create {name}"),
        ),
        Adoption::Missing { name } => Finding::blocker(
            object,
            format!(
                "it has {}, and no load balancer named {name} exists: the manager would create a second one",
                current.join(", ")
            ),
        )
        .remedy("check --cluster-name, and the project and region of the cloud configuration"),
        Adoption::Unknown(reason) => Finding::blocker(object, format!("its load balancer is not known: {reason}")),
    })
}
