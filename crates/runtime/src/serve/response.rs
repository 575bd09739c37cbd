//! Answers, in the forms of the API server.

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body::Body;
use http_body_util::Full;
use serde::Serialize;

/// An answer.
pub type Response = http::Response<Full<Bytes>>;

/// An answer of a media type.
pub fn with_type(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// An answer in words.
pub fn text(status: StatusCode, body: impl Into<Bytes>) -> Response {
    with_type(status, "text/plain; charset=utf-8", body)
}

/// An answer in JSON.
pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Response {
    with_type(status, "application/json", body)
}

/// The same for somebody who asked for the headers only. A body after all would break HTTP/2.
pub(super) fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.insert(header::CONTENT_LENGTH, length.into());
    }
    Response::from_parts(parts, Full::default())
}

/// A refusal, in a line of words.
pub fn error(status: StatusCode, message: &str) -> Response {
    text(status, format!("{message}\n"))
}

/// Nothing is there.
pub fn not_found() -> Response {
    error(StatusCode::NOT_FOUND, "404 page not found")
}

/// We do not know who asks.
pub(super) fn unauthorized() -> Response {
    failure(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", None)
}

/// We know who asks, but they may not; `why` is what the authorizer said.
pub(super) fn forbidden(user: &str, verb: &str, path: &str, why: &str) -> Response {
    let what = escape(&format!("User {user:?} cannot {verb} path {path:?}"));
    let message = if why.is_empty() {
        format!("forbidden: {what}")
    } else {
        format!("forbidden: {what}: {why}")
    };
    failure(StatusCode::FORBIDDEN, "Forbidden", &message, Some(Empty {}))
}

/// Something went wrong on our side.
pub(super) fn internal_error(uri: &str, problem: &str) -> Response {
    let message = escape(&format!("Internal Server Error: {uri:?}: {problem}"));
    error(StatusCode::INTERNAL_SERVER_ERROR, &message)
}

/// `meta/v1` Status, with its fields in the order of the API server.
#[derive(Serialize)]
struct Status<'a> {
    kind: &'static str,
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    metadata: Empty,
    #[serde(rename = "status")]
    outcome: &'static str,
    message: &'a str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Empty>,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

fn failure(code: StatusCode, reason: &'static str, message: &str, details: Option<Empty>) -> Response {
    let status = Status {
        kind: "Status",
        api_version: "v1",
        metadata: Empty {},
        outcome: "Failure",
        message,
        reason,
        details,
        code: code.as_u16(),
    };
    json(code, serde_json::to_string(&status).unwrap_or_default() + "\n")
}

/// Nothing that looks like HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use rstest::rstest;

    #[rstest]
    #[case::unauthorized(
        unauthorized(),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#.to_owned() + "\n"
    )]
    #[case::forbidden(
        forbidden("system:anonymous", "get", "/metrics", ""),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden: User \"system:anonymous\" cannot get path \"/metrics\"","reason":"Forbidden","details":{},"code":403}"#.to_owned() + "\n"
    )]
    #[case::forbidden_because(
        forbidden("a<b>", "get", "/x&y", "no rule"),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden: User \"a&lt;b&gt;\" cannot get path \"/x&amp;y\": no rule","reason":"Forbidden","details":{},"code":403}"#.to_owned() + "\n"
    )]
    #[case::internal(
        internal_error("/metrics?<", "API server is gone"),
        "Internal Server Error: \"/metrics?&lt;\": API server is gone\n".to_owned()
    )]
    #[tokio::test]
    async fn says(#[case] response: Response, #[case] body: String) {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(std::str::from_utf8(&bytes).unwrap(), body);
    }
}
