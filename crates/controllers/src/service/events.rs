//! The events on Services; reasons and messages are those of the Go cloud controller managers.

use super::hosts::HostSet;
use cloud::{Event, EventKind};
use k8s_openapi::{
    api::core::v1::{ObjectReference, Service},
    jiff::Timestamp,
};
use kube::{Resource, ResourceExt};
use runtime::events::{Kind, Recorder};

/// The most names of hosts in one event.
const NAMES: usize = 20;

/// Emits events on Services. Clones share the recorder.
#[derive(Debug, Clone)]
pub(super) struct ServiceEvents {
    own: Recorder,
    cloud: Recorder,
}

impl ServiceEvents {
    /// Events of the controller, and those of the cloud with `source` as their component.
    pub(super) fn new(own: Recorder, source: &'static str) -> Self {
        let cloud = own.renamed(source);
        Self { own, cloud }
    }

    /// An event of the cloud.
    pub(super) fn of_cloud(&self, service: &Service, event: &Event) {
        let Event { kind, reason, message } = event;
        let kind = match kind {
            EventKind::Normal => Kind::Normal,
            EventKind::Warning => Kind::Warning,
        };
        self.cloud.event(reference(service), kind, reason, message);
    }

    pub(super) fn ensuring(&self, service: &Service) {
        self.normal(service, "EnsuringLoadBalancer", "Ensuring load balancer");
    }

    /// The message is the same as long as the cloud reports the same: repeated events are counted, not stored.
    pub(super) fn waiting(&self, service: &Service, since: Timestamp, waiting_for: &str) {
        let message = format!("Waiting since {since:.0}: {waiting_for}");
        self.normal(service, "WaitingForLoadBalancer", message);
    }

    pub(super) fn ensured(&self, service: &Service) {
        self.normal(service, "EnsuredLoadBalancer", "Ensured load balancer");
    }

    pub(super) fn updated(&self, service: &Service) {
        self.normal(service, "UpdatedLoadBalancer", "Updated load balancer with new hosts");
    }

    pub(super) fn deleting(&self, service: &Service) {
        self.normal(service, "DeletingLoadBalancer", "Deleting load balancer");
    }

    pub(super) fn deleted(&self, service: &Service) {
        self.normal(service, "DeletedLoadBalancer", "Deleted load balancer");
    }

    pub(super) fn no_hosts(&self, service: &Service) {
        self.warn(
            service,
            "UnAvailableLoadBalancer",
            "There are no available nodes for LoadBalancer".into(),
        );
    }

    pub(super) fn sync_failed(&self, service: &Service, report: &str) {
        self.warn(
            service,
            "SyncLoadBalancerFailed",
            format!("Error syncing load balancer: {report}"),
        );
    }

    pub(super) fn delete_failed(&self, service: &Service, report: &str) {
        self.warn(
            service,
            "DeleteLoadBalancerFailed",
            format!("Error deleting load balancer: {report}"),
        );
    }

    pub(super) fn update_failed(&self, service: &Service, hosts: &HostSet, report: &str) {
        let (names, total) = (names(hosts), hosts.hosts().len());
        let message = format!(
            "Error updating load balancer with new hosts [{names}] [node names limited, total number of nodes: {total}], error: {report}"
        );
        self.warn(service, "UpdateLoadBalancerFailed", message);
    }

    pub(super) fn orphan(&self, service: &Service, what: &str) {
        self.warn(
            service,
            "OrphanedLoadBalancer",
            format!("The Service does not exist, but the cloud still has {what}"),
        );
    }

    fn normal(&self, service: &Service, reason: &'static str, message: impl Into<String>) {
        self.own.event(reference(service), Kind::Normal, reason, message);
    }

    fn warn(&self, service: &Service, reason: &'static str, message: String) {
        self.own.event(reference(service), Kind::Warning, reason, message);
    }
}

fn reference(service: &Service) -> ObjectReference {
    ObjectReference {
        resource_version: service.resource_version(),
        ..service.object_ref(&())
    }
}

/// The names of the hosts, at most [`NAMES`].
fn names(hosts: &HostSet) -> String {
    let hosts = hosts.hosts();
    let mut names: Vec<_> = hosts.iter().take(NAMES).map(|host| host.name.clone()).collect();
    if hosts.len() > NAMES {
        names.push(format!("<{} more>", hosts.len() - NAMES));
    }
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Node;
    use rstest::rstest;

    #[rstest]
    #[case::none(0, "")]
    #[case::two(2, "n00 n01")]
    #[case::too_many(
        22,
        "n00 n01 n02 n03 n04 n05 n06 n07 n08 n09 n10 n11 n12 n13 n14 n15 n16 n17 n18 n19 <2 more>"
    )]
    fn names_are_limited(#[case] count: usize, #[case] expected: &str) {
        let mut nodes = vec![Node::default(); count];
        for (index, node) in nodes.iter_mut().enumerate() {
            node.metadata.name = Some(format!("n{index:02}"));
        }
        assert_eq!(names(&HostSet::of(&nodes, |_| true)), expected);
    }
}
