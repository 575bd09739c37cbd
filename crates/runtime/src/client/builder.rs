//! How the clients of a process are made.

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
use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

/// How long a request may take unless told otherwise.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Under which name controllers act.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Identity {
    /// That of the process.
    #[default]
    Process,
    /// Each its own service account in this namespace: `--use-service-account-credentials`.
    ServiceAccounts {
        /// Where the accounts are: `kube-system`.
        namespace: String,
    },
}

/// Says how the clients of a process behave.
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

/// Leaves out the configuration: the URL of a proxy may have a password in it.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, _) = names(&self.config.cluster_url);
        f.debug_struct("Builder")
            .field("address", &address)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Clients for this server that are limited by default, behind no fence, and give up a request after a minute.
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

    /// Names the program in the user agent; without this it is the name it was started by.
    pub fn binary(self, binary: &str, version: Info) -> Self {
        Self {
            binary: binary.to_owned(),
            version,
            ..self
        }
    }

    /// Limits what is asked of the server.
    pub fn limit(self, limit: Limit) -> Self {
        Self { limit, ..self }
    }

    /// Refuses the writes of controllers while this is closed; see [`is_fenced`].
    pub fn fence(self, fence: Fence) -> Self {
        Self { fence, ..self }
    }

    /// Says under which name controllers act.
    pub fn identity(self, identity: Identity) -> Self {
        Self { identity, ..self }
    }

    /// Gives each request, with all its repetitions, this long; a watch must begin by then, and may go on.
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

    /// Makes the clients. A credential plugin of the kubeconfig is run now, and blocks; one that fails is run again with
    /// later requests.
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

/// Takes the token file out of the hands of [`kube`]: ours strips the line end that editors leave, and reads the file at
/// once when the server rejects the token.
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

/// The server as people and as the metrics call it: without path and credentials.
fn names(url: &Uri) -> (Arc<str>, Arc<str>) {
    let host = url
        .authority()
        .and_then(|authority| authority.as_str().rsplit('@').next())
        .unwrap_or("none");
    let address = format!("{}://{host}", url.scheme_str().unwrap_or("http"));
    (address.into(), host.into())
}
