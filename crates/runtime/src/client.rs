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
//! A request waits for the rate limit, passes the fence, is sent with a timeout, counted, and retried if the server requires it; see
//! [`Builder`]. All requests are JSON: `--kube-api-content-type` is accepted for compatibility, and has no effect.

mod account;
mod answer;
mod bearer;
mod builder;
mod config;
mod explain;
mod failure;
mod files;
mod in_cluster;
mod kubeconfig;
mod limit;
mod metrics;
mod origin;
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
pub(crate) use failure::is_lost;
pub use failure::{Failure, is_fenced, is_unreachable};
pub use limit::Limit;
pub use metrics::Metrics;
pub use origin::Origin;

use crate::fence::Fence;
use account::Account;
use bearer::Bearer;
use http::HeaderValue;
use kube::{Client, Config, client::ClientBuilder};
use limit::{Gate, Shared};
use parking_lot::Mutex;
use pipeline::{Pipeline, Policy, Retries};
use std::{collections::HashMap, sync::Arc, time::Duration};
use transport::Transport;

/// Creates the clients of a process. Clones share their connections.
///
/// A client belongs to the tokio runtime it is created in.
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
    /// With the credentials of the process.
    transport: Transport,
    /// Without credentials, if controllers have their own tokens.
    anonymous: Option<Transport>,
    accounts: Mutex<HashMap<String, Arc<Account>>>,
}

impl Clients {
    /// The server, as a URL without path or credentials.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// A client with the identity of the process and without a fence: for informers, events, reviews.
    pub fn plain(&self, name: &str) -> Client {
        self.client(name, self.0.limit.gate(), |_| {})
    }

    /// A client for a controller: its writes are behind the fence, and it has its own identity if that is configured.
    ///
    /// The name is that of its service account: `node-controller`, `service-controller`, `route-controller`.
    ///
    /// # Errors
    /// If its service account does not exist and cannot be created.
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

    /// A client for leader election: it has no rate limit, this timeout for each request, no retries except with new credentials,
    /// and separate connections, so that no other slow request can lose the lease.
    ///
    /// # Errors
    /// If the credentials cannot be used.
    pub fn for_leases(&self, timeout: Duration) -> kube::Result<Client> {
        let transport = Transport::new(self.0.config.clone(), self.0.metrics.clone())?;
        Ok(self.client("leader-election", Gate::Open, |policy| {
            policy.transport = transport;
            policy.timeout = timeout;
            policy.retries = Retries::Off;
        }))
    }

    fn account(&self, namespace: &str, name: &str) -> Arc<Account> {
        let mut accounts = self.0.accounts.lock();
        // Requests that wait for a token have passed the rate limit already, so the token request must not wait for it.
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
