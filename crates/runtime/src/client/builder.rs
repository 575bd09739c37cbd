//! The builder of the clients of a process.

use super::{
    Clients, Common,
    bearer::{Bearer, TokenFile},
    limit::{Limit, Shared},
    metrics::Metrics,
    transport::Transport,
    user_agent,
};
use crate::{fence::Fence, version::Info};
use http::Uri;
use kube::{Config, config::AuthInfo};
use parking_lot::Mutex;
use std::{fmt, sync::Arc, time::Duration};

/// The default timeout of a request.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The identity of controllers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Identity {
    /// The identity of the process.
    #[default]
    Process,
    /// A service account for each controller in this namespace: `--use-service-account-credentials`.
    ServiceAccounts {
        /// The namespace of the accounts: `kube-system`.
        namespace: String,
    },
}

/// The settings of the clients of a process.
#[must_use]
pub struct Builder {
    config: Config,
    binary: String,
    version: Info,
    limit: Limit,
    fence: Fence,
    identity: Identity,
    timeout: Duration,
    metrics: Option<Metrics>,
}

/// Without the configuration: the URL of a proxy may contain a password.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, _) = names(&self.config.cluster_url);
        f.debug_struct("Builder")
            .field("address", &address)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Clients for this server with the default limit, without a fence, and with a timeout of one minute.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            binary: std::env::args().next().unwrap_or_default(),
            version: Info::current(),
            limit: Limit::default(),
            fence: Fence::open(),
            identity: Identity::Process,
            timeout: TIMEOUT,
            metrics: None,
        }
    }

    /// Sets the program in the user agent; the default is its first argument.
    pub fn binary(self, binary: &str, version: Info) -> Self {
        Self {
            binary: binary.to_owned(),
            version,
            ..self
        }
    }

    /// Limits the requests to the server.
    pub fn limit(self, limit: Limit) -> Self {
        Self { limit, ..self }
    }

    /// Rejects the writes of controllers while this is closed; see [`is_fenced`](super::is_fenced).
    pub fn fence(self, fence: Fence) -> Self {
        Self { fence, ..self }
    }

    /// Sets the identity of controllers.
    pub fn identity(self, identity: Identity) -> Self {
        Self { identity, ..self }
    }

    /// Sets the timeout of a request with all its retries; a watch must only begin within it.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Counts requests.
    pub fn metrics(self, metrics: Metrics) -> Self {
        Self {
            metrics: Some(metrics),
            ..self
        }
    }

    /// Creates the clients. A credential plugin of the kubeconfig is run now, and blocks; if it fails, it is run again with later
    /// requests.
    ///
    /// # Errors
    /// If the credentials cannot be used.
    pub fn build(self) -> kube::Result<Clients> {
        let Self {
            mut config,
            binary,
            version,
            limit,
            fence,
            identity,
            timeout,
            metrics,
        } = self;
        let bearer = take_token_file(&mut config);
        let (address, host) = names(&config.cluster_url);
        let anonymous = match &identity {
            Identity::Process => None,
            Identity::ServiceAccounts { .. } => Some(Transport::new(without_credentials(&config), metrics.clone())?),
        };
        let common = Common {
            user_agent: user_agent::of(&binary, &version),
            address,
            host,
            limit: Shared::new(limit),
            fence,
            timeout,
            transport: Transport::new(config.clone(), metrics.clone())?,
            metrics,
            bearer,
            anonymous,
            config,
            identity,
            accounts: Mutex::default(),
        };
        Ok(Clients(Arc::new(common)))
    }
}

/// Handles the token file instead of [`kube`]: [`TokenFile`] removes a trailing line end, and reads the file again at once when the
/// server rejects the token.
fn take_token_file(config: &mut Config) -> Bearer {
    let AuthInfo { token, token_file, .. } = &mut config.auth_info;
    match token_file.take() {
        Some(path) => Bearer::File(Arc::new(TokenFile::new(path.into(), token.take().as_ref()))),
        None => Bearer::None,
    }
}

fn without_credentials(config: &Config) -> Config {
    let mut config = config.clone();
    config.auth_info = AuthInfo::default();
    config
}

/// The address of the server for messages and its host for metrics: without path and credentials.
fn names(url: &Uri) -> (Arc<str>, Arc<str>) {
    let host = url
        .authority()
        .and_then(|authority| authority.as_str().rsplit('@').next())
        .unwrap_or("none");
    let address = format!("{}://{host}", url.scheme_str().unwrap_or("http"));
    (address.into(), host.into())
}
