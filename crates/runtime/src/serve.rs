//! Serving HTTPS: the secure port of a process, with its authentication, authorization and endpoints.
//!
//! A port is a [`Server`]. A [`Chain`] authenticates and authorizes its requests, and passes them to an [`axum::Router`];
//! [`endpoints()`] is the router of the secure port.
//!
//! ```
//! # use runtime::{configz::Configz, health::Checks, metrics::Metrics, serve, version::Info};
//! # use std::error::Error;
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn Error>> {
//! let metrics = Metrics::new(&Info::current())?;
//! let checks = Checks::new(metrics.slis().clone());
//! let counted = serve::Metrics::register(metrics.registry())?;
//!
//! let endpoints = serve::endpoints(&checks, &metrics, &Configz::default(), serve::Debugging::Off);
//! let authenticator = serve::authn::Authenticator::new(Default::default(), counted.clone())?;
//! let authorizer = serve::authz::Authorizer::new(Default::default(), counted.clone())?;
//! let chain = serve::Chain::guarded(endpoints, authenticator, authorizer);
//!
//! let server = serve::Server::bind(serve::Options::default(), chain, &counted)?;
//! let stop = tokio_util::sync::CancellationToken::new();
//! # stop.cancel();
//! server.run(stop).await;
//! # Ok(()) }
//! ```

mod accept;
pub mod authn;
pub mod authz;
mod cache;
mod chain;
mod connection;
mod endpoints;
mod hash;
mod idle;
mod listen;
mod metrics;
pub mod response;
mod review;
pub mod tls;
pub mod trust;
mod user;

pub use chain::Chain;
pub use endpoints::{Debugging, SetVerbosity, endpoints, health_endpoints, metrics_endpoint};
pub use listen::{Sharing, address};
pub use metrics::Metrics;
pub use response::Response;
pub use user::User;

use connection::{Secure, Shared};
use std::{
    future::pending,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tls::{Certificate, Http2, Profile, Tls};
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

/// How often files are read again by default.
pub const RELOAD: Duration = Duration::from_secs(10);
/// The maximum number of streams of an HTTP/2 connection by default.
pub const STREAMS: u32 = 100;
/// The maximum number of connections of a port without TLS.
const PLAIN_CONNECTIONS: usize = 32;

/// The limits for clients.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The maximum time of a TLS handshake.
    pub handshake: Duration,
    /// The maximum time until all headers of a request have arrived, with HTTP/1.1.
    pub header: Duration,
    /// The maximum time without a byte in either direction. It must be longer than `request`.
    pub idle: Duration,
    /// The maximum time of a handler.
    pub request: Duration,
    /// The maximum size of the headers of a request.
    pub header_bytes: usize,
    /// The maximum number of connections. If there are more, the oldest one without a request in flight is closed.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(32),
            idle: Duration::from_secs(90),
            request: Duration::from_mins(1),
            header_bytes: 1 << 20,
            connections: 256,
        }
    }
}

/// The settings of a port.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on; the unspecified address of either family means all addresses of both.
    pub address: IpAddr,
    /// The port; 0 means any free port.
    pub port: u16,
    /// Whether other processes may listen on the port, too.
    pub sharing: Sharing,
    /// Certificates, versions, protocols.
    pub tls: tls::Settings,
    /// The limits for clients.
    pub limits: Limits,
    /// The time for requests in flight when the server stops.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::UNSPECIFIED.into(),
            port: 0,
            sharing: Sharing::Alone,
            tls: tls::Settings {
                certificate: Certificate::Memory,
                sni: Vec::new(),
                profile: Profile::default(),
                http2: Http2::On { streams: STREAMS },
                reload: RELOAD,
            },
            limits: Limits::default(),
            grace: Duration::from_secs(5),
        }
    }
}

/// Why a port cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Listening failed.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// No certificate can be served.
    #[error("cannot serve TLS")]
    Tls(#[from] tls::Error),
}

/// A port that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    grace: Duration,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Listens, and loads the certificates. Clients are served once it [runs](Server::run).
    ///
    /// # Errors
    /// If the port is in use or there is no certificate.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(options: Options, chain: Chain, metrics: &Metrics) -> Result<Self, Error> {
        let Options {
            address,
            port,
            sharing,
            tls,
            limits,
            grace,
        } = options;
        let trust = chain
            .authenticator()
            .map_or_else(|| watch::channel(trust::Trust::default()).1, |it| it.trust());
        let tls = Tls::load(tls, address, trust)?;
        let failed = |source| Error::Listen {
            address: SocketAddr::new(address, port),
            source,
        };
        let listener = listen::listen(address, port, sharing).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            shared: Arc::new(Shared {
                tls: Some(Secure {
                    tls,
                    handshake_errors: metrics.tls_handshake_errors.clone(),
                }),
                chain,
                limits,
            }),
            grace,
        })
    }

    /// Listens on a port without TLS: health for probes, and metrics where a provider's Go program serves them without TLS.
    ///
    /// # Errors
    /// If the port is in use.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind_plain(address: SocketAddr, chain: Chain) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address, source };
        let listener = listen::listen(address.ip(), address.port(), Sharing::Alone).map_err(failed)?;
        let limits = Limits {
            connections: PLAIN_CONNECTIONS,
            ..Limits::default()
        };
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            shared: Arc::new(Shared {
                tls: None,
                chain,
                limits,
            }),
            grace: Options::default().grace,
        })
    }

    /// The address it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until cancelled, and then until the requests in flight are answered or the grace period is over.
    pub async fn run(self, cancel: CancellationToken) {
        let Self {
            listener,
            address,
            shared,
            grace,
        } = self;
        if shared.tls.is_some() {
            tracing::info!(%address, "serving securely");
        } else {
            tracing::info!(%address, "serving without TLS");
        }
        let reloading = async {
            if let Some(secure) = &shared.tls {
                secure.tls.run(cancel.clone()).await;
            }
            pending::<()>().await;
        };
        let authenticating = async {
            if let Some(authenticator) = shared.chain.authenticator() {
                authenticator.run(cancel.clone()).await;
            }
            pending::<()>().await;
        };
        tokio::select! {
            () = accept::accept(&shared, listener, &cancel, grace) => {}
            () = reloading => {}
            () = authenticating => {}
        }
        tracing::info!(%address, "stopped serving");
    }
}

#[cfg(test)]
mod tests;
