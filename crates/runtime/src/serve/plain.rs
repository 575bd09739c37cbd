//! A port without TLS: health for probes, and metrics where a provider's Go program serves them without TLS.

use super::{
    Error, Limits, Sharing,
    chain::{Chain, Peer},
    listen,
};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, net::SocketAddr, sync::Arc};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// How many connections there may be.
const CONNECTIONS: usize = 32;

/// A plain port that is listened on.
#[derive(Debug)]
pub struct Plain {
    listener: TcpListener,
    address: SocketAddr,
    chain: Arc<Chain>,
}

impl Plain {
    /// Listens. Clients are served once it [runs](Plain::run).
    ///
    /// # Errors
    /// If the port is taken.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(address: SocketAddr, chain: Chain) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address, source };
        let listener = listen::listen(address.ip(), address.port(), Sharing::Alone).map_err(failed)?;
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            chain: Arc::new(chain),
        })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until cancelled.
    pub async fn run(self, cancel: CancellationToken) {
        tracing::info!(address = %self.address, "serving without TLS");
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                    Ok((stream, peer)) => {
                        connections.spawn(serve(self.chain.clone(), stream, peer));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(super::accept::ACCEPT_AGAIN).await;
                    }
                },
            }
        }
        connections.shutdown().await;
    }
}

async fn serve(chain: Arc<Chain>, stream: TcpStream, address: SocketAddr) {
    let limits = Limits::default();
    let peer = Arc::new(Peer {
        address,
        certificates: Vec::new(),
    });
    let answer = service_fn(move |request| {
        let (chain, peer) = (chain.clone(), peer.clone());
        async move { Ok::<_, Infallible>(chain.serve(&peer, request, limits.request).await.response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .serve_connection(TokioIo::new(stream), answer);
    if let Err(error) = connection.await {
        tracing::trace!(%error, "connection broke");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        health::{Checks, Scope},
        metrics::Slis,
        serve::health_endpoints,
    };

    #[tokio::test]
    async fn answers_probes_and_nothing_else() {
        let checks = Checks::new(Slis::new().expect("metrics"));
        checks.add("never", Scope::Ready, || Err("not yet".to_owned()));
        let anywhere = "127.0.0.1:0".parse().expect("an address");
        let port = Plain::bind(anywhere, Chain::open(health_endpoints(&checks))).expect("a port");
        let (address, stop) = (port.local_addr(), CancellationToken::new());
        let running = tokio::spawn(port.run(stop.clone()));
        lab::install_crypto();
        for (path, status) in [("healthz", 200), ("readyz", 500), ("metrics", 404)] {
            let answer = reqwest::get(format!("http://{address}/{path}"))
                .await
                .expect("an answer");
            assert_eq!(answer.status().as_u16(), status, "{path}");
        }
        stop.cancel();
        running.await.expect("stopped");
    }
}
