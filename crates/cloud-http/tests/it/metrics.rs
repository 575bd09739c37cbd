//! What is counted.

use crate::{
    Subject, config,
    server::{Reply, Server},
};
use cloud_http::{Metrics, Request};
use prometheus::Registry;

#[tokio::test]
async fn counts() {
    let subject = Subject::new(&config());
    let replies = [
        Reply::status(200),
        Reply::status(500),
        Reply::status(429).header("retry-after", "0"),
        Reply::status(200),
        Reply::Reset,
        Reply::json(404, r#"{"m": "no"}"#),
    ];
    let server = Server::script(replies.to_vec()).await;
    for _ in 0..3 {
        subject
            .client
            .find(Request::get("get_thing", &server.url()))
            .await
            .unwrap();
    }
    let text = subject.metrics();
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains("seconds_"))
        .collect();
    assert_eq!(
        lines,
        [
            r#"cloud_api_connection_failures_total{operation="get_thing",reason="reset"} 1"#,
            r#"cloud_api_requests_in_flight{operation="get_thing"} 0"#,
            r#"cloud_api_requests_total{code="200",operation="get_thing"} 2"#,
            r#"cloud_api_requests_total{code="404",operation="get_thing"} 1"#,
            r#"cloud_api_requests_total{code="429",operation="get_thing"} 1"#,
            r#"cloud_api_requests_total{code="500",operation="get_thing"} 1"#,
            r#"cloud_api_requests_total{code="error",operation="get_thing"} 1"#,
            r#"cloud_api_retries_total{operation="get_thing",reason="429"} 1"#,
            r#"cloud_api_retries_total{operation="get_thing",reason="500"} 1"#,
            r#"cloud_api_retries_total{operation="get_thing",reason="reset"} 1"#,
            r#"cloud_api_throttled_total{operation="get_thing"} 1"#,
        ]
    );
    assert_eq!(
        subject.sample(r#"cloud_api_request_duration_seconds_count{operation="get_thing"}"#),
        6
    );
}

#[tokio::test]
async fn calls_in_progress_are_counted() {
    let subject = Subject::new(&config());
    let server = Server::script(vec![Reply::Stall(Vec::new())]).await;
    let gauge = r#"cloud_api_requests_in_flight{operation="get_thing"}"#;
    let under_way = async {
        while subject.sample(gauge) < 2 {
            tokio::task::yield_now().await;
        }
    };
    let call = || subject.client.send(Request::get("get_thing", &Server::url(&server)));
    tokio::select! {
        _ = call() => panic!("the server does not answer"),
        _ = call() => panic!("the server does not answer"),
        () = under_way => {}
    }
    assert_eq!(subject.sample(gauge), 0);
}

#[test]
fn a_registry_takes_them_once() {
    let registry = Registry::new();
    Metrics::register(&registry).unwrap();
    assert!(Metrics::register(&registry).is_err());
}
