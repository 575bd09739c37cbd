//! The cloud and its settings.

use super::{Cidrs, generic::SECTION};
use runtime::flags::{GoDuration, Section, Switch};

/// The cloud and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cloud {
    /// The provider's name.
    pub provider: String,
    /// The provider's configuration file; empty for none.
    pub config: String,
    /// The prefix of names in the cloud.
    pub cluster_name: String,
    /// The pod networks.
    pub cluster_cidr: Cidrs,
    /// Whether to allocate pod networks to nodes.
    pub allocate_node_cidrs: Switch,
    /// The type of the allocator.
    pub cidr_allocator_type: String,
    /// Whether to create routes in the cloud.
    pub configure_cloud_routes: Switch,
    /// Time between route reconciliations.
    pub route_reconciliation_period: GoDuration,
    /// Whether every controller uses its own service account.
    pub use_service_account_credentials: Switch,
    /// Whether instances without a cluster tag are accepted.
    pub allow_untagged_cloud: Switch,
    /// No effect.
    pub external_cloud_volume_plugin: String,
    /// No effect.
    pub node_sync_period: GoDuration,
}

impl Default for Cloud {
    fn default() -> Self {
        Self {
            provider: String::new(),
            config: String::new(),
            cluster_name: "kubernetes".to_owned(),
            cluster_cidr: Cidrs::default(),
            allocate_node_cidrs: Switch::Off,
            cidr_allocator_type: "RangeAllocator".to_owned(),
            configure_cloud_routes: Switch::On,
            route_reconciliation_period: GoDuration::from_secs(10),
            use_service_account_credentials: Switch::Off,
            allow_untagged_cloud: Switch::Off,
            external_cloud_volume_plugin: String::new(),
            node_sync_period: GoDuration::ZERO,
        }
    }
}

impl Cloud {
    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new(SECTION)
            .flag(
                "cloud-provider",
                &mut self.provider,
                "The name of the cloud provider. Required, unless the name of the program selects one.",
            )
            .flag(
                "cloud-config",
                &mut self.config,
                "Path to the configuration file of the provider. Empty for none.",
            )
            .flag(
                "cluster-name",
                &mut self.cluster_name,
                "Name of the cluster; the prefix of names in the cloud.",
            )
            .flag(
                "cluster-cidr",
                &mut self.cluster_cidr,
                "Networks of the pods, comma separated: at most one IPv4 and one IPv6. Without it no \
                 routes are created.",
            )
            .flag(
                "allocate-node-cidrs",
                &mut self.allocate_node_cidrs,
                "Allocate pod networks to nodes. Requires --cluster-cidr, and --controllers must name \
                 node-ipam-controller; otherwise no effect.",
            )
            .flag(
                "cidr-allocator-type",
                &mut self.cidr_allocator_type,
                "Type of the allocator of pod networks. Only RangeAllocator is supported; no effect without \
                 node-ipam-controller.",
            )
            .flag(
                "configure-cloud-routes",
                &mut self.configure_cloud_routes,
                "Create routes to the pod networks of nodes in the cloud.",
            )
            .flag(
                "route-reconciliation-period",
                &mut self.route_reconciliation_period,
                "Time between route reconciliations.",
            )
            .flag(
                "use-service-account-credentials",
                &mut self.use_service_account_credentials,
                "Use a separate ServiceAccount for each controller.",
            )
            .flag(
                "external-cloud-volume-plugin",
                &mut self.external_cloud_volume_plugin,
                "(No effect in a cloud controller manager.)",
            )
            .deprecated(
                "allow-untagged-cloud",
                &mut self.allow_untagged_cloud,
                "Accept instances without a cluster tag.",
                "a cluster ID will be required on cloud instances",
            )
            .deprecated(
                "node-sync-period",
                &mut self.node_sync_period,
                "(No effect.)",
                "it has no effect, see --node-monitor-period and --route-reconciliation-period",
            )
    }
}
