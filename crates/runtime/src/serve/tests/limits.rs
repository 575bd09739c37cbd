//! Slow, silent and too many clients, and the shutdown of a server.

use super::*;
use http::StatusCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::wait;
use tokio::{
    io::AsyncWriteExt,
    sync::{Notify, Semaphore},
    time::timeout,
};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Long enough for a well-behaved client on a busy machine.
const SOON: Duration = Duration::from_secs(1);

fn with_limits(change: impl FnOnce(&mut Limits)) -> Options {
    let mut options = options();
    change(&mut options.limits);
    options
}

/// Answers at `/wait` when the test allows it.
#[derive(Clone)]
struct Gate {
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    open: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Self {
        Self {
            inside: Arc::default(),
            most: Arc::default(),
            open: Arc::new(Semaphore::new(0)),
        }
    }

    fn endpoints(&self) -> Router {
        let gate = self.clone();
        let wait = async move || {
            let inside = gate.inside.fetch_add(1, Ordering::SeqCst) + 1;
            gate.most.fetch_max(inside, Ordering::SeqCst);
            gate.open.acquire().await.unwrap().forget();
            gate.inside.fetch_sub(1, Ordering::SeqCst);
            response::text(StatusCode::OK, "waited")
        };
        Router::new().route("/wait", any(wait))
    }

    async fn until_inside(&self, count: usize) {
        wait::until("requests to come in", || {
            let inside = self.inside.load(Ordering::SeqCst);
            std::future::ready(if inside == count { Ok(()) } else { Err(inside) })
        })
        .await;
    }
}

fn get(server: &Running, path: &str) -> JoinHandle<reqwest::Result<u16>> {
    let request = client().get(server.url(path)).send();
    tokio::spawn(async move { Ok(request.await?.status().as_u16()) })
}

#[tokio::test]
async fn a_header_may_be_large_but_not_huge() {
    let server = Running::start(options(), open(Router::new()));
    for (size, status) in [(900 << 10, 200), (2 << 20, 431)] {
        let mut stream = connect(server.address, "localhost").await.unwrap();
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: {}\r\n\r\n",
            "x".repeat(size)
        );
        // The server may close before it has read everything.
        let _ = stream.write_all(request.as_bytes()).await;
        let answer = closed(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{size}: {answer}");
    }
    assert_eq!(server.status("/").await, 200);
}

#[tokio::test]
async fn a_header_may_be_large_but_not_huge_with_http2() {
    let server = Running::start(options(), open(Router::new()));
    for (size, expected) in [(900 << 10, Some(200)), (1100 << 10, Some(431)), (4 << 20, None)] {
        let answer = client().get(server.url("/")).header("x", "x".repeat(size)).send().await;
        let answer = answer.map(|answer| (answer.version(), answer.status().as_u16())).ok();
        assert_eq!(
            answer,
            expected.map(|status| (reqwest::Version::HTTP_2, status)),
            "{size}"
        );
    }
    assert_eq!(server.status("/").await, 200);
}

#[tokio::test]
async fn there_may_be_many_headers() {
    let server = Running::start(options(), open(Router::new()));
    let mut request = client_builder().http1_only().build().unwrap().get(server.url("/"));
    for group in 0..900 {
        request = request.header("x-remote-group", group.to_string());
    }
    assert_eq!(request.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_slow_client_is_dropped_while_others_are_served() {
    let server = Running::start(with_limits(|limits| limits.header = SOON * 2), open(Router::new()));
    let mut slow = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(server.address, "localhost").await.unwrap();
        slow.push(tokio::spawn(async move {
            stream.write_all(b"GET / HTTP/1.1\r\nX: ").await.unwrap();
            while stream.write_all(b"x").await.is_ok() {
                let read = timeout(Duration::from_millis(20), closed(&mut stream)).await;
                if let Ok(message) = read {
                    return message;
                }
            }
            String::new()
        }));
    }
    for _ in 0..10 {
        assert_eq!(server.status("/").await, 200);
    }
    for slow in slow {
        assert_eq!(timeout(PATIENCE, slow).await.unwrap().unwrap(), "");
    }
    assert_eq!(server.status("/").await, 200);
}

#[tokio::test]
async fn a_client_without_a_handshake_is_dropped() {
    let server = Running::start(with_limits(|limits| limits.handshake = SOON), open(Router::new()));
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let read = timeout(PATIENCE, silent.read(&mut [0])).await.unwrap();
    assert_eq!(read.unwrap_or(0), 0);
    assert!(
        server.metrics().contains("apiserver_tls_handshake_errors_total 1"),
        "{}",
        server.metrics()
    );
}

#[tokio::test]
async fn a_client_without_a_request_is_dropped() {
    let server = Running::start(with_limits(|limits| limits.header = SOON), open(Router::new()));
    let mut silent = connect(server.address, "localhost").await.unwrap();
    assert_eq!(timeout(PATIENCE, closed(&mut silent)).await.unwrap(), "");
}

#[tokio::test]
async fn an_idle_client_is_dropped() {
    let server = Running::start(with_limits(|limits| limits.idle = SOON), open(Router::new()));
    let mut one = connect(server.address, "localhost").await.unwrap();
    one.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let answer = timeout(PATIENCE, closed(&mut one)).await.unwrap();
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");

    let mut two = connect_with_alpn(server.address, b"h2").await;
    let nothing_but_settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    two.write_all(nothing_but_settings).await.unwrap();
    timeout(PATIENCE, closed(&mut two)).await.unwrap();
}

/// More than fits into the buffers between a server and a client that does not read; reports when it is dropped.
struct Large(Vec<u8>, Arc<Notify>);

impl AsRef<[u8]> for Large {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        self.1.notify_one();
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_dropped() {
    let limits = |limits: &mut Limits| {
        limits.request = SOON;
        limits.idle = SOON;
    };
    let dropped = Arc::new(Notify::new());
    let heard = dropped.clone();
    let large = move || {
        let body = bytes::Bytes::from_owner(Large(vec![b'x'; 32 << 20], heard.clone()));
        std::future::ready(response::text(StatusCode::OK, body))
    };
    let large = Router::new().route("/large", any(large));
    let server = Running::start(with_limits(limits), open(large));
    let mut one = connect(server.address, "localhost").await.unwrap();
    one.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    timeout(PATIENCE, dropped.notified()).await.unwrap();

    let unread = client().get(server.url("/large")).send().await.unwrap();
    assert_eq!(unread.version(), reqwest::Version::HTTP_2);
    timeout(PATIENCE, dropped.notified()).await.unwrap();
    assert!(unread.bytes().await.is_err());
}

async fn connect_with_alpn(server: SocketAddr, protocol: &[u8]) -> TlsStream<TcpStream> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(outbound::AcceptAny))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(server).await.unwrap();
    TlsConnector::from(Arc::new(config))
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_client_without_tls_is_counted_and_dropped() {
    let server = Running::start(options(), open(Router::new()));
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap();
    wait::until("the error to be counted", || {
        let metrics = server.metrics();
        let counted = metrics.contains("apiserver_tls_handshake_errors_total 1");
        std::future::ready(if counted { Ok(()) } else { Err(metrics) })
    })
    .await;
}

#[tokio::test]
async fn too_many_connections_close_the_oldest_idle_one() {
    let server = Running::start(with_limits(|limits| limits.connections = 2), open(Router::new()));
    let ask = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut connections = Vec::new();
    for _ in 0..2 {
        let mut stream = connect(server.address, "localhost").await.unwrap();
        stream.write_all(ask).await.unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        connections.push(stream);
    }
    assert_eq!(server.status("/").await, 200);
    timeout(PATIENCE, closed(&mut connections[0])).await.unwrap();
    connections[1].write_all(ask).await.unwrap();
    connections[1]
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let answers = timeout(PATIENCE, closed(&mut connections[1])).await.unwrap();
    assert_eq!(answers.matches("\r\n\r\nok").count(), 3, "{answers}");
}

#[tokio::test]
async fn too_many_connections_do_not_close_a_busy_one() {
    let gate = Gate::new();
    let server = Running::start(with_limits(|limits| limits.connections = 2), open(gate.endpoints()));
    let waiting = [get(&server, "/wait"), get(&server, "/wait")];
    gate.until_inside(2).await;
    assert!(client().get(server.url("/")).send().await.is_err());
    gate.open.add_permits(2);
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().unwrap(), 200);
    }
    assert_eq!(server.status("/").await, 200);
}

#[tokio::test]
async fn a_connection_has_as_many_streams_as_allowed() {
    let gate = Gate::new();
    let mut options = options();
    options.tls.http2 = Http2::On { streams: 2 };
    let server = Running::start(options, open(gate.endpoints()));
    let one_connection = client_builder().pool_max_idle_per_host(1).build().unwrap();
    assert_eq!(one_connection.get(server.url("/")).send().await.unwrap().status(), 200);
    let requests = (0..6).map(|_| one_connection.get(server.url("/wait")).send());
    let answers = tokio::spawn(futures::future::join_all(requests));
    gate.until_inside(2).await;
    gate.open.add_permits(6);
    for answer in answers.await.unwrap() {
        assert_eq!(answer.unwrap().status(), 200);
    }
    assert_eq!(gate.most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn many_probes_are_answered_at_once() {
    let server = Running::start(options(), open(Router::new()));
    let statuses = futures::future::join_all((0..100).map(|_| server.status("/"))).await;
    assert_eq!(statuses, [200; 100]);
}

#[tokio::test]
async fn a_slow_handler_times_out() {
    let gate = Gate::new();
    let server = Running::start(
        with_limits(|limits| limits.request = Duration::from_millis(100)),
        open(gate.endpoints()),
    );
    assert_eq!(server.status("/wait").await, 504);
}

#[tokio::test]
async fn a_panic_affects_one_request() {
    let panic = async |request: axum::extract::Request| {
        assert!(request.uri().path().is_empty(), "on purpose");
        response::not_found()
    };
    let endpoints = Router::new().route("/panic", any(panic));
    let server = Running::start(options(), open(endpoints));
    assert_eq!(server.status("/panic").await, 500);
    assert_eq!(server.status("/").await, 200);
}

#[tokio::test]
async fn requests_in_flight_are_answered_before_the_end() {
    for client in [client_builder().http1_only(), client_builder()] {
        let gate = Gate::new();
        let server = Running::start(options(), open(gate.endpoints()));
        let request = client.build().unwrap().get(server.url("/wait")).send();
        let waiting = tokio::spawn(async move { request.await.unwrap().status().as_u16() });
        gate.until_inside(1).await;
        let mut idle = connect(server.address, "localhost").await.unwrap();
        server.cancel.cancel();
        timeout(PATIENCE, closed(&mut idle)).await.unwrap();
        wait::until("the port to be closed", || async {
            if TcpStream::connect(server.address).await.is_err() {
                Ok(())
            } else {
                Err("still open")
            }
        })
        .await;
        gate.open.add_permits(1);
        assert_eq!(waiting.await.unwrap(), 200);
        server.stop().await;
    }
}

#[tokio::test]
async fn the_grace_period_limits_the_shutdown() {
    let gate = Gate::new();
    let server = Running::start(
        Options {
            grace: Duration::from_millis(100),
            ..options()
        },
        open(gate.endpoints()),
    );
    let waiting = get(&server, "/wait");
    gate.until_inside(1).await;
    timeout(PATIENCE, server.stop()).await.unwrap();
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test]
async fn anonymous_clients_get_one_answer_per_http2_connection() {
    let closing = Arc::new(Notify::new());
    let identify = authn::Options {
        lookup: authn::Lookup::Skip,
        ..authn::Options::default()
    };
    let permit = authz::Options {
        always_allow_paths: vec!["/".into()],
        ..authz::Options::default()
    };
    let server = Running::start(options(), |metrics| super::rotation::guarded(identify, permit, metrics));
    let stream = connect_with_alpn(server.address, b"h2").await;
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http2::handshake(hyper_util::rt::TokioExecutor::new(), io)
        .await
        .unwrap();
    let closed = closing.clone();
    tokio::spawn(async move {
        let _ = connection.await;
        closed.notify_one();
    });
    let request = http::Request::get("https://localhost/").body(String::new()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
    timeout(PATIENCE, closing.notified()).await.unwrap();
}
