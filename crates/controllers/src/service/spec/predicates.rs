//! Properties of a Service that decide what the controller does.

use crate::service::options::{Classes, Classless};
use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};

/// Keeps a Service until its load balancer is deleted. The Go cloud controller managers use the same.
pub const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// Whether the type of the Service is `LoadBalancer`, whichever manager serves it.
#[must_use]
pub fn is_load_balancer(service: &Service) -> bool {
    is_type(service, "LoadBalancer")
}

/// Whether the Service asks this manager for a load balancer.
#[must_use]
pub fn wants(service: &Service, classes: &Classes) -> bool {
    is_load_balancer(service) && classes.serve(class(service))
}

/// Whether there may be a load balancer of this manager that the Service does not ask for any more.
///
/// Another manager cleans up for a Service of another class, although it has the same finalizer. A Service that is not of type
/// `LoadBalancer` any more has no class, so every manager looks for its load balancer.
#[must_use]
pub fn needs_cleanup(service: &Service, classes: &Classes) -> bool {
    has_finalizer(service)
        && if is_load_balancer(service) {
            is_deleted(service) && classes.serve(class(service))
        } else {
            classes.classless == Classless::Served || !classes.named.is_empty()
        }
}

/// Whether the load balancer has to be reconciled because the Service changed.
#[must_use]
pub fn needs_update(old: &Service, new: &Service, classes: &Classes) -> bool {
    match (wants(old, classes), wants(new, classes)) {
        (false, false) => false,
        (true, true) => old.metadata.uid != new.metadata.uid || requests(old) != requests(new),
        (true, false) | (false, true) => true,
    }
}

/// Whether something besides the status changed, which the controller itself writes while a load balancer is deleted.
#[must_use]
pub fn is_changed(old: &Service, new: &Service) -> bool {
    fn parts(service: &Service) -> impl PartialEq + '_ {
        let meta = &service.metadata;
        (
            &service.spec,
            &meta.annotations,
            &meta.finalizers,
            &meta.deletion_timestamp,
            &meta.uid,
        )
    }
    parts(old) != parts(new)
}

/// Whether traffic goes only to pods on the Node that received it.
#[must_use]
pub fn requests_only_local_traffic(service: &Service) -> bool {
    let local = service
        .spec
        .as_ref()
        .and_then(|spec| spec.external_traffic_policy.as_deref())
        == Some("Local");
    local && (is_type(service, "LoadBalancer") || is_type(service, "NodePort"))
}

/// Whether the load balancer has to check which Nodes have pods of the Service.
#[must_use]
pub fn needs_health_check(service: &Service) -> bool {
    is_type(service, "LoadBalancer") && requests_only_local_traffic(service)
}

/// Whether the Service has the finalizer.
#[must_use]
pub fn has_finalizer(service: &Service) -> bool {
    service
        .metadata
        .finalizers
        .iter()
        .flatten()
        .any(|finalizer| finalizer == FINALIZER)
}

/// Whether the Service has an address of a load balancer.
#[must_use]
pub fn has_ingress(service: &Service) -> bool {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    status.is_some_and(|status| status.ingress.as_ref().is_some_and(|ingress| !ingress.is_empty()))
}

/// Whether the Service is being deleted.
#[must_use]
pub fn is_deleted(service: &Service) -> bool {
    service.metadata.deletion_timestamp.is_some()
}

/// `spec.loadBalancerClass`.
#[must_use]
pub fn class(service: &Service) -> Option<&str> {
    service.spec.as_ref()?.load_balancer_class.as_deref()
}

fn is_type(service: &Service, kind: &str) -> bool {
    service.spec.as_ref().and_then(|spec| spec.type_.as_deref()) == Some(kind)
}

/// Everything that a load balancer depends on, except the hosts.
fn requests(service: &Service) -> impl PartialEq + '_ {
    let spec = service.spec.as_ref();
    (
        (
            list(spec, |spec| spec.load_balancer_source_ranges.as_deref()),
            list(spec, |spec| spec.ports.as_deref())
                .iter()
                .map(port)
                .collect::<Vec<_>>(),
            list(spec, |spec| spec.external_ips.as_deref()),
            list(spec, |spec| spec.ip_families.as_deref()).len(),
        ),
        spec.map(|spec| {
            (
                &spec.session_affinity,
                &spec.session_affinity_config,
                &spec.load_balancer_ip,
            )
        }),
        spec.map(|spec| (&spec.external_traffic_policy, spec.health_check_node_port.unwrap_or(0))),
        service.metadata.annotations.iter().flatten().collect::<Vec<_>>(),
    )
}

fn list<'a, T>(spec: Option<&'a ServiceSpec>, field: impl Fn(&'a ServiceSpec) -> Option<&'a [T]>) -> &'a [T] {
    spec.and_then(field).unwrap_or_default()
}

fn port(port: &ServicePort) -> impl PartialEq + '_ {
    let ServicePort {
        app_protocol,
        name,
        node_port,
        port,
        protocol,
        target_port,
    } = port;
    (app_protocol, name, node_port.unwrap_or(0), port, protocol, target_port)
}

#[cfg(test)]
mod tests;
