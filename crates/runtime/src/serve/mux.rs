//! Who answers at which path.

use super::response::{self, Response};
use super::user::User;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A request as a handler sees it.
#[derive(Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, without percent-encoding.
    pub path: String,
    /// What stands after the question mark.
    pub query: String,
    /// The headers, without those that say who asks.
    pub headers: HeaderMap,
    /// Who asks, where that is known.
    pub user: Option<User>,
    pub(super) body: Incoming,
}

/// Why a body cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// There is too much of it.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// It took too long.
    #[error("the body took too long")]
    TooSlow,
    /// It broke off.
    #[error("error reading request body")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl BodyError {
    /// What to answer.
    #[must_use]
    pub fn response(&self) -> Response {
        let status = match self {
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken(_) => StatusCode::BAD_REQUEST,
        };
        response::error(status, &self.to_string())
    }
}

impl Request {
    /// Reads the body.
    ///
    /// # Errors
    /// If it is larger than `limit`, takes too long or breaks off.
    pub async fn into_body(self, limit: usize) -> Result<Bytes, BodyError> {
        match tokio::time::timeout(BODY_TIMEOUT, Limited::new(self.body, limit).collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge(limit)),
            Ok(Err(error)) => Err(BodyError::Broken(error)),
            Err(_) => Err(BodyError::TooSlow),
        }
    }
}

/// Answers requests.
pub type Handler = Arc<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>;

/// Who answers at which path.
#[derive(Clone, Default)]
pub struct Mux {
    exact: HashMap<String, Handler>,
    prefixes: Vec<(String, Handler)>,
}

impl fmt::Debug for Mux {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes = self.prefixes.iter().map(|(prefix, _)| prefix);
        f.debug_set().entries(self.exact.keys().chain(prefixes)).finish()
    }
}

impl Mux {
    /// Lets `handler` answer at exactly this path.
    #[must_use]
    pub fn at<F>(mut self, path: &str, handler: impl Fn(Request) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        self.exact
            .insert(path.to_owned(), Arc::new(move |request| Box::pin(handler(request))));
        self
    }

    /// Lets `handler` answer at all paths that begin so and that nobody else answers at. The longest beginning counts.
    #[must_use]
    pub fn under<F>(mut self, prefix: &str, handler: impl Fn(Request) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Response> + Send + 'static,
    {
        self.prefixes
            .push((prefix.to_owned(), Arc::new(move |request| Box::pin(handler(request)))));
        self.prefixes.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        self
    }

    pub(super) async fn serve(&self, request: Request) -> Response {
        let prefixed = || {
            self.prefixes
                .iter()
                .find(|(prefix, _)| request.path.starts_with(prefix.as_str()))
        };
        match self
            .exact
            .get(&request.path)
            .or_else(|| prefixed().map(|(_, handler)| handler))
        {
            Some(handler) => handler(request).await,
            None => response::not_found(),
        }
    }
}
