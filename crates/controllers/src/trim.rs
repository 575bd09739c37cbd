//! What informers keep of Nodes and Services.

use crate::nodes::conditions::{CLOUD_PROVIDER_INITIALIZED, NETWORK_UNAVAILABLE};
use k8s_openapi::{
    api::core::v1::{Node, NodeSpec, NodeStatus, NodeSystemInfo, Service},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

/// `kubectl apply` stores the whole object here; in most objects this is the largest annotation.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The conditions that a controller reads.
const CONDITIONS: [&str; 3] = ["Ready", NETWORK_UNAVAILABLE, CLOUD_PROVIDER_INITIALIZED];

/// Drops what no controller reads of a Service.
pub fn service(service: &mut Service) {
    metadata(&mut service.metadata);
}

/// Drops what no controller reads of a Node: a Node of 10 KiB becomes one of 1 KiB.
pub fn node(node: &mut Node) {
    metadata(&mut node.metadata);
    node.metadata.owner_references = None;
    node.metadata.finalizers = None;
    node.metadata.self_link = None;
    node.metadata.generate_name = None;
    if let Some(spec) = node.spec.take() {
        let NodeSpec {
            pod_cidr,
            pod_cidrs,
            provider_id,
            mut taints,
            unschedulable,
            config_source: _,
            external_id: _,
        } = spec;
        // The parser allocates room for four elements.
        taints.iter_mut().for_each(Vec::shrink_to_fit);
        node.spec = Some(NodeSpec {
            pod_cidr,
            pod_cidrs,
            provider_id,
            taints,
            unschedulable,
            ..NodeSpec::default()
        });
    }
    if let Some(status) = node.status.take() {
        node.status = Some(node_status(status));
    }
}

fn metadata(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    metadata.annotations.take_if(|annotations| annotations.is_empty());
}

fn node_status(status: NodeStatus) -> NodeStatus {
    let NodeStatus {
        mut addresses,
        mut conditions,
        node_info,
        ..
    } = status;
    addresses.iter_mut().for_each(Vec::shrink_to_fit);
    if let Some(conditions) = &mut conditions {
        conditions.retain(|condition| CONDITIONS.contains(&condition.type_.as_str()));
        conditions.shrink_to_fit();
        for condition in conditions {
            condition.last_heartbeat_time = None;
            condition
                .message
                .take_if(|_| condition.type_ != CLOUD_PROVIDER_INITIALIZED);
        }
    }
    let node_info = node_info.map(|info| NodeSystemInfo {
        system_uuid: info.system_uuid,
        ..NodeSystemInfo::default()
    });
    NodeStatus {
        addresses,
        conditions,
        node_info,
        ..NodeStatus::default()
    }
}
