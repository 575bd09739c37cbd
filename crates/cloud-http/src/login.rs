//! Logging in to a cloud: one login at a time, back-off after a refusal, and renewal before the credential expires.
//!
//! A cloud implements [`LogIn`]; a [`Login`] of it holds the newest credential and is the [`Auth`] of any number of clients.

mod throttle;

#[cfg(test)]
mod tests;

pub use throttle::{LoginThrottle, LoginThrottles};

use crate::{Auth, Authorized};
use arc_swap::ArcSwapOption;
use bytes::Bytes;
use cloud::{Error, Result};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Instant};

/// A credential is renewed this long before it expires, or a tenth of its lifetime if that is less.
const MARGIN: Duration = Duration::from_mins(2);

/// How a cloud gives credentials, and how a request carries them.
#[async_trait::async_trait]
pub trait LogIn: Send + Sync + 'static {
    /// What a login gives: a token, a session, temporary keys, and whatever came with them.
    type Credential: Send + Sync + 'static;

    /// Logs in once, now. It must not use a client that has these credentials.
    ///
    /// # Errors
    /// [`Error::Denied`] if the cloud refuses; there is no other login for a while.
    async fn log_in(&self) -> Result<Grant<Self::Credential>>;

    /// Puts the credential on a request, which is otherwise as it will be sent.
    ///
    /// # Errors
    /// If the request cannot carry it.
    fn authorize(&self, credential: &Self::Credential, request: &mut http::Request<Bytes>) -> Result<()>;
}

/// What a login gave.
pub struct Grant<C> {
    /// The credential.
    pub credential: C,
    /// How long the cloud accepts it from now on; `None` if that is not known, or if an early renewal gains nothing.
    pub lifetime: Option<Duration>,
}

/// Logs in when that is needed, and holds the newest credential.
pub struct Login<L: LogIn> {
    cloud: L,
    held: ArcSwapOption<Held<L::Credential>>,
    throttle: Arc<LoginThrottle>,
    refused: Notify,
}

struct Held<C> {
    credential: Arc<C>,
    renew_at: Option<Instant>,
}

impl<L: LogIn> Login<L> {
    /// Has no credential yet: it logs in when one is first needed.
    pub fn new(cloud: L, throttle: Arc<LoginThrottle>) -> Self {
        Self {
            cloud,
            held: ArcSwapOption::empty(),
            throttle,
            refused: Notify::new(),
        }
    }

    /// The cloud that it logs in to.
    pub fn cloud(&self) -> &L {
        &self.cloud
    }

    /// Gets a new credential, together with every other caller that wants one at this time.
    ///
    /// # Errors
    /// As [`LogIn::log_in`]; for some time after a refusal the same error, see [`LoginThrottle`].
    pub async fn renew(&self) -> Result<()> {
        let seen = self.held.load_full();
        let is_done = || !is_same(seen.as_ref(), self.held.load().as_ref());
        self.throttle.log_in(is_done, self.log_in()).await
    }

    /// The credential in use, after a first login if there is none.
    ///
    /// # Errors
    /// As [`Login::renew`].
    pub async fn current(&self) -> Result<Arc<L::Credential>> {
        if self.held.load().is_none() {
            self.renew().await?;
        }
        self.held()
            .ok_or_else(|| Error::unavailable("authentication", "there is no credential"))
    }

    /// The credential in use, if there is one.
    pub fn held(&self) -> Option<Arc<L::Credential>> {
        let held = self.held.load();
        held.as_ref().map(|held| Arc::clone(&held.credential))
    }

    /// Waits until the cloud refuses a login; returns at once if that has happened since this was last called.
    pub async fn refused(&self) {
        self.refused.notified().await;
    }

    async fn log_in(&self) -> Result<()> {
        let granted = self.cloud.log_in().await;
        if let Err(Error::Denied { .. }) = granted {
            self.refused.notify_one();
        }
        let Grant { credential, lifetime } = granted?;
        self.held.store(Some(Arc::new(Held {
            credential: Arc::new(credential),
            renew_at: lifetime.and_then(renew_at),
        })));
        Ok(())
    }
}

#[async_trait::async_trait]
impl<L: LogIn> Auth for Arc<Login<L>> {
    async fn authorize(&self, request: &mut http::Request<Bytes>) -> Result<Authorized> {
        match self.held.load().as_ref().filter(|held| held.is_fresh()) {
            Some(held) => self
                .cloud
                .authorize(&held.credential, request)
                .map(|()| Authorized::Ready),
            None => Ok(Authorized::Stale),
        }
    }

    /// If the cloud refuses a new credential, no service is called with the old one any more: each call would be refused, too.
    async fn refresh(&self) -> Result<()> {
        let old = self.held.load_full();
        let renewed = self.renew().await;
        if let Err(Error::Denied { .. }) = renewed {
            self.held.compare_and_swap(&old, None);
        }
        renewed
    }
}

impl<C> Held<C> {
    fn is_fresh(&self) -> bool {
        self.renew_at.is_none_or(|renew_at| Instant::now() < renew_at)
    }
}

fn renew_at(lifetime: Duration) -> Option<Instant> {
    let margin = MARGIN.min(lifetime / 10);
    Instant::now()
        .checked_add(lifetime.saturating_sub(margin))
        .filter(|_| !lifetime.is_zero())
}

fn is_same<C>(one: Option<&Arc<C>>, other: Option<&Arc<C>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}
