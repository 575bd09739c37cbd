//! What answers are taken for.

use crate::{
    Subject, config, kind,
    server::{Reply, Server},
};
use cloud::Error;
use cloud_http::{Config, Failure, Fault, Reason, Request, http::StatusCode};
use rstest::rstest;
use serde::Deserialize;

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Thing {
    id: u32,
}

/// `Ok(None)` deletes a node, so only the cloud's own word may become that.
#[rstest]
#[case::there(Reply::json(200, r#"{"id": 7}"#), "found")]
#[case::error_of_the_cloud(Reply::json(404, r#"{"itemNotFound": {"code": 404}}"#), "missing")]
#[case::error_of_the_cloud_with_charset(Reply::status(404).header("content-type", "application/json; charset=utf-8").body(r#"{"e": 1}"#), "missing")]
#[case::error_of_the_cloud_as_a_problem(Reply::status(404).header("content-type", "application/problem+json").body(r#"{"e": 1}"#), "missing")]
#[case::page_of_a_proxy(Reply::html(404), "unavailable")]
#[case::ingress_without_a_backend(Reply::status(404).header("content-type", "text/plain").body("default backend - 404"), "unavailable")]
#[case::gateway_without_a_route(Reply::status(404), "unavailable")]
#[case::page_that_says_it_is_json(Reply::json(404, "<html>no</html>"), "unavailable")]
#[case::json_that_says_it_is_a_page(Reply::status(404).header("content-type", "text/html").body(r#"{"e": 1}"#), "unavailable")]
#[case::json_that_says_nothing(Reply::json(404, "{}"), "unavailable")]
#[case::json_of_another_kind(Reply::json(404, "null"), "unavailable")]
#[case::truncated_error(
    Reply::raw("HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{\"e\": "),
    "unavailable"
)]
#[case::gone(Reply::json(410, r#"{"e": 1}"#), "unavailable")]
#[case::forbidden(Reply::json(403, r#"{"e": "not found"}"#), "denied")]
#[case::null(Reply::json(200, "null"), "unavailable")]
#[case::nothing(Reply::status(200), "unavailable")]
#[case::something_else(Reply::json(200, "{}"), "unavailable")]
#[tokio::test]
async fn finds(#[case] reply: Reply, #[case] expected: &str) {
    let subject = Subject::new(&config());
    let server = Server::script(vec![reply]).await;
    let found = subject
        .client
        .find_json::<Thing>(Request::get("get_thing", &server.url()))
        .await;
    let outcome = match &found {
        Ok(Some(Thing { id: 7 })) => "found",
        Ok(Some(_)) => "something else",
        Ok(None) => "missing",
        Err(error) => kind(error),
    };
    assert_eq!(outcome, expected, "{found:?}");
}

#[tokio::test]
async fn a_provider_can_recognise_its_cloud() {
    let subject = Subject::new(&config());
    let client = subject
        .client
        .recognising(|failure| failure.header("server") == Some("acme") || failure.is_empty());
    for (reply, missing) in [
        (Reply::status(404), true),
        (Reply::html(404).header("server", "acme"), true),
        (Reply::html(404).header("server", "nginx"), false),
        (Reply::json(404, r#"{"m": "no route matched"}"#), false),
    ] {
        let server = Server::script(vec![reply.clone()]).await;
        let found = client.find(Request::get("get_thing", &server.url())).await;
        assert_eq!(matches!(found, Ok(None)), missing, "{reply:?}");
        assert_eq!(found.is_err(), !missing, "{reply:?}");
    }
}

fn explain(failure: &Failure) -> Option<Error> {
    #[derive(Deserialize)]
    struct Body {
        code: String,
    }
    let Body { code } = failure.json()?;
    Some(match &*code {
        "Quota" => Error::quota(failure.what(), failure.clone()),
        "NoSuch" => Error::NotFound {
            what: failure.what().to_owned(),
        },
        "SlowDown" => Error::Throttled {
            call: failure.call().to_owned(),
            retry_after: failure.retry_after(),
        },
        _ => return None,
    })
}

#[rstest]
#[case::quota(403, r#"{"code": "Quota"}"#, "quota", 1)]
#[case::no_such_thing_as_a_400(400, r#"{"code": "NoSuch"}"#, "missing", 1)]
#[case::throttled_as_a_400(400, r#"{"code": "SlowDown"}"#, "throttled", 3)]
#[case::a_quota_is_not_tried_again(500, r#"{"code": "Quota"}"#, "quota", 1)]
#[case::unknown_code(403, r#"{"code": "Other"}"#, "denied", 1)]
#[case::another_body(403, r#"{"x": 1}"#, "denied", 1)]
#[tokio::test]
async fn a_provider_can_explain_answers(
    #[case] status: u16,
    #[case] body: &str,
    #[case] expected: &str,
    #[case] requests: usize,
) {
    let client = Subject::new(&config()).client.explaining(explain);
    let server = Server::script(vec![Reply::json(status, body)]).await;
    let found = client
        .find(Request::post("make_thing", &server.url()).about("thing 7"))
        .await;
    let outcome = found
        .as_ref()
        .map_or_else(kind, |found| if found.is_none() { "missing" } else { "found" });
    assert_eq!((outcome, server.count()), (expected, requests));
}

#[tokio::test]
async fn a_failure_exposes_its_cause() {
    let subject = Subject::new(&config());
    let reply = Reply::json(409, r#"{"conflict": {"code": 409}}"#)
        .header("x-openstack-request-id", "req-1")
        .header("x-subject-token", "s3cr3t")
        .header("retry-after", "7");
    let server = Server::script(vec![reply]).await;
    let error = subject
        .client
        .send(Request::put("set_thing", &server.url()))
        .await
        .unwrap_err();
    let failure = Failure::of(&error).unwrap();
    assert_eq!(failure.status(), StatusCode::CONFLICT);
    assert_eq!(failure.request_id(), Some("req-1"));
    assert_eq!(failure.retry_after().map(|wait| wait.as_secs()), Some(7));
    assert_eq!(failure.header("x-subject-token"), None);
    assert_eq!(failure.json::<serde_json::Value>().unwrap()["conflict"]["code"], 409);
    assert_eq!(
        error.report(),
        format!(
            r#"set thing is unavailable: PUT {} answered 409 Conflict (request req-1): {{"conflict":{{"code":409}}}}"#,
            server.url()
        )
    );
    assert!(Fault::of(&error).is_none());
}

#[tokio::test]
async fn a_long_failure_is_cut_and_flattened() {
    let subject = Subject::new(&config());
    let body = format!("one\n\ttwo\u{1b}[31m{}", "ü".repeat(100_000));
    let server = Server::script(vec![Reply::status(409).body(&body)]).await;
    let error = subject
        .client
        .send(Request::put("set_thing", &server.url()))
        .await
        .unwrap_err();
    let snippet = Failure::of(&error).unwrap().snippet();
    assert!(
        snippet.starts_with("one two [31mü") && (511..=512).contains(&snippet.len()),
        "{snippet}"
    );
}

#[tokio::test]
async fn an_answer_has_a_limit() {
    let subject = Subject::new(&Config {
        response_limit: 1000,
        ..config()
    });
    for (bytes, accepted) in [(998, true), (999, false)] {
        let server = Server::script(vec![Reply::json(200, &format!("\"{}\"", "a".repeat(bytes)))]).await;
        let sent = subject
            .client
            .send_json::<String>(Request::get("get_thing", &server.url()))
            .await;
        assert_eq!((sent.is_ok(), server.count()), (accepted, 1));
        if let Err(error) = sent {
            assert_eq!(Fault::of(&error).unwrap().reason(), Reason::TooLarge);
            assert!(
                error
                    .report()
                    .ends_with("the answer is too large: more than 1000 bytes"),
                "{}",
                error.report()
            );
        }
    }
}

#[tokio::test]
async fn more_statuses_can_be_accepted() {
    let subject = Subject::new(&config());
    let server = Server::script(vec![Reply::json(300, r#"{"id": 1}"#).header("etag", "x")]).await;
    let request = Request::get("list_versions", &server.url()).accept(StatusCode::MULTIPLE_CHOICES);
    let response = subject.client.send(request).await.unwrap();
    assert_eq!((response.status().as_u16(), response.header("etag")), (300, Some("x")));
    assert_eq!(response.json::<Thing>().unwrap(), Thing { id: 1 });
    assert_eq!(kind(&response.json::<String>().unwrap_err()), "unavailable");
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_reported_and_not_sent() {
    let subject = Subject::new(&config());
    let server = Server::script(vec![Reply::status(200)]).await;
    let request = Request::get("get_thing", &server.url()).path(["things", ".."]);
    let error = subject.client.find(request).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"invalid request: get thing: a path segment must not be "..""#
    );
    assert_eq!(server.count(), 0);
}
