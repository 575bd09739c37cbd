//! A request to a cloud.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use std::{fmt, time::Duration};

/// What may happen if a request reaches the cloud twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotency {
    /// Changes nothing that matters, like reading or logging in. The only kind that is sent without asking the gate.
    Safe,
    /// Changes something, but twice is the same as once.
    Idempotent,
    /// Twice is not the same as once: sent again only if the cloud certainly did not act.
    Once,
}

impl Idempotency {
    /// As RFC 9110 defines for the method.
    fn of(method: &Method) -> Self {
        match *method {
            Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE => Self::Safe,
            Method::PUT | Method::DELETE => Self::Idempotent,
            _ => Self::Once,
        }
    }
}

/// A request to a cloud. `Debug` shows neither query, header values nor body.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) operation: &'static str,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) idempotency: Idempotency,
    pub(crate) deadline: Option<Duration>,
    pub(crate) about: Option<String>,
    pub(crate) accepted: Vec<StatusCode>,
    /// Why this cannot be sent; reported when it is sent, so that building a request is one expression.
    pub(crate) invalid: Option<String>,
}

impl Request {
    /// A request. The operation, like `list_servers`, is the label of its metrics and its name in errors.
    pub fn new(method: Method, operation: &'static str, url: &Url) -> Self {
        Self {
            idempotency: Idempotency::of(&method),
            method,
            url: url.clone(),
            operation,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            deadline: None,
            about: None,
            accepted: Vec::new(),
            invalid: None,
        }
    }

    /// A `GET`, which is [`Idempotency::Safe`].
    pub fn get(operation: &'static str, url: &Url) -> Self {
        Self::new(Method::GET, operation, url)
    }

    /// A `POST`, which is [`Idempotency::Once`] by default.
    pub fn post(operation: &'static str, url: &Url) -> Self {
        Self::new(Method::POST, operation, url)
    }

    /// A `PUT`, which is [`Idempotency::Idempotent`].
    pub fn put(operation: &'static str, url: &Url) -> Self {
        Self::new(Method::PUT, operation, url)
    }

    /// A `PATCH`, which is [`Idempotency::Once`] by default.
    pub fn patch(operation: &'static str, url: &Url) -> Self {
        Self::new(Method::PATCH, operation, url)
    }

    /// A `DELETE`, which is [`Idempotency::Idempotent`].
    pub fn delete(operation: &'static str, url: &Url) -> Self {
        Self::new(Method::DELETE, operation, url)
    }

    /// Appends segments to the path, each percent-encoded, so that a name with a slash stays one segment.
    #[must_use]
    pub fn path<'a>(mut self, segments: impl IntoIterator<Item = &'a str>) -> Self {
        for segment in segments {
            // An URL drops these without a word, and would then name something else.
            if matches!(segment, "" | "." | "..") {
                self.refuse(format!("a path segment must not be {segment:?}"));
                continue;
            }
            if let Ok(mut path) = self.url.path_segments_mut() {
                path.pop_if_empty().push(segment);
            } else {
                self.refuse("the URL cannot have a path".to_owned());
            }
        }
        self
    }

    /// Sets query parameters, replacing those of the same name.
    #[must_use]
    pub fn query<K: AsRef<str>, V: AsRef<str>>(mut self, pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let new: Vec<_> = pairs.into_iter().collect();
        let kept: Vec<(String, String)> = self
            .url
            .query_pairs()
            .filter(|(name, _)| !new.iter().any(|(replaced, _)| replaced.as_ref() == name.as_ref()))
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        if kept.is_empty() && new.is_empty() {
            self.url.set_query(None);
        } else {
            self.url.query_pairs_mut().clear().extend_pairs(kept).extend_pairs(new);
        }
        self
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl AsRef<str>) -> Self {
        self.insert(name, value.as_ref(), Visibility::Public);
        self
    }

    /// Sets a header whose value is secret, whatever its name.
    #[must_use]
    pub fn secret_header(mut self, name: HeaderName, value: &SecretString) -> Self {
        self.insert(name, value.expose_secret(), Visibility::Secret);
        self
    }

    /// Sends this as JSON.
    #[must_use]
    pub fn json(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => self.bytes("application/json", body),
            Err(error) => {
                self.refuse(format!("the body cannot be written as JSON: {error}"));
                self
            }
        }
    }

    /// Sends these pairs as an HTML form.
    #[must_use]
    pub fn form<K: AsRef<str>, V: AsRef<str>>(self, pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let mut scratch = self.url.clone();
        scratch.query_pairs_mut().clear().extend_pairs(pairs);
        let body = scratch.query().unwrap_or_default().to_owned();
        self.bytes("application/x-www-form-urlencoded", body)
    }

    /// Sends these bytes.
    #[must_use]
    pub fn bytes(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.headers
            .entry(header::CONTENT_TYPE)
            .or_insert(HeaderValue::from_static(content_type));
        self.body = body.into();
        self
    }

    /// Says what happens if it reaches the cloud twice, where the method does not determine it.
    #[must_use]
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.idempotency = idempotency;
        self
    }

    /// How long this call may take in all, instead of the client's default.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Names the requested object, like `server web-1`, for errors that a user reads.
    #[must_use]
    pub fn about(mut self, what: impl Into<String>) -> Self {
        self.about = Some(what.into());
        self
    }

    /// Takes this status, too, for an answer and not for a failure.
    #[must_use]
    pub fn accept(mut self, status: StatusCode) -> Self {
        self.accepted.push(status);
        self
    }

    /// The name of the call in errors: `list servers`.
    pub(crate) fn call(&self) -> String {
        self.operation.replace('_', " ")
    }

    /// The requested object, or the call if it has no name.
    pub(crate) fn what(&self) -> String {
        self.about
            .clone()
            .unwrap_or_else(|| format!("the object of {}", self.call()))
    }

    fn insert(&mut self, name: HeaderName, value: &str, visibility: Visibility) {
        match HeaderValue::from_str(value) {
            Ok(mut value) => {
                value.set_sensitive(visibility == Visibility::Secret);
                self.headers.insert(name, value);
            }
            Err(_) => self.refuse(format!(
                "the value of header {name} has characters that no header may have"
            )),
        }
    }

    fn refuse(&mut self, reason: String) {
        self.invalid.get_or_insert(reason);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Public,
    Secret,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation)
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .field("idempotency", &self.idempotency)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn base() -> Url {
        Url::parse("https://cloud.example/v2/?a=1&b=2").unwrap()
    }

    #[rstest]
    #[case::plain(&["servers", "42"], "https://cloud.example/v2/servers/42")]
    #[case::slash_in_a_name(&["servers", "a/b?c"], "https://cloud.example/v2/servers/a%2Fb%3Fc")]
    fn paths(#[case] segments: &[&str], #[case] url: &str) {
        let request = Request::get("x", &base()).path(segments.iter().copied());
        assert_eq!(request.url.as_str(), format!("{url}?a=1&b=2"));
        assert_eq!(request.invalid, None);
    }

    #[rstest]
    #[case::empty("")]
    #[case::parent("..")]
    fn segments_that_would_vanish_are_refused(#[case] segment: &str) {
        assert!(Request::get("x", &base()).path(["servers", segment]).invalid.is_some());
    }

    #[test]
    fn query_replaces_its_own_names_only() {
        let request = Request::get("x", &base()).query([("b", "3 4"), ("c", "5")]);
        assert_eq!(request.url.query(), Some("a=1&b=3+4&c=5"));
    }

    #[test]
    fn form_leaves_the_url_alone() {
        let request = Request::post("x", &base()).form([("Action", "Describe It")]);
        assert_eq!((&request.body[..], request.url), (&b"Action=Describe+It"[..], base()));
    }

    #[rstest]
    #[case(Method::GET, Idempotency::Safe)]
    #[case(Method::HEAD, Idempotency::Safe)]
    #[case(Method::PUT, Idempotency::Idempotent)]
    #[case(Method::DELETE, Idempotency::Idempotent)]
    #[case(Method::POST, Idempotency::Once)]
    #[case(Method::PATCH, Idempotency::Once)]
    fn idempotency_by_method(#[case] method: Method, #[case] expected: Idempotency) {
        assert_eq!(Request::new(method, "x", &base()).idempotency, expected);
    }

    #[test]
    fn a_bad_header_value_does_not_show_up() {
        let secret = SecretString::from("s3cr3t\n");
        let request = Request::get("x", &base()).secret_header(header::AUTHORIZATION, &secret);
        let reason = request.invalid.unwrap();
        assert!(!reason.contains("s3cr3t"), "{reason}");
    }
}
