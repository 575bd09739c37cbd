//! One connection, from the handshake to its end.

use super::{
    Limits,
    activity::{Activity, InFlight, Protocol, Watched},
    chain::{Answer, Caller, Chain, Peer},
    response,
    tls::{Http2, Tls},
};
use bytes::Bytes;
use http::Method;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::server::Acceptor;
use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};
use tokio::{
    net::TcpStream,
    time::{sleep_until, timeout},
};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

/// The most headers in one request: a front proxy sends one for each group of a user.
const HEADERS: usize = 1024;

/// What all connections of a port have in common.
pub(super) struct Shared {
    pub(super) tls: Tls,
    pub(super) chain: Chain,
    pub(super) limits: Limits,
    pub(super) metrics: super::Metrics,
}

/// Serves one connection. After `finish` it answers what has been asked, and ends. `started` is told what it does.
pub(super) async fn serve(
    shared: Arc<Shared>,
    stream: TcpStream,
    finish: CancellationToken,
    started: impl FnOnce(Activity) + Send,
) {
    let stream = tokio::select! {
        () = finish.cancelled() => return,
        stream = timeout(shared.limits.handshake, handshake(&shared.tls, stream)) => stream,
    };
    let Ok(Some((stream, peer))) = stream else {
        shared.metrics.tls_handshake_errors.inc();
        return;
    };
    let protocol = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let activity = Activity::new(protocol, shared.limits);
    started(activity.clone());
    let io = TokioIo::new(Watched {
        stream,
        activity: activity.clone(),
    });
    let service = Arc::new(Service {
        shared,
        peer,
        activity: activity.clone(),
        finish: finish.clone(),
    });
    match protocol {
        Protocol::Http1 => http1(io, service, &activity, &finish).await,
        Protocol::Http2 => http2(io, service, &activity, &finish).await,
    }
}

async fn handshake(tls: &Tls, stream: TcpStream) -> Option<(TlsStream<TcpStream>, Peer)> {
    let (local, remote) = (stream.local_addr().ok()?, stream.peer_addr().ok()?);
    let failed = |error: std::io::Error| tracing::trace!(%remote, %error, "TLS handshake failed");
    let start = LazyConfigAcceptor::new(Acceptor::default(), stream)
        .await
        .map_err(failed)
        .ok()?;
    let config = tls.config(start.client_hello().server_name(), local.ip());
    let stream = start.into_stream(config).await.map_err(failed).ok()?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let certificates = certificates.iter().map(|der| der.clone().into_owned()).collect();
    Some((
        stream,
        Peer {
            address: remote,
            certificates,
        },
    ))
}

type Io = TokioIo<Watched<TlsStream<TcpStream>>>;

async fn http1(io: Io, service: Arc<Service>, activity: &Activity, finish: &CancellationToken) {
    let limit = service.shared.limits.header_bytes;
    let service = service_fn(move |request| answer(service.clone(), request));
    let connection = hyper::server::conn::http1::Builder::new()
        // Ours tells a client that has begun to ask from one that has not.
        .header_read_timeout(None)
        .max_headers(HEADERS)
        .max_header_size(limit)
        .max_buf_size(limit.max(8192) + 4096)
        .serve_connection(io, service);
    let connection = pin!(connection);
    drive(
        connection,
        hyper::server::conn::http1::Connection::graceful_shutdown,
        activity,
        finish,
    )
    .await;
}

async fn http2(io: Io, service: Arc<Service>, activity: &Activity, finish: &CancellationToken) {
    let limits = service.shared.limits;
    let streams = match service.shared.tls.http2() {
        Http2::On { streams } => streams,
        Http2::Off => 1,
    };
    let service = service_fn(move |request| answer(service.clone(), request));
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .max_concurrent_streams(streams)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .serve_connection(io, service);
    let connection = pin!(connection);
    drive(
        connection,
        hyper::server::conn::http2::Connection::graceful_shutdown,
        activity,
        finish,
    )
    .await;
}

/// Lets a connection run until it ends, runs out of time, or is told to end.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    mut connection: Pin<&mut C>,
    shut_down: impl Fn(Pin<&mut C>),
    activity: &Activity,
    finish: &CancellationToken,
) {
    let mut timer = pin!(sleep_until(activity.deadline()));
    let mut finishing = pin!(finish.cancelled());
    let mut told = false;
    poll_fn(|cx| {
        if !told && finishing.as_mut().poll(cx).is_ready() {
            told = true;
            shut_down(connection.as_mut());
        }
        if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
            if let Err(error) = ended {
                tracing::trace!(%error, "connection broke");
            }
            return Poll::Ready(());
        }
        // What was just done may have moved it, to either side.
        let deadline = activity.deadline();
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    })
    .await;
}

struct Service {
    shared: Arc<Shared>,
    peer: Peer,
    activity: Activity,
    finish: CancellationToken,
}

async fn answer(
    service: Arc<Service>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Tracked>, Infallible> {
    let in_flight = service.activity.begin();
    let (version, is_head) = (request.version(), request.method() == Method::HEAD);
    let limit = service.shared.limits.request;
    let Answer { response, caller } = service.shared.chain.serve(&service.peer, request, limit).await;
    // HTTP/2 is easily abused, so those whom we do not know get one answer a connection, as from the API server.
    if version == http::Version::HTTP_2 && caller == Caller::Unknown {
        service.finish.cancel();
    }
    let response = if is_head {
        response::without_body(response)
    } else {
        response
    };
    Ok(response.map(|body| Tracked {
        body,
        _in_flight: in_flight,
    }))
}

/// A body that is in flight until it is dropped.
struct Tracked {
    body: Full<Bytes>,
    _in_flight: InFlight,
}

impl Body for Tracked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
