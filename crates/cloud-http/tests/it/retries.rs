//! What is tried again, and what it ends as.

use crate::{
    MS, Subject, config, kind,
    server::{Reply, Server},
};
use cloud_http::{Config, Idempotency, Request, Retries, Url};
use rstest::rstest;
use serde_json::Value;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

const KINDS: [Idempotency; 3] = [Idempotency::Safe, Idempotency::Idempotent, Idempotency::Once];

fn request(idempotency: Idempotency, url: &Url) -> Request {
    match idempotency {
        Idempotency::Safe => Request::get("try_it", url),
        Idempotency::Idempotent => Request::put("try_it", url),
        Idempotency::Once => Request::post("try_it", url),
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

/// The number of attempts of a safe, an idempotent and a once-only request, and the result.
#[rstest]
#[case::bad_request(Reply::json(400, r#"{"m": "no"}"#), [1, 1, 1], "invalid", "invalid request: try it was refused: {\"m\":\"no\"}")]
#[case::bad_request_by_a_proxy(Reply::html(400), [1, 1, 1], "unavailable", "400 Bad Request")]
#[case::unauthorized(Reply::json(401, "{}"), [1, 1, 1], "denied", "401 Unauthorized")]
#[case::forbidden(Reply::json(403, r#"{"m": "no"}"#), [1, 1, 1], "denied", "403 Forbidden: {\"m\":\"no\"}")]
#[case::not_found(Reply::json(404, r#"{"m": "no"}"#), [1, 1, 1], "not found", "the object of try it was not found")]
#[case::not_found_by_a_proxy(Reply::html(404), [1, 1, 1], "unavailable", "404 Not Found: <html>")]
#[case::not_found_by_a_proxy(Reply::status(404), [1, 1, 1], "unavailable", "404 Not Found")]
#[case::conflict(Reply::json(409, r#"{"m": "busy"}"#), [1, 1, 1], "unavailable", "409 Conflict: {\"m\":\"busy\"}")]
#[case::gone(Reply::json(410, r#"{"m": "no"}"#), [1, 1, 1], "unavailable", "410 Gone")]
#[case::unprocessable(Reply::json(422, r#"{"m": "no"}"#), [1, 1, 1], "invalid", "try it was refused")]
#[case::too_many(Reply::status(429), [3, 3, 3], "throttled", "try it was throttled")]
#[case::too_many_retry_after(Reply::status(429).header("retry-after", "0"), [3, 3, 3], "throttled", "try it was throttled")]
#[case::internal(Reply::status(500), [3, 3, 1], "unavailable", "500 Internal Server Error")]
#[case::not_implemented(Reply::status(501), [1, 1, 1], "unavailable", "501 Not Implemented")]
#[case::bad_gateway(Reply::html(502), [3, 3, 1], "unavailable", "502 Bad Gateway")]
#[case::overloaded(Reply::status(503), [3, 3, 1], "unavailable", "503 Service Unavailable")]
#[case::overloaded_retry_after(Reply::status(503).header("retry-after", "0"), [3, 3, 3], "throttled", "try it was throttled")]
#[case::gateway_timeout(Reply::status(504), [3, 3, 1], "unavailable", "504 Gateway Timeout")]
#[case::odd_status(Reply::status(418), [1, 1, 1], "unavailable", "418")]
#[case::redirect_elsewhere(Reply::status(302).header("location", "http://elsewhere.invalid/"), [1, 1, 1], "unavailable", "302 Found")]
#[case::reset(Reply::Reset, [3, 3, 1], "unavailable", "the connection broke")]
#[case::closed(Reply::raw(""), [3, 3, 1], "unavailable", "the connection broke")]
#[case::closed_in_the_head(Reply::raw("HTTP/1.1 200 OK\r\nconte"), [3, 3, 1], "unavailable", "the connection broke")]
#[case::truncated_body(Reply::Raw(format!("{OK}content-length: 9\r\n\r\n[1, 2").into()), [3, 3, 1], "unavailable", "the answer is truncated")]
#[case::truncated_chunks(Reply::Raw(format!("{OK}transfer-encoding: chunked\r\n\r\n5\r\n[1, 2").into()), [3, 3, 1], "unavailable", "the answer is truncated")]
#[case::truncated_without_length(Reply::Raw(format!("{OK}\r\n[1, 2").into()), [3, 3, 1], "unavailable", "the answer is truncated: EOF while parsing a list at line 1 column 5 in 5 bytes of application/json")]
#[case::empty(Reply::json(200, ""), [3, 3, 1], "unavailable", "the answer is truncated: EOF while parsing a value at line 1 column 0")]
#[case::no_content(Reply::status(204), [1, 1, 1], "unavailable", "the answer makes no sense")]
#[case::no_http(Reply::raw("220 mail.example ESMTP\r\n\r\n"), [1, 1, 1], "unavailable", "the answer is no valid HTTP")]
#[case::no_json(Reply::html(200), [1, 1, 1], "unavailable", "the answer makes no sense: expected value at line 1 column 1 in 26 bytes of text/html")]
#[case::hangs(Reply::Stall(Vec::new()), [3, 3, 1], "unavailable", "timed out: no complete answer within ")]
#[case::hangs_in_the_body(Reply::Stall(format!("{OK}content-length: 9\r\n\r\n[1, 2").into()), [3, 3, 1], "unavailable", "timed out")]
#[tokio::test]
async fn ends(#[case] reply: Reply, #[case] attempts: [usize; 3], #[case] outcome: &str, #[case] message: &str) {
    let subject = Subject::new(&Config {
        attempt_timeout: Some(100 * MS),
        ..config()
    });
    for (idempotency, expected) in KINDS.into_iter().zip(attempts) {
        let server = Server::script(vec![reply.clone()]).await;
        let error = subject
            .client
            .send_json::<Value>(request(idempotency, &server.url()))
            .await
            .unwrap_err();
        assert_eq!(
            (server.count(), kind(&error)),
            (expected, outcome),
            "{idempotency:?}: {}",
            error.report()
        );
        assert!(error.report().contains(message), "{idempotency:?}: {}", error.report());
    }
}

/// A request that is not sent at all is always sent again.
#[rstest]
#[case::refused("http://127.0.0.1:1/", "cannot connect: ", "connect")]
#[case::no_such_host("http://cloud.invalid/", "the host name cannot be resolved: ", "dns")]
#[tokio::test]
async fn connects_again(#[case] url: &str, #[case] message: &str, #[case] reason: &str) {
    let url = Url::parse(url).unwrap();
    for idempotency in KINDS {
        let subject = Subject::new(&config());
        let error = subject.client.send(request(idempotency, &url)).await.unwrap_err();
        assert_eq!(kind(&error), "unavailable");
        assert!(error.report().contains(message), "{}", error.report());
        let failures = format!(r#"cloud_api_connection_failures_total{{operation="try_it",reason="{reason}"}}"#);
        assert_eq!(subject.sample(&failures), 3, "{}", subject.metrics());
    }
}

#[rstest]
#[case::internal(Reply::status(500))]
#[case::reset(Reply::Reset)]
#[case::truncated(Reply::Raw(format!("{OK}content-length: 9\r\n\r\n[1, 2").into()))]
#[case::truncated_without_length(Reply::Raw(format!("{OK}\r\n[1, 2").into()))]
#[tokio::test]
async fn recovers(#[case] bad: Reply) {
    let subject = Subject::new(&config());
    let server = Server::script(vec![bad.clone(), bad, Reply::json(200, "[1]")]).await;
    let answer: Vec<u8> = subject
        .client
        .send_json(Request::get("try_it", &server.url()))
        .await
        .unwrap();
    assert_eq!((answer, server.count()), (vec![1], 3));
}

#[tokio::test]
async fn each_attempt_is_the_same_request() {
    let subject = Subject::new(&config());
    let server = Server::script(vec![Reply::status(500), Reply::status(200)]).await;
    let request = Request::put("try_it", &server.url())
        .path(["a"])
        .query([("b", "c")])
        .json(&[1, 2]);
    subject.client.send(request).await.unwrap();
    for seen in server.seen() {
        assert_eq!((&*seen.method, &*seen.target, &*seen.body), ("PUT", "/a?b=c", "[1,2]"));
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("accept"), Some("application/json"));
        assert_eq!(seen.header("user-agent"), Some("outrigger/0.1.0"));
    }
}

#[tokio::test]
async fn a_cloud_that_is_down_is_not_hit_harder() {
    let retries = Retries {
        budget: 2,
        ..config().retries
    };
    let subject = Subject::new(&Config { retries, ..config() });
    let server = Server::script(vec![Reply::status(500)]).await;
    for expected in [3, 4, 5] {
        subject
            .client
            .send(Request::get("try_it", &server.url()))
            .await
            .unwrap_err();
        assert_eq!(server.count(), expected);
    }
}

#[tokio::test]
async fn the_gate_is_checked_before_each_attempt() {
    let requests_seen = Arc::new(AtomicUsize::new(0));
    let server = Server::script(vec![Reply::status(500)]).await;
    let gate = {
        let requests_seen = Arc::clone(&requests_seen);
        // Open for the two looks of the first attempt.
        Arc::new(move || match requests_seen.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Ok(()),
            _ => Err(cloud::Error::NotLeader),
        })
    };
    let subject = Subject::gated(&config(), gate);
    let error = subject
        .client
        .send(Request::put("try_it", &server.url()))
        .await
        .unwrap_err();
    assert_eq!((kind(&error), server.count()), ("not leader", 1));
}

#[rstest]
#[case::read(Idempotency::Safe, 1, None)]
#[case::change(Idempotency::Idempotent, 0, Some("not leader"))]
#[case::creation(Idempotency::Once, 0, Some("not leader"))]
#[tokio::test]
async fn a_closed_gate_lets_reads_through(
    #[case] idempotency: Idempotency,
    #[case] requests: usize,
    #[case] error: Option<&str>,
) {
    let server = Server::script(vec![Reply::status(200)]).await;
    let subject = Subject::gated(&config(), Arc::new(|| Err(cloud::Error::NotLeader)));
    // A POST that only reads, as in query APIs, is recognised by its idempotency, not by its method.
    let sent = subject
        .client
        .send(Request::post("try_it", &server.url()).idempotency(idempotency))
        .await;
    assert_eq!(sent.err().as_ref().map(kind), error);
    assert_eq!(server.count(), requests);
}

#[rstest]
#[case::moved("GET", 301, "/new", 2)]
#[case::relative("GET", 307, "new", 2)]
#[case::a_change_is_not_repeated("PUT", 307, "/new", 1)]
#[case::other_port("GET", 302, "http://127.0.0.1:1/new", 1)]
#[case::other_host("GET", 302, "http://localhost/new", 1)]
#[case::nowhere("GET", 302, "http://", 1)]
#[tokio::test]
async fn redirects(#[case] method: &str, #[case] status: u16, #[case] to: &str, #[case] requests: usize) {
    let server = Server::script(vec![
        Reply::status(status).header("location", to),
        Reply::json(200, "1"),
    ])
    .await;
    let subject = Subject::new(&config());
    let request = Request::new(method.parse().unwrap(), "try_it", &server.url());
    let sent = subject.client.send_json::<u8>(request).await;
    assert_eq!((server.count(), sent.is_ok()), (requests, requests == 2));
    assert_eq!(
        server.seen().last().unwrap().target,
        if requests == 2 { "/new" } else { "/" }
    );
}

#[tokio::test]
async fn redirects_end() {
    let server = Server::script(vec![Reply::status(302).header("location", "/again")]).await;
    let subject = Subject::new(&config());
    let error = subject
        .client
        .send(Request::get("try_it", &server.url()))
        .await
        .unwrap_err();
    assert_eq!((kind(&error), server.count()), ("unavailable", 6));
}
