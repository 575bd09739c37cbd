//! One request.

use crate::query::{Query, decode_segment};
use bytes::Bytes;
use http::{HeaderMap, Method, header, request::Parts};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A request, decoded as far as HTTP goes.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, …
    pub method: Method,
    /// The segments of the path, decoded.
    pub path: Vec<String>,
    /// The query.
    pub query: Query,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Where the client reached the server: `http://127.0.0.1:1234`.
    pub origin: String,
    pub(crate) raw_path: String,
    pub(crate) raw_query: String,
}

impl Request {
    /// A request without headers, as if a client had sent it.
    pub fn new(method: Method, target: &str, body: impl Into<Bytes>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method,
            path: segments(path).map(decode_segment).collect(),
            query: Query::parse(query),
            headers: HeaderMap::new(),
            body: body.into(),
            origin: "http://localhost".to_owned(),
            raw_path: path.to_owned(),
            raw_query: query.to_owned(),
        }
    }

    pub(crate) fn received(scheme: &str, parts: Parts, body: Bytes) -> Self {
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        Self {
            origin: format!("{scheme}://{}", host.unwrap_or("localhost")),
            headers: parts.headers,
            ..Self::new(parts.method, target, body)
        }
    }

    /// The method and the segments of the path, to match on: `("GET", ["v2", "droplets", id])`.
    pub fn route(&self) -> (&str, Vec<&str>) {
        (self.method.as_str(), self.segments())
    }

    /// The segments of the path.
    pub fn segments(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    /// A header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The token of `Authorization: Bearer …`.
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn json(&self) -> serde_json::Result<Value> {
        self.parse()
    }

    /// The body as JSON of this shape.
    ///
    /// # Errors
    /// If it is not.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.body)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as a form.
    pub fn form(&self) -> Query {
        Query::parse(&self.text())
    }

    /// The URL of this request with these values in its query, in place of those of the same names.
    pub fn link(&self, replaced: &[(&str, &str)]) -> String {
        format!("{}{}?{}", self.origin, self.raw_path, self.query.with(replaced))
    }
}

/// Whether the segments of a path match a pattern like `droplets/*/actions`, where `*` is one segment.
pub fn path_matches(pattern: &str, path: &[String]) -> bool {
    let wanted: Vec<&str> = segments(pattern).collect();
    let fits = |(want, have): (&&str, &String)| *want == "*" || want == have;
    wanted.len() == path.len() && wanted.iter().zip(path).all(fits)
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn is_decoded() {
        let builder = http::Request::post("/v2/a%2Fb//c?page=2&name=x%20y").header("Host", "cloud:1");
        let (parts, ()) = builder
            .header("Authorization", "Bearer t")
            .body(())
            .unwrap()
            .into_parts();
        let request = Request::received("http", parts, Bytes::from("a=1&b=2"));
        assert_eq!(request.route(), ("POST", vec!["v2", "a/b", "c"]));
        assert_eq!((request.query.number("page"), request.bearer()), (Some(2), Some("t")));
        assert_eq!((request.form().get("b"), request.json().is_err()), (Some("2"), true));
        assert_eq!(
            request.link(&[("page", "3")]),
            "http://cloud:1/v2/a%2Fb//c?name=x%20y&page=3"
        );
    }

    #[rstest]
    #[case("servers/*", "servers/1", true)]
    #[case("/servers/detail", "servers/detail", true)]
    #[case("servers/*", "servers", false)]
    #[case("servers", "servers/1", false)]
    #[case("*/members", "pools/members", true)]
    #[case("pools/*/members", "pools/1/monitors", false)]
    fn paths_match(#[case] pattern: &str, #[case] path: &str, #[case] matches: bool) {
        let path: Vec<String> = segments(path).map(str::to_owned).collect();
        assert_eq!(path_matches(pattern, &path), matches);
    }
}
