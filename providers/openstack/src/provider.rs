//! `OpenStack` as a [`cloud::Provider`]: the parts of the contract over one connection that can be replaced while it is used.

mod connection;

pub use connection::{Connection, Live};

use crate::{
    api::{Service, Surroundings},
    balancers::Balancers,
    config::Config,
    instances::{Instances, node_index::NodeIndex},
    routes::Routes,
};
use cloud::Result;
use cloud_http::login::LoginThrottles;
use std::sync::Arc;

/// One cloud.
pub struct Provider {
    live: Live,
    surroundings: Surroundings,
    throttles: LoginThrottles,
    instances: Instances,
    balancers: Balancers,
    routes: Routes,
}

impl Provider {
    /// A provider that talks to nobody yet: it logs in when it is first asked something.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] if certificates or key are not usable.
    pub fn new(config: Config, surroundings: Surroundings) -> Result<Self> {
        let throttles = LoginThrottles::default();
        let live = Live::new(Connection::new(config, &surroundings, &throttles)?);
        let nodes = Arc::new(NodeIndex::default());
        Ok(Self {
            instances: Instances::new(live.clone(), Arc::clone(&nodes)),
            balancers: Balancers::new(live.clone(), surroundings.metrics.clone()),
            routes: Routes::new(live.clone(), nodes, Arc::clone(&surroundings.gate)),
            live,
            surroundings,
            throttles,
        })
    }

    /// Logs in, whether that is needed or not: says whether the configuration is good.
    ///
    /// # Errors
    /// [`cloud::Error::Denied`] with what to check, if Keystone does not accept the credentials.
    pub async fn authenticate(&self) -> Result<()> {
        self.live.load().session.authenticate().await
    }

    /// Whether the catalog can serve this at all; logs in if need be.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`], saying what the catalog has instead.
    pub async fn check(&self, service: Service) -> Result<()> {
        self.live.load().session.check(service).await
    }

    /// Waits until Keystone does not accept the credentials in use: time to read them anew from where they came from, and to
    /// [`reconfigure`](Self::reconfigure).
    pub async fn refused(&self) {
        self.live.load().session.refused().await;
    }

    /// Goes over to another configuration, if that one works: it logs in first, and what is under way ends as it began.
    ///
    /// # Errors
    /// Why the new one does not work, or that it leads elsewhere; the old one stays in use.
    pub async fn reconfigure(&self, config: Config) -> Result<()> {
        let connection = self.connect(config).await?;
        // Elsewhere nothing is there: every load balancer would be made a second time, with another address.
        if let (Some(running), Some(new)) = (self.live.load().session.place(), connection.session.place()) {
            new.follows(&running)?;
        }
        self.live.swap(connection);
        Ok(())
    }

    async fn connect(&self, config: Config) -> Result<Connection> {
        let connection = Connection::new(config, &self.surroundings, &self.throttles)?;
        connection.session.authenticate().await?;
        // A region that is not there, or an interface without endpoints, shows here and not at the first node.
        for service in [Service::Compute, Service::Network] {
            connection.session.check(service).await?;
        }
        Ok(connection)
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
        let enabled = self.live.load().config.load_balancer.enabled;
        enabled.then_some(&self.balancers as &dyn cloud::LoadBalancers)
    }

    fn routes(&self) -> Option<&dyn cloud::Routes> {
        let configured = self.live.load().config.router_id.is_some();
        configured.then_some(&self.routes as &dyn cloud::Routes)
    }
}
