//! The connection in use. It is replaced as a whole, and only by one that works.

use crate::{
    api::{Session, Surroundings, login},
    config::Config,
    instances, routes,
};
use arc_swap::ArcSwap;
use cloud::Result;
use cloud_http::login::LoginThrottles;
use std::sync::Arc;

/// A configuration, a session that was made from it, and what was learned through it.
pub struct Connection {
    /// The configuration.
    pub config: Config,
    /// The session.
    pub session: Session,
    /// What was learned about servers.
    pub learned: instances::Learned,
    /// What was learned about routers.
    pub extensions: routes::Abilities,
}

impl Connection {
    /// A connection that talks to nobody yet.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] if certificates or key are not usable.
    pub fn new(config: Config, surroundings: &Surroundings, throttles: &LoginThrottles) -> Result<Self> {
        let (global, timeout) = (config.global.clone(), config.request_timeout);
        let throttle = login::throttle(throttles, &global);
        let session = Session::throttled(throttle, global, timeout, surroundings)?;
        Ok(Self {
            config,
            learned: instances::Learned::new(&session),
            session,
            extensions: routes::Abilities::default(),
        })
    }
}

/// The connection in use, shared by all parts of a provider. Whoever loads it keeps it for one operation.
#[derive(Clone)]
pub struct Live(Arc<ArcSwap<Connection>>);

impl Live {
    /// Starts with this one.
    pub fn new(connection: Connection) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(connection)))
    }

    /// The connection in use at this moment.
    pub fn load(&self) -> Arc<Connection> {
        self.0.load_full()
    }

    /// Uses this one from now on.
    pub fn swap(&self, connection: Connection) {
        self.0.store(Arc::new(connection));
    }
}
