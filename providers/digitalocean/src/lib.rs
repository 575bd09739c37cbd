//! DigitalOcean: Droplets behind nodes, load balancers for Services, a cloud firewall in front of the nodes.

pub mod annotations;
mod api;
pub mod config;
mod desired;
mod firewall;
mod instances;
mod load_balancers;

use api::Api;
use async_trait::async_trait;
use cloud::{ClusterMark, Error, Gate, LiveData, Result};
use cloud_http::{Metrics, Register};
use config::Config;
use firewall::NodeFirewall;
use instances::{Droplets, Instances};
use load_balancers::LoadBalancers;
use provider_kit::load_balancer::single::SingleObjects;
use std::sync::Arc;

/// Registers the metrics of this provider and of its calls.
///
/// # Errors
/// If the registry already has metrics of these names.
pub fn register_metrics(registry: &dyn Register) -> prometheus::Result<()> {
    Metrics::register(registry)?;
    firewall::Metrics::register(registry).map(drop)
}

/// DigitalOcean, as one team sees it.
pub struct DigitalOcean {
    api: Arc<Api>,
    instances: Arc<Instances>,
    load_balancers: SingleObjects<LoadBalancers>,
    firewall: Option<NodeFirewall>,
}

impl DigitalOcean {
    /// The provider. Makes no call yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the configuration cannot be used.
    pub fn new(config: Config, gate: &Gate, registry: &dyn Register) -> Result<Self> {
        let taken = |error: prometheus::Error| Error::invalid("metrics", error.to_string());
        let metrics = Metrics::register(registry).map_err(taken)?;
        let api = Arc::new(Api::new(config, gate, &metrics)?);
        let instances = Arc::new(Instances::new(Droplets(Arc::clone(&api))));
        let firewall = match &api.config.firewall {
            Some(settings) => {
                let metrics = firewall::Metrics::register(registry).map_err(taken)?;
                Some(NodeFirewall::new(&api, settings, metrics))
            }
            None => None,
        };
        let load_balancers = LoadBalancers {
            api: Arc::clone(&api),
            instances: Arc::clone(&instances),
        };
        Ok(Self {
            load_balancers: SingleObjects::new(load_balancers),
            firewall,
            api,
            instances,
        })
    }
}

/// Environment variables do not change while the process runs; the first reload checks them.
#[async_trait]
impl cloud::Live for DigitalOcean {
    async fn reload(&self, _: &LiveData) -> Result<Vec<String>> {
        self.api.check().await.map(|()| Vec::new())
    }
}

impl cloud::Provider for DigitalOcean {
    fn name(&self) -> &'static str {
        "digitalocean"
    }

    fn instances(&self) -> &dyn cloud::Instances {
        &*self.instances
    }

    fn load_balancers(&self) -> Option<&dyn cloud::LoadBalancers> {
        Some(&self.load_balancers)
    }

    fn live(&self) -> Option<&dyn cloud::Live> {
        Some(self)
    }

    fn node_firewall(&self) -> Option<&dyn cloud::NodeFirewall> {
        let firewall = self.firewall.as_ref();
        firewall.map(|firewall| firewall as &dyn cloud::NodeFirewall)
    }

    fn cluster_mark(&self) -> ClusterMark {
        match self.api.config.tag {
            Some(_) => ClusterMark::Present,
            None => ClusterMark::Absent,
        }
    }

    fn event_source(&self) -> &'static str {
        "digitalocean-cloud-controller-manager"
    }
}
