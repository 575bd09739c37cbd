//! Connections: accepted, secured, read, answered, broken.

use super::exchange::{Scheme, exchange};
use crate::Cloud;
use hyper::{rt::Read, rt::Write, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;

/// Serves every connection until it is aborted.
pub(super) async fn accept(listener: TcpListener, cloud: Cloud, tls: Option<TlsAcceptor>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                // Answers are small; a failure only makes them slower.
                let _ = stream.set_nodelay(true);
                let (cloud, tls) = (cloud.clone(), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(TokioIo::new(stream), cloud, Scheme::Http).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(TokioIo::new(stream), cloud, Scheme::Https).await;
                            }
                        }
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(io: impl Read + Write + Unpin + Send + 'static, cloud: Cloud, scheme: Scheme) {
    let service = service_fn(move |request| exchange(cloud.clone(), scheme, request));
    // No timers of its own: a test that pauses the clock would let them run out.
    // An error is a connection that broke, on purpose or not: there is nobody to tell.
    let _ = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(io, service)
        .await;
}
