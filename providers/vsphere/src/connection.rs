//! The configuration in use, with its vCenters.

use crate::{
    api::Api,
    config::{self, Categories, Config, Deletion, Networks, Variables},
    vcenter::VCenter,
};
use async_trait::async_trait;
use cloud::{Error, Gate, Result};
use cloud_http::{Metrics, login::LoginThrottles};
use provider_kit::{
    concurrently,
    live_config::{Configured, Loaded, Sources},
};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::task::JoinSet;

/// The configuration in use.
pub struct Connection {
    /// The vCenters.
    pub vcenters: Vec<Arc<VCenter>>,
    /// The tag categories of zones and regions.
    pub zones: Option<Categories>,
    /// Which addresses nodes have.
    pub networks: Networks,
    /// Whether Nodes are deleted.
    pub deletion: Deletion,
}

/// Reads configurations and connects to vCenters.
pub struct Connector {
    pub gate: Gate,
    pub metrics: Metrics,
    pub variables: Variables,
    throttles: LoginThrottles,
    /// Those in use: one whose configuration has not changed keeps its sessions.
    vcenters: Mutex<Vec<Weak<VCenter>>>,
}

impl Connector {
    /// For the configurations of a process with these variables.
    pub fn new(gate: Gate, metrics: Metrics, variables: Variables) -> Self {
        Self {
            gate,
            metrics,
            variables,
            throttles: LoginThrottles::default(),
            vcenters: Mutex::default(),
        }
    }

    fn vcenter(&self, config: config::VCenter) -> Result<Arc<VCenter>> {
        let mut vcenters = self.vcenters.lock().unwrap_or_else(PoisonError::into_inner);
        vcenters.retain(|vcenter| vcenter.strong_count() > 0);
        let used = vcenters.iter().filter_map(Weak::upgrade);
        if let Some(same) = used.into_iter().find(|vcenter| vcenter.api.config == config) {
            return Ok(same);
        }
        let api = Api::new(config, &self.gate, &self.metrics, &self.throttles)?;
        let vcenter = Arc::new(VCenter::new(api));
        vcenters.push(Arc::downgrade(&vcenter));
        Ok(vcenter)
    }
}

#[async_trait]
impl Configured for Connector {
    type Config = Config;
    type Connection = Connection;

    fn load(&self, sources: &Sources<'_>, warnings: &mut Vec<String>) -> Result<Loaded<Config>> {
        let loaded = config::load(sources, &self.variables, warnings);
        loaded.map_err(|why| Error::invalid("--cloud-config", why))
    }

    fn connect(&self, config: Config) -> Result<Connection> {
        let vcenters: Result<Vec<_>> = config
            .vcenters
            .into_iter()
            .map(|vcenter| self.vcenter(vcenter))
            .collect();
        Ok(Connection {
            vcenters: vcenters?,
            zones: config.zones,
            networks: config.networks,
            deletion: config.deletion,
        })
    }

    /// A vCenter that refuses is an error; one that does not answer is not, if another one does: its nodes are left alone.
    async fn verify(&self, new: &Connection, _: &Connection) -> Result<Vec<String>> {
        let checks = new.vcenters.iter().map(|vcenter| vcenter.check());
        let (mut warnings, mut failed) = (Vec::new(), None);
        for (vcenter, check) in new.vcenters.iter().zip(concurrently(checks).await) {
            match check {
                Ok(()) => {}
                Err(error @ (Error::Unavailable { .. } | Error::Throttled { .. })) => {
                    let server = &vcenter.api.config.server;
                    warnings.push(format!(
                        "vCenter {server} does not answer, and its nodes are left alone: {}",
                        error.report()
                    ));
                    failed = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        match failed {
            Some(error) if warnings.len() == new.vcenters.len() => Err(error),
            _ => Ok(warnings),
        }
    }

    async fn refused(&self, connection: &Connection) {
        let mut refusals = JoinSet::new();
        for vcenter in &connection.vcenters {
            let vcenter = Arc::clone(vcenter);
            refusals.spawn(async move { vcenter.api.refused().await });
        }
        refusals.join_next().await;
    }

    async fn close(&self, connection: &Connection) {
        concurrently(connection.vcenters.iter().map(|vcenter| vcenter.api.log_out())).await;
    }
}
