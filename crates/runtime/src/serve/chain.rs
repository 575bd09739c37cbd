//! The steps before a request is answered: authentication, authorization, a time limit, a log line.

use super::{
    authn::Authenticator,
    authz::{Authorizer, Decision},
    response::{self, Response},
    user::User,
};
use axum::{Router, body::Body};
use futures::FutureExt;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use rustls::pki_types::CertificateDer;
use std::{net::SocketAddr, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

/// The client of a connection.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// The client certificate and its intermediate certificates.
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

/// Marks the response to a client that is not authenticated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anonymous;

/// The endpoints of a port, and the authentication and authorization in front of them.
#[derive(Debug)]
pub struct Chain {
    router: Router,
    authenticator: Option<Arc<Authenticator>>,
    authorizer: Option<Arc<Authorizer>>,
}

impl Chain {
    /// Every client may use the endpoints.
    #[must_use]
    pub fn open(endpoints: Router) -> Self {
        Self {
            router: endpoints.fallback(|| async { response::not_found() }),
            authenticator: None,
            authorizer: None,
        }
    }

    /// Clients are authenticated, and may use the endpoints they are authorized for.
    #[must_use]
    pub fn guarded(endpoints: Router, authenticator: Authenticator, authorizer: Authorizer) -> Self {
        Self {
            authenticator: Some(Arc::new(authenticator)),
            authorizer: Some(Arc::new(authorizer)),
            ..Self::open(endpoints)
        }
    }

    pub(super) fn authenticator(&self) -> Option<&Arc<Authenticator>> {
        self.authenticator.as_ref()
    }

    /// Answers a request within `limit`, also if the handler panics.
    pub(super) async fn serve(&self, peer: &Peer, request: Request<Incoming>, limit: Duration) -> Response {
        let started = Instant::now();
        let (verb, uri) = (request.method().clone(), request.uri().clone());
        let agent = request.headers().get(header::USER_AGENT);
        let agent = agent.map_or_else(String::new, |agent| {
            String::from_utf8_lossy(agent.as_bytes()).into_owned()
        });
        let answer = AssertUnwindSafe(self.authenticated(peer, request)).catch_unwind();
        let mut response = match timeout(limit, answer).await {
            Ok(Ok(response)) => response,
            Ok(Err(_panic)) => {
                tracing::error!(source = %peer.address, "a request caused a panic");
                let message = "This request caused the server to panic. Look in the logs for details.";
                response::error(StatusCode::INTERNAL_SERVER_ERROR, message)
            }
            Err(_elapsed) => response::error(StatusCode::GATEWAY_TIMEOUT, "the request took too long to answer"),
        };
        let caching = response.headers_mut().entry(header::CACHE_CONTROL);
        caching.or_insert(HeaderValue::from_static("no-cache, private"));
        tracing::debug!(
            %verb, %uri, source = %peer.address, user_agent = agent, latency = ?started.elapsed(),
            status = response.status().as_u16(), "HTTP"
        );
        response
    }

    async fn authenticated(&self, peer: &Peer, mut request: Request<Incoming>) -> Response {
        let Some(authenticator) = &self.authenticator else {
            return self.route(request).await;
        };
        let user = authenticator.authenticate(&peer.certificates, request.headers_mut());
        match user.await {
            Ok(user) => self.authorized(user, request).await,
            Err(reason) => {
                tracing::info!(source = %peer.address, %reason, "unable to authenticate a request");
                anonymous(response::unauthorized())
            }
        }
    }

    /// The path is authorized as the client sent it, because the router compares it in this form.
    async fn authorized(&self, user: User, mut request: Request<Incoming>) -> Response {
        let (verb, path) = (request.method().as_str().to_lowercase(), request.uri().path());
        let decision = match &self.authorizer {
            Some(authorizer) => authorizer.authorize(&user, &verb, path).await,
            None => Decision::Allowed,
        };
        let is_anonymous = user.is_anonymous();
        let response = match decision {
            Decision::Allowed => {
                request.extensions_mut().insert(user);
                self.route(request).await
            }
            Decision::Denied { reason } => response::forbidden(&user.name, &verb, path, &reason),
            Decision::Unknown { problem } => {
                let uri = request.uri().path_and_query().map_or(path, |uri| uri.as_str());
                response::internal_error(uri, &problem)
            }
        };
        if is_anonymous { anonymous(response) } else { response }
    }

    async fn route(&self, request: Request<Incoming>) -> Response {
        let answer = self.router.clone().oneshot(request.map(Body::new)).await;
        answer.unwrap_or_else(|never| match never {})
    }
}

fn anonymous(mut response: Response) -> Response {
    response.extensions_mut().insert(Anonymous);
    response
}
