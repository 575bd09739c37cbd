//! `OpenStack` as a [`cloud::Provider`]: the parts of the contract over one connection that can be replaced while it is used.

mod connection;
mod connector;

pub use connection::Connection;

use crate::{
    api::{Service, SessionContext, session::user_agent},
    config::{Config, Environment},
    instances::{Instances, node_index::NodeIndex},
    load_balancers::Balancers,
    metrics::Metrics,
    routes::Routes,
};
use cloud::{Gate, Result};
use connector::Connector;
use prometheus::Registry;
use provider_kit::live_config::{Current, LiveConfig};
use std::{path::Path, sync::Arc};

/// The connection in use, shared by all parts of a provider.
pub type Live = Current<Connection>;

/// One cloud.
pub struct Provider {
    config: LiveConfig<Connector>,
    instances: Instances,
    balancers: Balancers,
    routes: Routes,
}

/// What the program gives to the provider.
pub struct Start<'a> {
    /// `--cloud-config`
    pub file: Option<&'a Path>,
    /// `--user-agent`, in the order given.
    pub user_agents: &'a [String],
    /// Whether this process may write.
    pub gate: Gate,
    /// The registry of all metrics.
    pub registry: &'a Registry,
}

/// The provider of the configuration in the file of `--cloud-config`, which it watches. Makes no call to the cloud.
///
/// # Errors
/// One sentence: what is wrong with the configuration, and where.
pub fn start(start: Start<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
    let unregistered = |error: prometheus::Error| format!("cannot register metrics: {error}");
    let context = SessionContext {
        gate: start.gate,
        metrics: Metrics::register_all(start.registry).map_err(unregistered)?,
        user_agent: user_agent(start.user_agents),
    };
    let connector = Connector::new(context.clone(), Environment::of_process());
    let config = LiveConfig::watched(connector, start.file).map_err(|error| error.report())?;
    Ok(Arc::new(Provider::of(config, context)))
}

impl Provider {
    /// A provider of this configuration. Makes no call to the cloud: it logs in when it is first used.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] if certificates or key are not usable.
    pub fn new(config: Config, context: SessionContext) -> Result<Self> {
        let connector = Connector::new(context.clone(), Environment::default());
        Ok(Self::of(LiveConfig::given(connector, config)?, context))
    }

    fn of(config: LiveConfig<Connector>, context: SessionContext) -> Self {
        let SessionContext { gate, metrics, .. } = context;
        let (live, nodes) = (config.current().clone(), Arc::new(NodeIndex::default()));
        Self {
            config,
            instances: Instances::new(live.clone(), Arc::clone(&nodes)),
            balancers: Balancers::new(live.clone(), metrics),
            routes: Routes::new(live, nodes, gate),
        }
    }

    /// Logs in, also if the token is valid: checks the configuration.
    ///
    /// # Errors
    /// [`cloud::Error::Denied`] with what to check, if Keystone does not accept the credentials.
    pub async fn authenticate(&self) -> Result<()> {
        self.connection().session.authenticate().await
    }

    /// Checks that the catalog has the service; logs in if needed.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] with what the catalog has instead.
    pub async fn check(&self, service: Service) -> Result<()> {
        self.connection().session.check(service).await
    }

    /// Waits until Keystone refuses the credentials in use.
    pub async fn refused(&self) {
        self.config.refused().await;
    }

    /// Replaces the configuration, if the cloud accepts it; calls that began before end with the old one.
    ///
    /// # Errors
    /// Why the new one cannot be used, or that it is for another project; the old one is then kept.
    pub async fn reconfigure(&self, config: Config) -> Result<()> {
        self.config.replace(config).await.map(drop)
    }

    fn connection(&self) -> Arc<Connection> {
        self.config.current().load()
    }
}

impl cloud::Provider for Provider {
    fn name(&self) -> &'static str {
        "openstack"
    }

    fn instances(&self) -> &dyn cloud::Instances {
        &self.instances
    }

    fn load_balancers(&self) -> Option<&dyn cloud::LoadBalancers> {
        let has_some = self.connection().has_load_balancers();
        has_some.then_some(&self.balancers as &dyn cloud::LoadBalancers)
    }

    fn routes(&self) -> Option<&dyn cloud::Routes> {
        let configured = self.connection().config.router_id.is_some();
        configured.then_some(&self.routes as &dyn cloud::Routes)
    }

    fn live(&self) -> Option<&dyn cloud::Live> {
        self.config.live()
    }

    fn event_source(&self) -> &'static str {
        "cloud-provider-openstack"
    }
}
