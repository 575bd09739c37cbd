//! Admission reviews.

use super::*;
use crate::serve::webhook::{Webhook, mux};
use rstest::rstest;
use serde_json::{Value, json};

fn start(enabled: fn(&str) -> bool) -> Running {
    let answers = |answer: Result<Value, String>| move |_| std::future::ready(answer.clone());
    let webhooks = vec![
        Webhook::new("allow", "/allow", |request: Value| async move {
            let warning = format!("{} {}", request["operation"], request["name"]);
            Ok(json!({"allowed": true, "uid": "to be replaced", "warnings": [warning]}))
        }),
        Webhook::new("fail", "/fail", answers(Err("the cloud is down".into()))),
        Webhook::new("null", "/null", answers(Ok(Value::Null))),
        Webhook::new("list", "/list", answers(Ok(json!([])))),
    ];
    Running::start(options(), move |metrics| Chain::open(mux(webhooks, enabled, metrics)))
}

const REVIEW: &str = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7","operation":"CREATE","name":"a"}}"#;
const ALLOWED: &str = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"allowed":true,"uid":"7","warnings":["\"CREATE\" \"a\""]}}"#;
const JSON: &str = "application/json";

#[rstest]
#[case::allowed("/allow", JSON, REVIEW, 200, ALLOWED)]
#[case::no_media_type("/allow", "", REVIEW, 400, "Content-Type: \"\" should be \"application/json\"\n")]
#[case::other_media_type(
    "/allow",
    "text/plain",
    REVIEW,
    400,
    "Content-Type: \"text/plain\" should be \"application/json\"\n"
)]
#[case::empty("/allow", JSON, "", 400, "admission request HTTP body is empty\n")]
#[case::not_json("/allow", JSON, "x", 400, "could not deserialize incoming admission review: ")]
#[case::no_kind(
    "/allow",
    JSON,
    "{}",
    400,
    "could not deserialize incoming admission review: \"\" of \"\" is not "
)]
#[case::other_version(
    "/allow",
    JSON,
    r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}"#,
    400,
    "could not deserialize incoming admission review: \"AdmissionReview\" of \"admission.k8s.io/v1beta1\" is not "
)]
#[case::no_request(
    "/allow",
    JSON,
    r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}"#,
    400,
    "admission review can't be used: Request field is nil\n"
)]
#[case::null_request(
    "/allow",
    JSON,
    r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}"#,
    400,
    "admission review can't be used: Request field is nil\n"
)]
#[case::handler_fails(
    "/fail",
    JSON,
    REVIEW,
    500,
    "error generating admission response: the cloud is down\n"
)]
#[case::handler_says_nothing("/null", JSON, REVIEW, 500, "admission response cannot be nil\n")]
#[case::handler_says_nonsense(
    "/list",
    JSON,
    REVIEW,
    500,
    "error parsing admission response: [] is not an object\n"
)]
#[case::unknown("/other", JSON, REVIEW, 404, "404 page not found\n")]
#[tokio::test]
async fn answers(
    #[case] path: &str,
    #[case] media_type: &str,
    #[case] body: &'static str,
    #[case] status: u16,
    #[case] expected: &str,
) {
    let server = start(|_| true);
    let mut request = client().post(server.url(path)).body(body);
    if !media_type.is_empty() {
        request = request.header("content-type", media_type);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status().as_u16(), status);
    let text = response.text().await.unwrap();
    assert!(text.starts_with(expected), "{text}");
    if status != 404 {
        let counted = format!("request_total{{code=\"{status}\",webhook=\"{}\"}} 1\n", &path[1..]);
        let timed = format!(
            "request_duration_seconds_count{{code=\"{status}\",webhook=\"{}\"}} 1\n",
            &path[1..]
        );
        for line in [counted, timed] {
            let line = format!("cloud_provider_webhook_{line}");
            assert!(server.metrics().contains(&line), "{line}\n{}", server.metrics());
        }
    }
}

#[tokio::test]
async fn a_review_may_be_large_but_not_huge() {
    let server = start(|_| true);
    for (size, status) in [(6 << 20, 200), (9 << 20, 413)] {
        let object = "x".repeat(size);
        let review = REVIEW.replace("\"name\":\"a\"", &format!("\"name\":\"a\",\"object\":\"{object}\""));
        let response = client_builder()
            .http1_only()
            .build()
            .unwrap()
            .post(server.url("/allow"));
        let response = response.header("content-type", JSON).body(review).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{size}");
    }
}

#[tokio::test]
async fn only_what_is_enabled_is_served() {
    let server = start(|name| name == "fail");
    assert_eq!(server.status("/allow").await, 404);
    assert_eq!(server.status("/fail").await, 400);
}
