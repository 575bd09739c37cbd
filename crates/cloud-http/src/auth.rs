//! Authentication at the cloud.

use bytes::Bytes;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use http::{HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// An authentication method. Give it to clients as [`Credentials`], which refresh only once for concurrent callers.
#[async_trait::async_trait]
pub trait Auth: Send + Sync + 'static {
    /// Puts the credential on a request, which is otherwise as it will be sent. Called for each attempt.
    ///
    /// Answers [`Authorized::Stale`], without any IO, if there is no credential yet or it is about to expire; it is then
    /// called again after [`Auth::refresh`].
    ///
    /// # Errors
    /// If there is no way to authorise this request.
    async fn authorize(&self, request: &mut http::Request<Bytes>) -> cloud::Result<Authorized>;

    /// Gets a new credential for all later requests. Called when there is none, or when an answer reports that it is stale
    /// ([`crate::Client::expiring`]); never twice at the same time. It must not go through a client that has these credentials.
    ///
    /// # Errors
    /// If the cloud does not give one. All waiting callers get this error.
    async fn refresh(&self) -> cloud::Result<()>;
}

/// Whether a request can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorized {
    /// It carries what it needs.
    Ready,
    /// A new credential is needed first.
    Stale,
}

/// An [`Auth`] that any number of clients share. Clones are the same credentials.
///
/// Calls that find a stale credential at the same time share one refresh.
#[derive(Clone)]
pub struct Credentials(Arc<Inner>);

struct Inner {
    auth: Box<dyn Auth>,
    /// Grows with each successful refresh.
    generation: AtomicU64,
    /// Weak, so that a refresh without a waiting call is cancelled instead of being found half done an hour later.
    under_way: Mutex<Option<WeakShared<Refresh>>>,
}

type Refresh = BoxFuture<'static, cloud::Result<()>>;

/// The generation of a credential, to be read before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation(u64);

impl Credentials {
    /// Credentials for any number of clients.
    pub fn new(auth: impl Auth) -> Self {
        Self(Arc::new(Inner {
            auth: Box::new(auth),
            generation: AtomicU64::new(0),
            under_way: Mutex::default(),
        }))
    }

    /// A token that does not expire, as `Authorization: Bearer …`. One that was revoked cannot be renewed.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] if the token has characters that no header may have.
    pub fn bearer(token: &SecretString) -> cloud::Result<Self> {
        let value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
        let mut value =
            value.map_err(|_| cloud::Error::invalid("token", "it has characters that no header may have"))?;
        value.set_sensitive(true);
        Ok(Self::new(Bearer(value)))
    }

    pub(crate) fn generation(&self) -> Generation {
        Generation(self.0.generation.load(Ordering::Acquire))
    }

    /// Authorises a request, with a new credential if need be.
    pub(crate) async fn authorize(&self, call: &str, request: &mut http::Request<Bytes>) -> cloud::Result<()> {
        let seen = self.generation();
        if self.ask(call, request).await? == Authorized::Ready {
            return Ok(());
        }
        self.refresh(call, seen).await?;
        match self.ask(call, request).await? {
            Authorized::Ready => Ok(()),
            Authorized::Stale => Err(cloud::Error::denied(call, "the new credential is stale already")),
        }
    }

    /// Makes sure that there is a credential newer than the one that was seen, shared by all concurrent callers.
    pub(crate) async fn refresh(&self, call: &str, seen: Generation) -> cloud::Result<()> {
        match self.join(seen) {
            Some(refresh) => refresh.await.map_err(|error| of_login(call, error)),
            None => Ok(()),
        }
    }

    async fn ask(&self, call: &str, request: &mut http::Request<Bytes>) -> cloud::Result<Authorized> {
        self.0
            .auth
            .authorize(request)
            .await
            .map_err(|error| of_login(call, error))
    }

    fn join(&self, seen: Generation) -> Option<Shared<Refresh>> {
        let mut under_way = self.0.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if self.generation() > seen {
            return None;
        }
        let running = under_way.as_ref().and_then(WeakShared::upgrade);
        let refresh = running.unwrap_or_else(|| Self::start(Arc::clone(&self.0)));
        *under_way = refresh.downgrade();
        Some(refresh)
    }

    fn start(inner: Arc<Inner>) -> Shared<Refresh> {
        let refresh = async move {
            inner.auth.refresh().await?;
            inner.generation.fetch_add(1, Ordering::Release);
            Ok(())
        };
        refresh.boxed().shared()
    }
}

/// The error of a call whose login failed. A login that was not found does not mean that the object of the call does not exist.
fn of_login(call: &str, error: cloud::Error) -> cloud::Error {
    match error {
        cloud::Error::NotLeader => cloud::Error::NotLeader,
        cloud::Error::Throttled { retry_after, .. } => cloud::Error::Throttled {
            call: call.to_owned(),
            retry_after,
        },
        cloud::Error::Unavailable { .. } => cloud::Error::unavailable(call, error),
        _ => cloud::Error::denied(call, error),
    }
}

/// A token in a header.
struct Bearer(HeaderValue);

#[async_trait::async_trait]
impl Auth for Bearer {
    async fn authorize(&self, request: &mut http::Request<Bytes>) -> cloud::Result<Authorized> {
        request.headers_mut().insert(header::AUTHORIZATION, self.0.clone());
        Ok(Authorized::Ready)
    }

    async fn refresh(&self) -> cloud::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}
