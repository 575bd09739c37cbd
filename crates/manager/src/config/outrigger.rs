//! Settings that the Go framework does not have.

use super::number;
use crate::{Options, options};
use runtime::flags::{GoDuration, Value};
use serde::{Deserialize, Serialize};

/// Settings that the Go framework does not have, and the numbers of the framework that the program decides (`auto`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OutriggerConfiguration {
    /// Requests a second, or `auto`.
    #[serde(rename = "KubeAPIQPS")]
    pub kube_api_qps: String,
    /// Requests at once, or `auto`.
    #[serde(rename = "KubeAPIBurst")]
    pub kube_api_burst: String,
    /// Nodes initialised at the same time, or `auto`.
    pub concurrent_node_syncs: String,
    /// Nodes whose status is updated at the same time, or `auto`.
    pub concurrent_node_status_updates: String,
    /// Nodes checked at the same time, or `auto`.
    pub concurrent_node_lifecycle_syncs: String,
    /// Services reconciled at the same time, or `auto`.
    pub concurrent_service_syncs: String,
    /// Values of `spec.loadBalancerClass` that are served.
    pub load_balancer_classes: Vec<String>,
    /// Whether Services without a class are served.
    pub load_balancer_without_class: bool,
    /// The treatment of load balancers whose Service does not exist.
    pub load_balancer_orphans: String,
    /// Time between checks for them.
    pub load_balancer_orphan_period: GoDuration,
    /// How often every load balancer is compared with its Service; 0 for never.
    pub load_balancer_resync_period: GoDuration,
    /// The nodes that this manager owns; empty for all.
    pub node_selector: String,
    /// The schemes of provider IDs that this manager owns; empty for all.
    #[serde(rename = "ProviderIDSchemes")]
    pub provider_id_schemes: Vec<String>,
    /// The minimum age of a node that is deleted.
    pub node_deletion_grace_period: GoDuration,
    /// The fraction of all nodes that may be deleted within the window.
    #[serde(serialize_with = "number::serialize")]
    pub node_deletion_max_fraction: f32,
    /// The window.
    pub node_deletion_window: GoDuration,
    /// How long an instance must be missing before its node is deleted while deletions are paused.
    pub node_deletion_confirmation: GoDuration,
    /// Whether labels are updated on initialized nodes.
    pub node_label_sync: bool,
    /// The maximum time of a graceful shutdown.
    pub shutdown_grace_period: GoDuration,
    /// The feature gates that were set.
    pub feature_gates: String,
}

impl OutriggerConfiguration {
    pub(super) fn new(options: &Options) -> Self {
        let options::Outrigger {
            load_balancer_class,
            load_balancer_without_class,
            load_balancer_orphans,
            load_balancer_orphan_period,
            load_balancer_resync_period,
            node_selector,
            provider_id_scheme,
            node_deletion_grace_period,
            node_deletion_max_fraction,
            node_deletion_window,
            node_deletion_confirmation,
            node_label_sync,
            shutdown_grace_period,
        } = &options.outrigger;
        let status_updates = options.node.status_updates();
        Self {
            kube_api_qps: options.generic.client.qps.print(),
            kube_api_burst: options.generic.client.burst.print(),
            concurrent_node_syncs: options.node.concurrent_syncs.print(),
            concurrent_node_status_updates: status_updates.map_or_else(|| "auto".to_owned(), |count| count.to_string()),
            concurrent_node_lifecycle_syncs: options.node_lifecycle.concurrent_syncs.print(),
            concurrent_service_syncs: options.service.concurrent_syncs.print(),
            load_balancer_classes: load_balancer_class.to_vec(),
            load_balancer_without_class: load_balancer_without_class.is_on(),
            load_balancer_orphans: load_balancer_orphans.print(),
            load_balancer_orphan_period: *load_balancer_orphan_period,
            load_balancer_resync_period: *load_balancer_resync_period,
            node_selector: node_selector.written().to_owned(),
            provider_id_schemes: provider_id_scheme.to_vec(),
            node_deletion_grace_period: *node_deletion_grace_period,
            node_deletion_max_fraction: node_deletion_max_fraction.0.nominal(),
            node_deletion_window: *node_deletion_window,
            node_deletion_confirmation: *node_deletion_confirmation,
            node_label_sync: node_label_sync.is_on(),
            shutdown_grace_period: *shutdown_grace_period,
            feature_gates: options.generic.feature_gates.print(),
        }
    }
}
