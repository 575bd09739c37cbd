//! vSphere: virtual machines behind nodes, of any number of vCenters and datacenters, with zones by tags.

mod api;
pub mod config;
mod connection;
mod instances;
mod vcenter;

use cloud::{Error, Gate, Result};
use cloud_http::{Metrics, Register};
use config::Variables;
use connection::Connector;
use instances::Instances;
use provider_kit::live_config::LiveConfig;
use std::{collections::BTreeMap, path::Path};

/// Registers the metrics of this provider's calls.
///
/// # Errors
/// If the registry already has metrics of these names.
pub fn register_metrics(registry: &dyn Register) -> prometheus::Result<()> {
    Metrics::register(registry).map(drop)
}

/// What the program gives to the provider.
pub struct Start<'a> {
    /// `--cloud-config`
    pub file: Option<&'a Path>,
    /// The variables of the process.
    pub variables: Variables,
    /// `--node-labels`
    pub node_labels: BTreeMap<String, String>,
    /// Whether this process may write.
    pub gate: Gate,
    /// The registry of all metrics.
    pub registry: &'a dyn Register,
}

/// vSphere, as the users of one configuration see it.
pub struct VSphere {
    config: LiveConfig<Connector>,
    instances: Instances,
}

impl VSphere {
    /// The provider of a configuration, which it watches. Makes no call yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the configuration cannot be used.
    pub fn new(start: Start<'_>) -> Result<Self> {
        let metrics = Metrics::register(start.registry);
        let metrics = metrics.map_err(|error| Error::invalid("metrics", error.to_string()))?;
        let connector = Connector::new(start.gate, metrics, start.variables);
        let config = LiveConfig::watched(connector, start.file)?;
        Ok(Self {
            instances: Instances::new(config.current().clone(), start.node_labels),
            config,
        })
    }
}

impl cloud::Provider for VSphere {
    fn name(&self) -> &'static str {
        "vsphere"
    }

    fn instances(&self) -> &dyn cloud::Instances {
        &self.instances
    }

    fn live(&self) -> Option<&dyn cloud::Live> {
        self.config.live()
    }

    fn event_source(&self) -> &'static str {
        "vsphere-cloud-controller-manager"
    }
}
