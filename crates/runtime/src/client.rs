//! Clients for the API server, one for each user of it in this process.
//!
//! ```no_run
//! # use runtime::{client::{Builder, Limit, Source}, fence::Fence};
//! # async fn start() -> Result<(), Box<dyn std::error::Error>> {
//! let source = Source { kubeconfig: Some("/etc/kubernetes/ccm.conf".into()), master: None };
//! let clients = Builder::new(source.load()?).limit(Limit::from_flags(None, None)).fence(Fence::closed()).build()?;
//! let informers = clients.plain("shared-informers");
//! let nodes = clients.for_controller("node-controller").await?;
//! # Ok(())
//! # }
//! ```
//!
//! A request waits for its turn, then passes the fence, is sent within its time, counted, and sent again if the server asks
//! for that; see [`Builder`]. Everything is JSON: `--kube-api-content-type` is accepted for the sake of existing manifests,
//! and has no effect.

mod account;
mod answer;
mod authorities;
mod bearer;
mod builder;
mod certificate;
mod config;
mod explain;
mod failure;
mod in_cluster;
mod kubeconfig;
mod limit;
mod metrics;
mod outgoing;
mod pipeline;
mod proxy;
mod retry;
mod tls;
mod transport;
mod user_agent;
mod verb;

pub use account::AccountError;
pub use builder::{Builder, Identity};
pub use config::{ConfigError, Source};
pub use explain::explain;
pub use failure::{Failure, is_fenced, is_unreachable};
pub use limit::Limit;
pub use metrics::Metrics;

use crate::fence::Fence;
use account::Account;
use bearer::Bearer;
use http::HeaderValue;
use kube::{Client, Config, client::ClientBuilder};
use limit::{Gate, Shared};
use pipeline::{Pipeline, Policy, Retries};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use transport::Transport;

/// Makes the clients of a process. Clones share their connections.
///
/// A client belongs to the runtime it is made in.
#[derive(Clone)]
pub struct Clients(Arc<Common>);

struct Common {
    config: Config,
    user_agent: String,
    address: Arc<str>,
    host: Arc<str>,
    limit: Shared,
    fence: Fence,
    identity: Identity,
    timeout: Duration,
    metrics: Option<Metrics>,
    bearer: Bearer,
    /// As the process.
    transport: Transport,
    /// As nobody, if controllers bring their own tokens.
    anonymous: Option<Transport>,
    accounts: Mutex<HashMap<String, Arc<Account>>>,
}

impl Clients {
    /// The server, as a URL without path or credentials.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// A client under the name of the process that no fence stops: for informers, events, reviews.
    pub fn plain(&self, name: &str) -> Client {
        self.client(name, self.0.limit.gate(), |_| {})
    }

    /// A client for a controller: its writes pass the fence, and it acts under its own name if that was asked for.
    ///
    /// The name is that of its service account: `node-controller`, `service-controller`, `route-controller`.
    ///
    /// # Errors
    /// If its service account is neither there nor can be created.
    pub async fn for_controller(&self, name: &str) -> Result<Client, AccountError> {
        let fence = self.0.fence.clone();
        let gate = self.0.limit.gate();
        let (Identity::ServiceAccounts { namespace }, Some(transport)) = (&self.0.identity, &self.0.anonymous) else {
            return Ok(self.client(name, gate, |policy| policy.fence = fence));
        };
        let account = self.account(namespace, name);
        account.provide().await?;
        Ok(self.client(&account.username(), gate, |policy| {
            policy.fence = fence;
            policy.transport = transport.clone();
            policy.bearer = Bearer::Account(account.clone());
        }))
    }

    /// A client for leader election: it waits for nobody, gives each request only this long, repeats nothing except with
    /// new credentials, and has connections of its own, so that nothing else that is slow can cost the lease.
    ///
    /// # Errors
    /// If the credentials cannot be used any more.
    pub fn for_leases(&self, timeout: Duration) -> kube::Result<Client> {
        let transport = Transport::new(self.0.config.clone(), self.0.metrics.clone())?;
        Ok(self.client("leader-election", Gate::Open, |policy| {
            policy.transport = transport;
            policy.timeout = timeout;
            policy.retries = Retries::Off;
        }))
    }

    fn account(&self, namespace: &str, name: &str) -> Arc<Account> {
        let mut accounts = self.0.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        // Requests that wait for a token have their places already, so that of the token must not need one.
        let client = || self.client("service-accounts", Gate::Open, |_| {});
        let new = || Arc::new(Account::new(client(), namespace, name));
        accounts.entry(name.to_owned()).or_insert_with(new).clone()
    }

    fn client(&self, name: &str, gate: Gate, adjust: impl FnOnce(&mut Policy)) -> Client {
        let common = &self.0;
        let user_agent = HeaderValue::try_from(format!("{}/{name}", common.user_agent));
        let mut policy = Policy {
            transport: common.transport.clone(),
            bearer: common.bearer.clone(),
            user_agent: user_agent.unwrap_or(HeaderValue::from_static("unknown")),
            address: common.address.clone(),
            host: common.host.clone(),
            gate,
            fence: Fence::open(),
            retries: Retries::On,
            timeout: common.timeout,
            metrics: common.metrics.clone(),
        };
        adjust(&mut policy);
        ClientBuilder::new(Pipeline::new(policy), common.config.default_namespace.clone()).build()
    }
}

#[cfg(test)]
mod tests;
