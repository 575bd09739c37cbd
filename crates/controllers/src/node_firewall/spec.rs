//! The Services that are reachable from outside the cluster.

use crate::service::{
    hosts::HostSet,
    spec::{self, predicates},
};
use cloud::{BadRanges, Exposed, Exposure, RangesFrom};
use k8s_openapi::api::core::v1::Service;
use runtime::informer::{Change, Store};
use std::sync::Arc;

/// The Services that the firewall is open for. The ports of an invalid Service stay closed; source ranges of the annotation are the
/// provider's to check.
pub(super) fn exposed(services: &Store<Service>, cluster: &str) -> Vec<Exposed> {
    let expose = |service: Arc<Service>| {
        let exposure = exposure(&service)?;
        let spec = spec::of(&service, &HostSet::of(&[], |_| true), cluster, BadRanges::Report).ok()?;
        let is_valid = spec.bad_ranges.is_empty() || spec.ranges_from == RangesFrom::Annotation;
        is_valid.then_some(Exposed { exposure, spec })
    };
    services.list().into_iter().filter_map(expose).collect()
}

/// Whether a change can change the firewall.
pub(super) fn affects_firewall(change: &Change<Service>) -> bool {
    match change {
        Change::Added(service) | Change::Deleted(service) => exposure(service).is_some(),
        Change::Updated { old, new } => {
            let differs = old.spec != new.spec || old.metadata.annotations != new.metadata.annotations;
            exposure(old) != exposure(new) || (exposure(new).is_some() && differs)
        }
    }
}

fn exposure(service: &Service) -> Option<Exposure> {
    let kind = service.spec.as_ref().and_then(|spec| spec.type_.as_deref());
    match kind {
        _ if predicates::is_deleted(service) => None,
        Some("NodePort") => Some(Exposure::NodePort),
        Some("LoadBalancer") => Some(Exposure::LoadBalancer),
        _ => None,
    }
}
