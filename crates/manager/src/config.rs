//! `/configz`: the current configuration, under the names of the Go framework.
//!
//! The JSON is that of `cloudcontrollermanager.config.k8s.io/v1alpha1`, with all fields of Kubernetes 1.36 and 1.37
//! (which moved `NodeMonitorPeriod`), and one additional field, `Outrigger`, which Go's decoder ignores. If a number is not
//! set by a flag, the field of the Go framework has its default, because it must be a number; `Outrigger` has the effective
//! value.

mod generic;
mod number;
mod outrigger;
mod shared;

pub use generic::{
    ClientConnectionConfiguration, DebuggingConfiguration, GenericConfiguration, LeaderElectionConfiguration,
    LeaderMigrationConfiguration,
};
pub use outrigger::OutriggerConfiguration;
pub use shared::{CloudProviderConfiguration, KubeCloudSharedConfiguration};

use crate::Options;
use runtime::flags::GoDuration;
use serde::{Deserialize, Serialize};

/// The key of the configuration in `/configz`.
pub const GROUP: &str = "cloudcontrollermanager.config.k8s.io";

/// The configuration of a cloud controller manager.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CloudControllerManagerConfiguration {
    /// Always `CloudControllerManagerConfiguration`.
    #[serde(rename = "kind")]
    pub kind: String,
    /// Always `cloudcontrollermanager.config.k8s.io/v1alpha1`.
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    /// The settings of every controller manager.
    pub generic: GenericConfiguration,
    /// The settings of every program with a cloud.
    pub kube_cloud_shared: KubeCloudSharedConfiguration,
    /// The cloud-node-controller.
    pub node_controller: NodeControllerConfiguration,
    /// The cloud-node-lifecycle-controller.
    pub node_lifecycle_controller: NodeLifecycleControllerConfiguration,
    /// The service-lb-controller.
    pub service_controller: ServiceControllerConfiguration,
    /// Time between updates of nodes' addresses.
    pub node_status_update_frequency: GoDuration,
    /// Admission webhooks.
    pub webhook: WebhookConfiguration,
    /// Settings that the Go framework does not have.
    pub outrigger: OutriggerConfiguration,
}

/// The cloud-node-controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeControllerConfiguration {
    /// Nodes initialised at the same time.
    pub concurrent_node_syncs: i32,
    /// Nodes whose status is updated at the same time.
    pub concurrent_node_status_updates: i32,
}

/// The cloud-node-lifecycle-controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeLifecycleControllerConfiguration {
    /// Time between checks of nodes that are not ready.
    pub node_monitor_period: GoDuration,
    /// Nodes checked at the same time.
    pub concurrent_node_lifecycle_syncs: i32,
}

/// The service-lb-controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceControllerConfiguration {
    /// Services reconciled at the same time.
    pub concurrent_service_syncs: i32,
}

/// Admission webhooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WebhookConfiguration {
    /// Which are served; absent if the flag was not given.
    pub webhooks: Option<Vec<String>>,
}

impl Default for CloudControllerManagerConfiguration {
    fn default() -> Self {
        Self::new(&Options::default())
    }
}

impl CloudControllerManagerConfiguration {
    /// The configuration of the options.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            kind: "CloudControllerManagerConfiguration".to_owned(),
            api_version: format!("{GROUP}/v1alpha1"),
            generic: GenericConfiguration::new(options),
            kube_cloud_shared: KubeCloudSharedConfiguration::new(options),
            node_controller: NodeControllerConfiguration::new(options),
            node_lifecycle_controller: NodeLifecycleControllerConfiguration {
                node_monitor_period: options.node_lifecycle.monitor_period,
                concurrent_node_lifecycle_syncs: options.node_lifecycle.concurrent_syncs.nominal(),
            },
            service_controller: ServiceControllerConfiguration {
                concurrent_service_syncs: options.service.concurrent_syncs.nominal(),
            },
            node_status_update_frequency: options.misc.node_status_update_frequency,
            webhook: WebhookConfiguration {
                webhooks: list(&options.webhook.webhooks),
            },
            outrigger: OutriggerConfiguration::new(options),
        }
    }
}

impl NodeControllerConfiguration {
    fn new(options: &Options) -> Self {
        let syncs = options.node.concurrent_syncs.nominal();
        Self {
            concurrent_node_syncs: syncs,
            concurrent_node_status_updates: options.node.status_updates().unwrap_or(syncs),
        }
    }
}

/// Go writes a list that was never set as null.
fn list(items: &[String]) -> Option<Vec<String>> {
    (!items.is_empty()).then(|| items.to_vec())
}

#[cfg(test)]
mod tests;
