//! One connection, from the handshake to its end.

use super::{
    Limits,
    chain::{Anonymous, Chain, Peer},
    idle::IdleTimeout,
    response::{self, Response},
    tls::{Http2, Tls},
};
use http::{Method, Request, Version};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use rustls::server::Acceptor;
use std::{
    convert::Infallible,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

/// The maximum number of headers of a request: a front proxy sends one for each group of a user.
const HEADERS: usize = 1024;

/// What all connections of a port share.
pub(super) struct Shared {
    /// `None` for a port without TLS.
    pub(super) tls: Option<Secure>,
    pub(super) chain: Chain,
    pub(super) limits: Limits,
}

/// TLS of a port.
pub(super) struct Secure {
    pub(super) tls: Tls,
    pub(super) handshake_errors: prometheus::IntCounter,
}

/// The number of requests of a connection that are being answered. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    pub(super) fn is_idle(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Serves one connection. After `finish`, it answers the requests in flight and ends.
pub(super) async fn serve(shared: Arc<Shared>, stream: TcpStream, finish: CancellationToken, in_flight: InFlight) {
    let Ok(address) = stream.peer_addr() else { return };
    let mut peer = Peer {
        address,
        certificates: Vec::new(),
    };
    let Some(secure) = &shared.tls else {
        let connection = Connection::new(&shared, peer, finish, in_flight);
        return connection.http1(stream).await;
    };
    let stream = tokio::select! {
        () = finish.cancelled() => return,
        stream = timeout(shared.limits.handshake, handshake(&secure.tls, stream, &peer)) => stream,
    };
    let Ok(Some(stream)) = stream else {
        secure.handshake_errors.inc();
        return;
    };
    let tls = stream.get_ref().1;
    let certificates = tls.peer_certificates().unwrap_or_default();
    peer.certificates = certificates.iter().map(|der| der.clone().into_owned()).collect();
    let is_http2 = tls.alpn_protocol() == Some(b"h2");
    let connection = Connection::new(&shared, peer, finish, in_flight);
    if is_http2 {
        connection.http2(stream, secure.tls.http2()).await;
    } else {
        connection.http1(stream).await;
    }
}

async fn handshake(tls: &Tls, stream: TcpStream, peer: &Peer) -> Option<TlsStream<TcpStream>> {
    let local = stream.local_addr().ok()?;
    let failed = |error: std::io::Error| tracing::trace!(remote = %peer.address, %error, "TLS handshake failed");
    let start = LazyConfigAcceptor::new(Acceptor::default(), stream)
        .await
        .map_err(failed)
        .ok()?;
    let config = tls.config(start.client_hello().server_name(), local.ip());
    start.into_stream(config).await.map_err(failed).ok()
}

/// A connection after the handshake.
struct Connection {
    shared: Arc<Shared>,
    peer: Peer,
    finish: CancellationToken,
    in_flight: InFlight,
}

impl Connection {
    fn new(shared: &Arc<Shared>, peer: Peer, finish: CancellationToken, in_flight: InFlight) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            peer,
            finish,
            in_flight,
        })
    }

    async fn http1<S: AsyncRead + AsyncWrite + Unpin + 'static>(self: Arc<Self>, stream: S) {
        let limits = self.shared.limits;
        let io = TokioIo::new(IdleTimeout::new(stream, limits.idle));
        let service = self.clone();
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header)
            .max_headers(HEADERS)
            .max_header_size(limits.header_bytes)
            .max_buf_size(limits.header_bytes.max(8192) + 4096)
            .serve_connection(io, service_fn(move |request| service.clone().answer(request)));
        self.drive(connection).await;
    }

    async fn http2<S: AsyncRead + AsyncWrite + Unpin + 'static>(self: Arc<Self>, stream: S, settings: Http2) {
        let limits = self.shared.limits;
        let streams = match settings {
            Http2::On { streams } => streams,
            Http2::Off => 1,
        };
        let io = TokioIo::new(IdleTimeout::new(stream, limits.idle));
        let service = self.clone();
        let connection = http2::Builder::new(TokioExecutor::new())
            .max_concurrent_streams(streams)
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .serve_connection(io, service_fn(move |request| service.clone().answer(request)));
        self.drive(connection).await;
    }

    /// Runs a connection until it ends by itself, or after `finish` until the requests in flight are answered.
    async fn drive<C: GracefulConnection<Error = hyper::Error>>(&self, connection: C) {
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.finish.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::trace!(%error, "connection failed");
        }
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response, Infallible> {
        let _counted = Counted::new(&self.in_flight);
        let (version, is_head) = (request.version(), request.method() == Method::HEAD);
        let limit = self.shared.limits.request;
        let response = self.shared.chain.serve(&self.peer, request, limit).await;
        // HTTP/2 is easily abused, so anonymous clients get one answer per connection, as from the API server.
        if version == Version::HTTP_2 && response.extensions().get::<Anonymous>().is_some() {
            self.finish.cancel();
        }
        Ok(if is_head {
            response::without_body(response)
        } else {
            response
        })
    }
}

/// A request in flight, until it is dropped.
struct Counted(InFlight);

impl Counted {
    fn new(in_flight: &InFlight) -> Self {
        in_flight.0.fetch_add(1, Ordering::Relaxed);
        Self(in_flight.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
