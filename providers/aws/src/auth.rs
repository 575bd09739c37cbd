//! Who we are to AWS, and how requests prove it.
//!
//! The sources are those of AWS's SDKs, in the order of the Go one: the environment, a web identity, a profile, a container, the role of the
//! instance. The first that is configured is used; if it fails, no other one is. A role of the configuration is assumed on top.

mod chain;
mod container;
mod profile;
mod role;
pub mod sign;

pub use chain::Chain;
pub use role::web_identity;

use crate::{api::imds::Imds, config::Config, metrics::Metrics, region::Endpoint};
use async_trait::async_trait;
use cloud::{Error, Gate, Result};
use cloud_http::{
    Auth, Authorized, Credentials,
    bytes::Bytes,
    http,
    login::{Grant, LogIn, Login, LoginThrottle},
};
use jiff::Timestamp;
use role::AssumedRole;
use secrecy::SecretString;
use serde::Deserialize;
use sign::Scope;
use std::{sync::Arc, time::Duration};

/// The keys of an identity, for a while.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Keys {
    /// Names them.
    pub access_key_id: String,
    /// Signs with them.
    pub secret_access_key: SecretString,
    /// Proves that they are temporary ones.
    #[serde(rename = "Token", alias = "SessionToken", default)]
    pub session_token: Option<SecretString>,
    /// Until when AWS accepts them.
    #[serde(default)]
    pub expiration: Option<Timestamp>,
}

impl Keys {
    /// As a login gives them.
    fn granted(self) -> Grant<Self> {
        let left = self.expiration.map(|until| until.duration_since(Timestamp::now()));
        Grant {
            // Keys that are expired already are renewed when AWS refuses them.
            lifetime: left.and_then(|left| Duration::try_from(left).ok()),
            credential: self,
        }
    }
}

/// Where keys come from.
pub(crate) enum Source {
    /// What is configured on this machine.
    Chain(Box<Chain>),
    /// A role that is assumed with other keys.
    Role(Box<AssumedRole>),
    /// Keys that exist already and cannot be renewed.
    Keys(Keys),
}

/// An identity: it has keys, and renews them before they expire.
#[derive(Clone)]
pub struct Identity(Arc<Login<Source>>);

impl Identity {
    /// The identity that a configuration asks for.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the configuration cannot be used.
    pub fn of(config: &Config, region: &str, imds: &Arc<Imds>, gate: &Gate, metrics: &Metrics) -> Result<Self> {
        let chain = Chain::new(config, region, imds, gate, metrics)?;
        let own = Self::new(Source::Chain(Box::new(chain)));
        match &config.role {
            None => Ok(own),
            Some(role) => {
                let role = AssumedRole::new(role, &own, config, region, gate, metrics)?;
                Ok(Self::new(Source::Role(Box::new(role))))
            }
        }
    }

    /// The identity that has these keys.
    pub fn with(keys: Keys) -> Self {
        Self::new(Source::Keys(keys))
    }

    fn new(source: Source) -> Self {
        Self(Arc::new(Login::new(source, Arc::new(LoginThrottle::default()))))
    }

    /// Waits until AWS refuses new keys.
    pub async fn refused(&self) {
        self.0.refused().await;
    }
}

#[async_trait]
impl LogIn for Source {
    type Credential = Keys;

    async fn log_in(&self) -> Result<Grant<Keys>> {
        let keys = match self {
            Self::Chain(chain) => chain.keys().await?,
            Self::Role(role) => role.keys().await?,
            Self::Keys(keys) => keys.clone(),
        };
        Ok(keys.granted())
    }

    /// The keys travel with the request to where its scope is known.
    fn authorize(&self, keys: &Keys, request: &mut http::Request<Bytes>) -> Result<()> {
        request.extensions_mut().insert(keys.clone());
        Ok(())
    }
}

/// Credentials that sign requests to one endpoint.
pub fn signing(identity: &Identity, endpoint: &Endpoint) -> Credentials {
    Credentials::new(Signer {
        identity: identity.clone(),
        scope: Scope {
            service: endpoint.signing_name.clone(),
            region: endpoint.signing_region.clone(),
        },
    })
}

struct Signer {
    identity: Identity,
    scope: Scope,
}

#[async_trait]
impl Auth for Signer {
    async fn authorize(&self, request: &mut http::Request<Bytes>) -> Result<Authorized> {
        if self.identity.0.authorize(request).await? == Authorized::Stale {
            return Ok(Authorized::Stale);
        }
        let keys = request.extensions_mut().remove::<Keys>();
        let keys = keys.ok_or_else(|| Error::unavailable("authentication", "there are no keys"))?;
        sign::sign(request, &keys, &self.scope, Timestamp::now())?;
        Ok(Authorized::Ready)
    }

    async fn refresh(&self) -> Result<()> {
        self.identity.0.refresh().await
    }
}
