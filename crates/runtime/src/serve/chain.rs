//! What happens to a request before it is answered: panics are caught, it is logged, nothing is cached, and whoever asks
//! is identified and then allowed or not.

use super::{
    authn::Authenticator,
    authz::{Authorizer, Decision},
    mux::{Mux, Request},
    response::{self, Response},
    uri,
    user::User,
};
use futures::FutureExt;
use http::{HeaderValue, StatusCode, header, request::Parts};
use hyper::body::Incoming;
use rustls::pki_types::CertificateDer;
use std::{net::SocketAddr, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The other side of a connection.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// The certificate it has presented, and what links it to an authority.
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

/// An answer, and whether we know whom it is for.
pub(super) struct Answer {
    pub(super) response: Response,
    pub(super) caller: Caller,
}

/// Whether we know who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// We do, or nobody wants to know.
    Known,
    /// We do not.
    Unknown,
}

/// The filters of a port, and who answers behind them.
#[derive(Debug)]
pub struct Chain {
    mux: Mux,
    authenticator: Option<Arc<Authenticator>>,
    authorizer: Option<Arc<Authorizer>>,
}

impl Chain {
    /// A chain that lets everybody through to `mux`.
    #[must_use]
    pub fn open(mux: Mux) -> Self {
        Self {
            mux,
            authenticator: None,
            authorizer: None,
        }
    }

    /// A chain that identifies whoever asks and lets them through if they may.
    #[must_use]
    pub fn guarded(mux: Mux, authenticator: Authenticator, authorizer: Authorizer) -> Self {
        Self {
            mux,
            authenticator: Some(Arc::new(authenticator)),
            authorizer: Some(Arc::new(authorizer)),
        }
    }

    pub(super) fn authenticator(&self) -> Option<&Arc<Authenticator>> {
        self.authenticator.as_ref()
    }

    /// Answers a request, whatever happens, within `limit`.
    pub(super) async fn serve(&self, peer: &Peer, request: http::Request<Incoming>, limit: Duration) -> Answer {
        let logged = AssertUnwindSafe(self.logged(peer, request, limit));
        logged.catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(source = %peer.address, "a request caused a panic");
            let message = "This request caused the server to panic. Look in the logs for details.";
            Answer {
                response: response::error(StatusCode::INTERNAL_SERVER_ERROR, message),
                caller: Caller::Known,
            }
        })
    }

    async fn logged(&self, peer: &Peer, request: http::Request<Incoming>, limit: Duration) -> Answer {
        let started = Instant::now();
        let (verb, uri) = (request.method().clone(), request.uri().clone());
        let agent = request.headers().get(header::USER_AGENT);
        let agent = agent.map_or_else(String::new, |agent| {
            String::from_utf8_lossy(agent.as_bytes()).into_owned()
        });
        let answer = tokio::time::timeout(limit, self.uncached(peer, request))
            .await
            .unwrap_or_else(|_| {
                let message = "the request took too long to answer";
                Answer {
                    response: response::error(StatusCode::GATEWAY_TIMEOUT, message),
                    caller: Caller::Known,
                }
            });
        tracing::debug!(
            %verb, %uri, source = %peer.address, user_agent = agent, latency = ?started.elapsed(),
            status = answer.response.status().as_u16(), "HTTP"
        );
        answer
    }

    async fn uncached(&self, peer: &Peer, request: http::Request<Incoming>) -> Answer {
        let mut answer = self.identified(peer, request).await;
        let headers = answer.response.headers_mut();
        headers
            .entry(header::CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-cache, private"));
        answer
    }

    async fn identified(&self, peer: &Peer, request: http::Request<Incoming>) -> Answer {
        let (mut parts, body) = request.into_parts();
        let Some(path) = uri::decode(parts.uri.path()) else {
            let response = response::error(StatusCode::BAD_REQUEST, "the path is not properly encoded");
            return Answer {
                response,
                caller: Caller::Unknown,
            };
        };
        let user = match &self.authenticator {
            None => None,
            Some(authenticator) => match authenticator.authenticate(&peer.certificates, &mut parts.headers).await {
                Ok(user) => Some(user),
                Err(reason) => {
                    tracing::info!(source = %peer.address, reason, "unable to authenticate a request");
                    return Answer {
                        response: response::unauthorized(),
                        caller: Caller::Unknown,
                    };
                }
            },
        };
        let caller = if user.as_ref().is_some_and(User::is_anonymous) {
            Caller::Unknown
        } else {
            Caller::Known
        };
        Answer {
            response: self.allowed(path, user, parts, body).await,
            caller,
        }
    }

    async fn allowed(&self, path: String, user: Option<User>, parts: Parts, body: Incoming) -> Response {
        if let (Some(authorizer), Some(user)) = (&self.authorizer, &user) {
            let verb = parts.method.as_str().to_lowercase();
            match authorizer.authorize(user, &verb, &path).await {
                Decision::Allowed => {}
                Decision::Denied { reason } => return response::forbidden(&user.name, &verb, &path, &reason),
                Decision::Unknown { problem } => {
                    let uri = parts.uri.path_and_query().map_or(path.as_str(), |uri| uri.as_str());
                    return response::internal_error(uri, &problem);
                }
            }
        }
        let query = parts.uri.query().unwrap_or_default().to_owned();
        self.mux
            .serve(Request {
                method: parts.method,
                path,
                query,
                headers: parts.headers,
                user,
                body,
            })
            .await
    }
}
