//! A configuration in use.

use crate::{
    api::{Service, Session, SessionContext, login},
    config::Config,
    instances, routes,
};
use cloud::{Error, Result};
use cloud_http::login::LoginThrottles;
use std::sync::OnceLock;

/// A configuration, its session, and what was learned through it.
pub struct Connection {
    /// The configuration.
    pub config: Config,
    /// The session.
    pub session: Session,
    /// What was learned about servers.
    pub learned: instances::Learned,
    /// What was learned about routers.
    pub route_features: routes::FeatureCache,
    octavia: OnceLock<Octavia>,
}

/// Whether the catalog has load balancers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Octavia {
    Available,
    Missing,
}

impl Connection {
    /// Makes no call to the cloud.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] if certificates or key are not usable.
    pub fn new(config: Config, context: &SessionContext, throttles: &LoginThrottles) -> Result<Self> {
        let (global, timeout) = (config.global.clone(), config.request_timeout);
        let throttle = login::throttle(throttles, &global);
        let session = Session::throttled(throttle, global, timeout, context)?;
        Ok(Self {
            config,
            learned: instances::Learned::new(&session),
            session,
            route_features: routes::FeatureCache::default(),
            octavia: OnceLock::new(),
        })
    }

    /// Whether load balancers are configured, and the catalog is not known to have none.
    pub fn has_load_balancers(&self) -> bool {
        self.config.load_balancer.enabled && self.octavia.get() != Some(&Octavia::Missing)
    }

    /// Checks whether the catalog has load balancers. A cloud without them still has nodes, so that this is only a warning.
    ///
    /// # Errors
    /// If the login fails.
    pub(super) async fn look_for_octavia(&self) -> Result<Option<String>> {
        let missing = match self.session.check(Service::LoadBalancer).await {
            Err(error @ Error::Invalid { .. }) => Some(error),
            other => other.map(|()| None)?,
        };
        let octavia = missing.as_ref().map_or(Octavia::Available, |_| Octavia::Missing);
        self.octavia.get_or_init(|| octavia);
        let missing = missing.filter(|_| self.config.load_balancer.enabled);
        Ok(missing.map(|error| {
            format!(
                "there will be no load balancers: {}; set enabled=false in [LoadBalancer] if that is as it should be",
                error.report()
            )
        }))
    }
}
