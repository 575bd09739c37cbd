//! Responses, in the formats of the API server.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body::Body as _;
use serde::Serialize;

pub use axum::response::Response;

/// A response of a media type.
pub fn with_type(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A text response.
pub fn text(status: StatusCode, body: impl Into<Bytes>) -> Response {
    with_type(status, "text/plain; charset=utf-8", body)
}

/// A JSON response.
pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Response {
    with_type(status, "application/json", body)
}

/// The response to `HEAD`. With HTTP/2, a body would be a protocol error.
pub(super) fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // The router has removed the body of its own responses already, and set their length.
    if let Some(length) = body.size_hint().exact() {
        let header = parts.headers.entry(header::CONTENT_LENGTH);
        header.or_insert_with(|| length.into());
    }
    Response::from_parts(parts, Body::empty())
}

/// An error response with one line of text.
pub fn error(status: StatusCode, message: &str) -> Response {
    text(status, format!("{message}\n"))
}

/// The path does not exist.
pub fn not_found() -> Response {
    error(StatusCode::NOT_FOUND, "404 page not found")
}

/// The client is not authenticated.
pub(super) fn unauthorized() -> Response {
    failure(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", None)
}

/// The client is not authorized; `why` is the reason of the authorizer.
pub(super) fn forbidden(user: &str, verb: &str, path: &str, why: &str) -> Response {
    let what = escape(&format!("User {user:?} cannot {verb} path {path:?}"));
    let message = if why.is_empty() {
        format!("forbidden: {what}")
    } else {
        format!("forbidden: {what}: {why}")
    };
    failure(StatusCode::FORBIDDEN, "Forbidden", &message, Some(Empty {}))
}

/// Authorization failed.
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

/// Escapes HTML.
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
    async fn has_the_body_of_the_api_server(#[case] response: Response, #[case] body: String) {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(std::str::from_utf8(&bytes).unwrap(), body);
    }
}
