//! Serving HTTPS: the secure port of a process, with its authentication, authorization and endpoints.
//!
//! A port is a [`Server`], what happens to a request on it is a [`Chain`], and who answers is a [`Mux`]:
//! [`endpoints()`] is that of the secure port.
//!
//! ```
//! # use runtime::{configz::Configz, health::Checks, metrics::Metrics, serve, version::Info};
//! # use std::error::Error;
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn Error>> {
//! let metrics = Metrics::new(&Info::current())?;
//! let checks = Checks::new(metrics.slis().clone());
//! let counted = serve::Metrics::register(metrics.registry())?;
//!
//! let mux = serve::endpoints(&checks, &metrics, &Configz::default(), serve::Debugging::Off);
//! let authenticator = serve::authn::Authenticator::new(Default::default(), counted.clone())?;
//! let authorizer = serve::authz::Authorizer::new(Default::default(), counted.clone())?;
//! let chain = serve::Chain::guarded(mux, authenticator, authorizer);
//!
//! let server = serve::Server::bind(serve::Options::default(), chain, &counted)?;
//! let stop = tokio_util::sync::CancellationToken::new();
//! # stop.cancel();
//! server.run(stop).await;
//! # Ok(()) }
//! ```

mod accept;
mod activity;
pub mod authn;
pub mod authz;
mod cache;
mod chain;
mod coding;
mod connection;
mod endpoints;
mod hash;
mod listen;
mod metrics;
mod mux;
mod plain;
pub mod response;
mod review;
pub mod tls;
pub mod trust;
pub(crate) mod uri;
mod user;

pub use chain::Chain;
pub use endpoints::{Debugging, SetVerbosity, endpoints, health_endpoints, metrics_endpoint};
pub use listen::{Sharing, address};
pub use metrics::Metrics;
pub use mux::{BodyError, Handler, Mux, Request};
pub use plain::Plain;
pub use response::Response;
pub use user::User;

use connection::Shared;
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

/// How often files are looked at again, unless something else is said.
pub const RELOAD: Duration = Duration::from_secs(10);
/// How many streams an HTTP/2 connection has, unless something else is said.
pub const STREAMS: u32 = 100;

/// How much a client may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long a request may take from its first byte to the end of its headers.
    pub header: Duration,
    /// How long a connection may be silent between requests.
    pub idle: Duration,
    /// How long an answer may take to be found.
    pub request: Duration,
    /// How large the headers of a request may be.
    pub header_bytes: usize,
    /// How many connections there may be. If there are more, those that have been idle longest are closed.
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

/// A port and how it is served.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; the unspecified address of either family means everywhere, in both.
    pub address: IpAddr,
    /// The port; 0 means any that is free.
    pub port: u16,
    /// Whether others may listen there too.
    pub sharing: Sharing,
    /// Certificates, versions, protocols.
    pub tls: tls::Settings,
    /// How much a client may ask for.
    pub limits: Limits,
    /// How long what has been asked may still take when the server is to stop.
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

/// Why a port is not served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// There is no certificate to show.
    #[error("cannot serve TLS")]
    Tls(#[from] tls::Error),
}

/// A port that is listened on.
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
    /// Listens, and loads what is needed to serve. Clients are served once it [runs](Server::run).
    ///
    /// # Errors
    /// If the port is taken or there is no certificate to show.
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
                tls,
                chain,
                limits,
                metrics: metrics.clone(),
            }),
            grace,
        })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until cancelled, and then until what has been asked is answered or the grace is over.
    pub async fn run(self, cancel: CancellationToken) {
        let Self {
            listener,
            address,
            shared,
            grace,
        } = self;
        tracing::info!(%address, "serving securely");
        let reloading = async {
            shared.tls.run(cancel.clone()).await;
            pending::<()>().await;
        };
        let identifying = async {
            if let Some(authenticator) = shared.chain.authenticator() {
                authenticator.run(cancel.clone()).await;
            }
            pending::<()>().await;
        };
        tokio::select! {
            () = accept::accept(&shared, listener, &cancel, grace) => {}
            () = reloading => {}
            () = identifying => {}
        }
        tracing::info!(%address, "stopped serving");
    }
}

#[cfg(test)]
mod tests;
