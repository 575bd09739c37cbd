//! The Services with a load balancer.

use super::Finding;
use crate::{Cluster, table};
use k8s_openapi::api::core::v1::Service;

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let balanced: Vec<&Service> = cluster
        .snapshot
        .services
        .iter()
        .filter(|service| is_balanced(service))
        .collect();
    let (waiting, served): (Vec<&Service>, Vec<&Service>) =
        balanced.iter().partition(|service| addresses(service).is_empty());
    let mut findings = Vec::new();
    if !waiting.is_empty() {
        let names: Vec<String> = waiting.iter().map(|service| key(service)).collect();
        findings.push(
            Finding::warning(
                "Services",
                format!(
                    "no load balancer yet: {}",
                    table::names(names.iter().map(String::as_str))
                ),
            )
            .remedy("wait until they have one: the manager that runs then creates it"),
        );
    }
    if !served.is_empty() && cluster.snapshot.cloud.is_none() {
        findings.push(
            Finding::warning(
                "Services",
                format!(
                    "{} with a load balancer; whether the manager finds them is not known",
                    table::count(served.len(), "Service")
                ),
            )
            .remedy("give the configuration of the cloud: --cloud-provider=NAME --cloud-config=FILE"),
        );
    }
    findings
}

/// Whether a cloud controller manager creates a load balancer for it.
pub(crate) fn is_balanced(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.is_some_and(|spec| spec.type_.as_deref() == Some("LoadBalancer") && spec.load_balancer_class.is_none())
}

/// The addresses in its status.
pub(crate) fn addresses(service: &Service) -> Vec<&str> {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let ingress = status.and_then(|status| status.ingress.as_ref()).into_iter().flatten();
    ingress
        .filter_map(|ingress| ingress.ip.as_deref().or(ingress.hostname.as_deref()))
        .collect()
}

/// `namespace/name`
pub(crate) fn key(service: &Service) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", part(&service.metadata.namespace), part(&service.metadata.name))
}
