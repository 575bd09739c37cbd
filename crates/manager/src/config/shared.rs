//! The settings of every program with a cloud.

use crate::{Options, options::Cloud};
use runtime::flags::GoDuration;
use serde::{Deserialize, Serialize};

/// The settings of every program with a cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct KubeCloudSharedConfiguration {
    /// The cloud.
    pub cloud_provider: CloudProviderConfiguration,
    /// No effect.
    pub external_cloud_volume_plugin: String,
    /// Whether every controller uses its own service account.
    pub use_service_account_credentials: bool,
    /// Whether instances without a cluster tag are accepted.
    pub allow_untagged_cloud: bool,
    /// Time between route reconciliations.
    pub route_reconciliation_period: GoDuration,
    /// Time between checks of nodes that are not ready, in the field of Kubernetes up to 1.36.
    pub node_monitor_period: GoDuration,
    /// The prefix of names in the cloud.
    pub cluster_name: String,
    /// The pod networks, as the user wrote them.
    #[serde(rename = "ClusterCIDR")]
    pub cluster_cidr: String,
    /// Whether to allocate pod networks to nodes.
    #[serde(rename = "AllocateNodeCIDRs")]
    pub allocate_node_cidrs: bool,
    /// The type of the allocator.
    #[serde(rename = "CIDRAllocatorType")]
    pub cidr_allocator_type: String,
    /// Whether to create routes in the cloud.
    pub configure_cloud_routes: Option<bool>,
    /// No effect.
    pub node_sync_period: GoDuration,
}

/// The cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CloudProviderConfiguration {
    /// The provider's name.
    pub name: String,
    /// The path of its configuration file.
    pub cloud_config_file: String,
}

impl KubeCloudSharedConfiguration {
    pub(super) fn new(options: &Options) -> Self {
        let Cloud {
            provider,
            config,
            cluster_name,
            cluster_cidr,
            allocate_node_cidrs,
            cidr_allocator_type,
            configure_cloud_routes,
            route_reconciliation_period,
            use_service_account_credentials,
            allow_untagged_cloud,
            external_cloud_volume_plugin,
            node_sync_period,
        } = &options.generic.cloud;
        Self {
            cloud_provider: CloudProviderConfiguration {
                name: provider.clone(),
                cloud_config_file: config.clone(),
            },
            external_cloud_volume_plugin: external_cloud_volume_plugin.clone(),
            use_service_account_credentials: use_service_account_credentials.is_on(),
            allow_untagged_cloud: allow_untagged_cloud.is_on(),
            route_reconciliation_period: *route_reconciliation_period,
            node_monitor_period: options.node_lifecycle.monitor_period,
            cluster_name: cluster_name.clone(),
            cluster_cidr: cluster_cidr.written().to_owned(),
            allocate_node_cidrs: allocate_node_cidrs.is_on(),
            cidr_allocator_type: cidr_allocator_type.clone(),
            configure_cloud_routes: Some(configure_cloud_routes.is_on()),
            node_sync_period: *node_sync_period,
        }
    }
}
