//! What is kept of a Node in memory.

use super::conditions::{CLOUD_PROVIDER_INITIALIZED, NETWORK_UNAVAILABLE};
use crate::kubectl;
use k8s_openapi::{
    api::core::v1::{Node, NodeSpec, NodeStatus, NodeSystemInfo},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

const CONDITIONS: [&str; 3] = ["Ready", NETWORK_UNAVAILABLE, CLOUD_PROVIDER_INITIALIZED];

/// Drops what no controller reads: a Node of 10 KiB becomes one of 1 KiB.
pub fn trim(node: &mut Node) {
    trim_metadata(&mut node.metadata);
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
        // A list that was read has room for four.
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
        node.status = Some(trimmed_status(status));
    }
}

fn trim_metadata(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    metadata.owner_references = None;
    metadata.finalizers = None;
    metadata.self_link = None;
    metadata.generate_name = None;
    kubectl::drop_last_applied(metadata);
}

fn trimmed_status(status: NodeStatus) -> NodeStatus {
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
