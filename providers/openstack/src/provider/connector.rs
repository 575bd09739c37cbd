//! Creates connections, and decides when a connection may replace another one.

use super::Connection;
use crate::{
    api::{Service, SessionContext},
    config::{self, Config, Environment},
};
use async_trait::async_trait;
use cloud::{Error, LiveSource, Result};
use cloud_http::login::LoginThrottles;
use provider_kit::live_config::{Configured, Loaded, Sources};
use std::error::Error as _;

/// Reads configurations and creates connections.
pub struct Connector {
    context: SessionContext,
    environment: Environment,
    throttles: LoginThrottles,
}

impl Connector {
    /// For the configurations of a process with this environment.
    pub fn new(context: SessionContext, environment: Environment) -> Self {
        Self {
            context,
            environment,
            throttles: LoginThrottles::default(),
        }
    }
}

#[async_trait]
impl Configured for Connector {
    type Config = Config;
    type Connection = Connection;

    fn load(&self, sources: &Sources<'_>, warnings: &mut Vec<String>) -> Result<Loaded<Config>> {
        let loaded = config::load(sources, &self.environment).map_err(|error| {
            warnings.extend_from_slice(error.warnings());
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            Error::invalid("--cloud-config", format!("{error}{cause}"))
        })?;
        warnings.extend(loaded.warnings);
        let secret = loaded.config.secret.clone().map(LiveSource::Secret);
        Ok(Loaded {
            config: loaded.config,
            files: loaded.files,
            sources: secret.into_iter().collect(),
        })
    }

    fn connect(&self, config: Config) -> Result<Connection> {
        Connection::new(config, &self.context, &self.throttles)
    }

    async fn verify(&self, new: &Connection, running: &Connection) -> Result<Vec<String>> {
        new.session.authenticate().await?;
        // A region that does not exist, or an interface without endpoints, shows here and not at the first node.
        for service in [Service::Compute, Service::Network] {
            new.session.check(service).await?;
        }
        if let (Some(running), Some(new)) = (running.session.project(), new.session.project()) {
            new.follows(&running)?;
        }
        Ok(new.look_for_octavia().await?.into_iter().collect())
    }

    async fn refused(&self, connection: &Connection) {
        connection.session.refused().await;
    }
}
