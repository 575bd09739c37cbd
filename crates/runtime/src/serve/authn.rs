//! Authentication: by a front proxy, a client certificate or a bearer token; otherwise the client is anonymous.

mod client_cert;
mod files;
mod lookup;
mod rejection;
mod request_header;
mod token;

pub use lookup::Lookup;

use super::{
    metrics::Metrics,
    trust::{BundleError, HeaderNames, Trust},
    user::User,
};
use files::Files;
use http::{HeaderMap, header};
use kube::Client;
use rejection::Rejection;
use rustls::pki_types::CertificateDer;
use std::{fmt, io, path::PathBuf, sync::Arc, time::Duration};
use token::Tokens;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// The settings of an authenticator.
pub struct Options {
    /// Client for `TokenReview`s and for the client CA configuration; if absent, bearer tokens are ignored.
    pub client: Option<Client>,
    /// The certificate authorities of client certificates; if absent, they are read from the cluster.
    pub client_ca_file: Option<PathBuf>,
    /// The certificate authorities of the front proxy; if absent, they and the header names are read from the cluster.
    pub request_header_ca_file: Option<PathBuf>,
    /// The headers of the front proxy, used with `request_header_ca_file`.
    pub request_header: HeaderNames,
    /// Whether missing settings are read from the cluster.
    pub lookup: Lookup,
    /// How long the result of a `TokenReview` is cached.
    pub token_ttl: Duration,
    /// How often the files are read again.
    pub reload: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let request_header = HeaderNames {
            uid: Vec::new(),
            ..request_header::standard()
        };
        Self {
            client: None,
            client_ca_file: None,
            request_header_ca_file: None,
            request_header,
            lookup: Lookup::Required,
            token_ttl: Duration::from_secs(10),
            reload: super::RELOAD,
        }
    }
}

/// Why an authenticator cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read the certificate authorities in {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file does not contain certificate authorities.
    #[error("cannot use the certificate authorities in {path}")]
    Bundle {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: BundleError,
    },
}

/// Authenticates requests.
pub struct Authenticator {
    trust: Arc<watch::Sender<Trust>>,
    tokens: Option<Tokens>,
    files: Files,
    lookup: Option<lookup::Cluster>,
    metrics: Metrics,
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator")
            .field("trust", &*self.trust.borrow())
            .finish_non_exhaustive()
    }
}

impl Authenticator {
    /// Creates an authenticator. It loads the files at once, and the client CA configuration of the cluster when it runs.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn new(options: Options, metrics: Metrics) -> Result<Self, Error> {
        let Options {
            client,
            client_ca_file,
            request_header_ca_file,
            request_header,
            lookup,
            token_ttl,
            reload,
        } = options;
        let tokens = client.clone().map(|client| Tokens::new(client, &metrics, token_ttl));
        let proxy = request_header_ca_file.map(|path| (path, request_header));
        let files = Files {
            client: client_ca_file,
            proxy,
            reload,
        };
        let trust = Arc::new(watch::Sender::new(files.load()?));
        let lookup = lookup::Cluster::new(client, lookup, &trust, files.wanted());
        Ok(Self {
            trust,
            tokens,
            files,
            lookup,
            metrics,
        })
    }

    /// A health check that fails until the client CA configuration of the cluster is loaded.
    pub fn check(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        let problem = self.lookup.as_ref().map(lookup::Cluster::problem);
        move || match problem.as_ref().and_then(|problem| problem.borrow().clone()) {
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    }

    pub(super) fn trust(&self) -> watch::Receiver<Trust> {
        self.trust.subscribe()
    }

    /// Watches the files and the cluster until cancelled.
    pub(super) async fn run(&self, cancel: CancellationToken) {
        let cluster = async {
            if let Some(cluster) = &self.lookup {
                cluster.run(cancel.clone()).await;
            }
        };
        tokio::join!(cluster, self.files.run(&self.trust, cancel.clone()));
    }

    /// Authenticates a request, and removes its credentials from the headers.
    pub(super) async fn authenticate(
        &self,
        chain: &[CertificateDer<'_>],
        headers: &mut HeaderMap,
    ) -> Result<User, Rejection> {
        let started = Instant::now();
        let trust = self.trust.borrow().clone();
        let result = self.user(&trust, chain, headers).await;
        let label = if result.is_ok() { "success" } else { "error" };
        self.metrics.authn.observe(&[label], started.elapsed());
        let user = result?;
        self.metrics.users.with_label_values(&[kind_of(&user.name)]).inc();
        headers.remove(header::AUTHORIZATION);
        request_header::clear(headers, &request_header::standard());
        if let Some(proxy) = &trust.proxy {
            request_header::clear(headers, &proxy.names);
        }
        Ok(user)
    }

    /// The first authenticator that recognises the client wins. If none does but one failed, the client is not anonymous.
    async fn user(&self, trust: &Trust, chain: &[CertificateDer<'_>], headers: &HeaderMap) -> Result<User, Rejection> {
        let mut problems = Vec::new();
        let mut known = |found: Result<Option<User>, Rejection>| match found {
            Ok(user) => user.map(User::authenticated),
            Err(problem) => {
                problems.push(problem);
                None
            }
        };
        let proxy = trust
            .proxy
            .as_ref()
            .map(|proxy| request_header::authenticate(proxy, chain, headers));
        if let Some(user) = proxy.and_then(&mut known) {
            return Ok(user);
        }
        let certificate = trust
            .client
            .as_ref()
            .map(|authority| client_cert::authenticate(authority, chain, &self.metrics.certificate_lifetime));
        if let Some(user) = certificate.and_then(&mut known) {
            return Ok(user);
        }
        if let Some(tokens) = &self.tokens
            && let Some(user) = known(tokens.authenticate(headers).await)
        {
            return Ok(user);
        }
        if problems.is_empty() {
            Ok(User::anonymous())
        } else {
            Err(Rejection::All(problems))
        }
    }
}

/// The label of a user in the metrics, as in the API server: names would be too many, and are private.
fn kind_of(name: &str) -> &str {
    match name {
        "admin" | "client" | "kube_proxy" | "kubelet" | "system:serviceaccount:kube-system:default" => name,
        name if name.contains('@') => "email_id",
        _ => "other",
    }
}
