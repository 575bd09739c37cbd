use super::*;
use crate::{
    client::{
        is_fenced, is_unreachable,
        limit::{Limit, Shared},
        transport::Exchange,
    },
    fence::Fenced,
};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use prometheus::{Registry, TextEncoder};
use rstest::rstest;
use std::{
    collections::VecDeque,
    io,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

/// What the server does with one request.
#[derive(Clone, Copy)]
enum Play {
    Answer(u16),
    /// Answers with this status and a `Retry-After` in seconds.
    Later(u16, u64),
    /// Breaks the connection.
    Break,
    Refuse,
    Hang,
    /// Sends the headers and then nothing.
    HangInBody,
}

/// A server that does these things in turn, and then answers 200.
#[derive(Clone, Default)]
struct Server {
    plays: Arc<Mutex<VecDeque<Play>>>,
    seen: Arc<Mutex<Vec<Request<()>>>>,
}

impl Server {
    fn that(plays: impl IntoIterator<Item = Play>) -> Self {
        Self {
            plays: Arc::new(Mutex::new(plays.into_iter().collect())),
            seen: Arc::default(),
        }
    }

    fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    fn exchange(&self) -> Exchange {
        let server = self.clone();
        Exchange::new(tower::service_fn(move |request| server.clone().answer(request)))
    }

    async fn answer(self, request: Request<Outgoing>) -> Result<Response<Incoming>, BoxError> {
        self.seen.lock().unwrap().push(request.map(|_| ()));
        let play = self.plays.lock().unwrap().pop_front().unwrap_or(Play::Answer(200));
        let full = |text: &'static str| {
            Full::new(Bytes::from_static(text.as_bytes()))
                .map_err(|never| match never {})
                .boxed_unsync()
        };
        let answer = |code: u16| Response::builder().status(code);
        match play {
            Play::Answer(code) => Ok(answer(code).body(full(r#"{"kind": "Status"}"#))?),
            Play::Later(code, seconds) => Ok(answer(code).header("Retry-After", seconds).body(full("{}"))?),
            Play::Break => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
            Play::Refuse => Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
            Play::Hang => std::future::pending().await,
            Play::HangInBody => Ok(answer(200).body(StreamBody::new(futures::stream::pending()).boxed_unsync())?),
        }
    }
}

fn policy(server: &Server) -> Policy {
    Policy {
        transport: Transport::of(server.exchange()),
        bearer: Bearer::None,
        user_agent: HeaderValue::from_static("ccm/v1 (linux/amd64) kubernetes/abc/node-controller"),
        address: Arc::from("https://api:6443"),
        host: Arc::from("api:6443"),
        gate: Gate::Open,
        fence: Fence::open(),
        retries: Retries::On,
        timeout: Duration::from_mins(1),
        metrics: None,
    }
}

fn client(policy: Policy) -> Client {
    kube::client::ClientBuilder::new(Pipeline::new(policy), "default").build()
}

fn request(method: &str, uri: &str) -> Request<Vec<u8>> {
    Request::builder().method(method).uri(uri).body(Vec::new()).unwrap()
}

async fn send(client: &Client, method: &str, uri: &str) -> Result<u16, kube::Error> {
    let response = client.send(request(method, uri).map(Body::from)).await?;
    let status = response.status().as_u16();
    response.into_body().collect_bytes().await?;
    Ok(status)
}

#[rstest]
#[case::at_once("GET", &[], "200 after 1 in 0 s")]
#[case::not_found("GET", &[Play::Answer(404)], "404 after 1 in 0 s")]
#[case::throttled("PATCH", &[Play::Later(429, 2), Play::Later(429, 3)], "200 after 3 in 5 s")]
#[case::restarting("POST", &[Play::Later(503, 1)], "200 after 2 in 1 s")]
#[case::unavailable_write("POST", &[Play::Answer(503)], "503 after 1 in 0 s")]
#[case::broken_read("GET", &[Play::Break], "200 after 2 in 0 s")]
#[case::broken_write("PUT", &[Play::Break], "lost after 1 in 0 s")]
#[case::refused("GET", &[Play::Refuse], "failed after 1 in 0 s")]
#[case::retry_after_exceeds_the_deadline("GET", &[Play::Later(429, 61)], "429 after 1 in 0 s")]
#[case::retry_after_exceeds_the_clock("GET", &[Play::Later(429, u64::MAX)], "429 after 1 in 0 s")]
#[case::no_time_left("GET", &[Play::Later(429, 50), Play::Later(429, 50)], "429 after 2 in 50 s")]
#[case::never_answered("GET", &[Play::Hang], "timeout after 1 in 60 s")]
#[case::never_finished("GET", &[Play::HangInBody], "timeout after 1 in 60 s")]
#[case::answered_late_after_a_retry("GET", &[Play::Later(429, 20), Play::Hang], "timeout after 2 in 60 s")]
#[tokio::test(start_paused = true)]
async fn retries(#[case] method: &str, #[case] plays: &[Play], #[case] expected: &str) {
    let server = Server::that(plays.iter().copied());
    let started = Instant::now();
    let result = send(&client(policy(&server)), method, "/api/v1/nodes").await;
    let result = match result {
        Ok(status) => status.to_string(),
        Err(error) if error.to_string().contains("did not answer within 60 s") => "timeout".into(),
        Err(error) if is_unreachable(&error) => "lost".into(),
        Err(_) => "failed".into(),
    };
    assert_eq!(
        format!(
            "{result} after {} in {} s",
            server.requests(),
            started.elapsed().as_secs()
        ),
        expected
    );
}

#[rstest]
#[case::throttled(&[Play::Later(429, 1)], "429 after 1")]
#[case::broken(&[Play::Break], "error after 1")]
#[tokio::test(start_paused = true)]
async fn requests_without_retry_are_sent_once(#[case] plays: &[Play], #[case] expected: &str) {
    let server = Server::that(plays.iter().copied());
    let result = send(
        &client(Policy {
            retries: Retries::Off,
            ..policy(&server)
        }),
        "GET",
        "/",
    )
    .await;
    let result = result.map_or("error".to_owned(), |status| status.to_string());
    assert_eq!(format!("{result} after {}", server.requests()), expected);
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_not_retried_and_may_take_as_long_as_it_likes() {
    let server = Server::that([Play::Later(429, 1), Play::HangInBody]);
    let client = client(policy(&server));
    assert_eq!(send(&client, "GET", "/api/v1/nodes?watch=true").await.unwrap(), 429);
    assert_eq!(server.requests(), 1);

    let watch = client
        .send(request("GET", "/api/v1/nodes?watch=true").map(Body::from))
        .await
        .unwrap();
    let mut frames = watch.into_body().into_data_stream();
    let next = tokio::time::timeout(Duration::from_hours(1), frames.next()).await;
    assert!(next.is_err(), "there was no event and no timeout");
}

#[tokio::test(start_paused = true)]
async fn a_watch_must_begin_in_time() {
    let server = Server::that([Play::Hang]);
    let error = send(&client(policy(&server)), "GET", "/api/v1/nodes?watch=1")
        .await
        .unwrap_err();
    assert!(is_unreachable(&error));
}

#[rstest]
#[case::read("GET", "200 after 1")]
#[case::create("POST", "fenced after 0")]
#[case::patch("PATCH", "fenced after 0")]
#[case::put("PUT", "fenced after 0")]
#[case::delete("DELETE", "fenced after 0")]
#[tokio::test]
async fn stops_writes_at_the_fence(#[case] method: &str, #[case] expected: &str) {
    let server = Server::default();
    let result = send(
        &client(Policy {
            fence: Fence::closed(),
            ..policy(&server)
        }),
        method,
        "/api/v1/nodes/a",
    )
    .await;
    let result = match result {
        Ok(status) => status.to_string(),
        Err(error) if is_fenced(&error) => "fenced".to_owned(),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(format!("{result} after {}", server.requests()), expected);
}

#[tokio::test(start_paused = true)]
async fn checks_the_fence_before_each_retry_of_a_write() {
    let server = Server::that([Play::Later(429, 1)]);
    let fence = Fence::open();
    let client = client(Policy {
        fence: fence.clone(),
        ..policy(&server)
    });
    let write = tokio::spawn(async move { send(&client, "PATCH", "/").await });
    while server.requests() == 0 {
        tokio::task::yield_now().await;
    }
    fence.close();
    assert!(is_fenced(&write.await.unwrap().unwrap_err()));
    assert_eq!(server.requests(), 1);
    assert_eq!(fence.check(), Err(Fenced));
}

#[tokio::test(start_paused = true)]
async fn holds_its_place_until_the_body_is_read_but_not_while_it_waits() {
    let server = Server::that([Play::Later(429, 30), Play::HangInBody]);
    let limit = Shared::new(Limit::InFlight(1));
    let client = client(Policy {
        gate: limit.gate(),
        ..policy(&server)
    });
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { send(&client, "GET", "/first").await }
    });
    while server.requests() == 0 {
        tokio::task::yield_now().await;
    }
    let hanging = client.send(request("GET", "/second").map(Body::from)).await.unwrap();
    assert_eq!(
        server.requests(),
        2,
        "the first one waits, so the second one has its place"
    );

    let third = tokio::time::timeout(Duration::from_secs(1), send(&client, "GET", "/third")).await;
    assert!(third.is_err(), "the second one is still being read");
    let watch = tokio::time::timeout(Duration::from_secs(1), send(&client, "GET", "/watch?watch=true")).await;
    assert_eq!(watch.unwrap().unwrap(), 200, "a watch needs no place");
    drop(hanging);
    assert_eq!(send(&client, "GET", "/fourth").await.unwrap(), 200);
    assert_eq!(waiting.await.unwrap().unwrap(), 200);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_ones_turn_does_not_count_against_the_time() {
    let limit = Shared::new(Limit::Rate { qps: 0.01, burst: 1 });
    let client = client(Policy {
        gate: limit.gate(),
        ..policy(&Server::default())
    });
    let started = Instant::now();
    for _ in 0..2 {
        assert_eq!(send(&client, "GET", "/").await.unwrap(), 200);
    }
    assert_eq!(started.elapsed().as_secs(), 100);
}

#[tokio::test(start_paused = true)]
async fn counts_under_the_names_of_client_go() {
    let registry = Registry::new();
    let server = Server::that([Play::Later(429, 1), Play::Answer(200), Play::Break]);
    let metrics = Some(Metrics::register(&registry).unwrap());
    let limit = Shared::new(Limit::Rate { qps: 100.0, burst: 100 });
    let client = client(Policy {
        metrics,
        gate: limit.gate(),
        ..policy(&server)
    });
    send(&client, "PATCH", "/").await.unwrap();
    send(&client, "PUT", "/").await.unwrap_err();
    send(&client, "GET", "/?watch=true").await.unwrap();

    let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let lines: Vec<_> = text
        .lines()
        .filter(|line| {
            line.contains("_total{")
                || line.contains("_count{")
                || line.contains("_sum{host=\"api:6443\",verb=\"PATCH\"}")
        })
        .collect();
    let expected = [
        r#"rest_client_rate_limiter_duration_seconds_sum{host="api:6443",verb="PATCH"} 0"#,
        r#"rest_client_rate_limiter_duration_seconds_count{host="api:6443",verb="PATCH"} 2"#,
        r#"rest_client_rate_limiter_duration_seconds_count{host="api:6443",verb="PUT"} 1"#,
        r#"rest_client_request_duration_seconds_sum{host="api:6443",verb="PATCH"} 1"#,
        r#"rest_client_request_duration_seconds_count{host="api:6443",verb="PATCH"} 1"#,
        r#"rest_client_request_duration_seconds_count{host="api:6443",verb="PUT"} 1"#,
        r#"rest_client_request_retries_total{code="200",host="api:6443",verb="PATCH"} 1"#,
        r#"rest_client_request_size_bytes_sum{host="api:6443",verb="PATCH"} 0"#,
        r#"rest_client_request_size_bytes_count{host="api:6443",verb="PATCH"} 2"#,
        r#"rest_client_request_size_bytes_count{host="api:6443",verb="PUT"} 1"#,
        r#"rest_client_requests_total{code="200",host="api:6443",method="GET"} 1"#,
        r#"rest_client_requests_total{code="200",host="api:6443",method="PATCH"} 1"#,
        r#"rest_client_requests_total{code="429",host="api:6443",method="PATCH"} 1"#,
        r#"rest_client_requests_total{code="<error>",host="api:6443",method="PUT"} 1"#,
        r#"rest_client_response_size_bytes_sum{host="api:6443",verb="PATCH"} 18"#,
        r#"rest_client_response_size_bytes_count{host="api:6443",verb="PATCH"} 1"#,
    ];
    assert_eq!(lines, expected);
    assert!(text.contains(r#"rest_client_request_duration_seconds_bucket{host="api:6443",verb="PATCH",le="0.005"}"#));
    assert!(text.contains(r#"rest_client_request_size_bytes_bucket{host="api:6443",verb="PATCH",le="16777216"}"#));
}

#[tokio::test]
async fn sends_the_user_agent() {
    let server = Server::default();
    send(&client(policy(&server)), "GET", "/").await.unwrap();
    let seen = server.seen.lock().unwrap();
    assert_eq!(
        seen[0].headers()[USER_AGENT],
        "ccm/v1 (linux/amd64) kubernetes/abc/node-controller"
    );
}

#[tokio::test]
async fn tries_a_new_token_once_when_the_server_rejects_one() {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let path = std::env::temp_dir().join(format!(
        "token-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    ));
    std::fs::write(&path, "old").unwrap();
    let server = Server::that([
        Play::Answer(401),
        Play::Answer(200),
        Play::Answer(401),
        Play::Answer(401),
    ]);
    let bearer = Bearer::File(Arc::new(super::super::bearer::TokenFile::new(path.clone(), None)));
    let client = client(Policy {
        bearer,
        ..policy(&server)
    });
    std::fs::write(&path, "new").unwrap();
    assert_eq!(send(&client, "GET", "/").await.unwrap(), 200);
    assert_eq!(send(&client, "GET", "/").await.unwrap(), 401, "there is no newer one");
    std::fs::remove_file(&path).unwrap();
    let tokens: Vec<_> = server
        .seen
        .lock()
        .unwrap()
        .iter()
        .map(|seen| seen.headers()[AUTHORIZATION].clone())
        .collect();
    assert_eq!(tokens, ["Bearer old", "Bearer new", "Bearer new"]);
}
