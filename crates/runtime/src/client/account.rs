//! The service account of a controller, and its tokens.

use super::{bearer::bearer, explain};
use arc_swap::ArcSwapOption;
use http::HeaderValue;
use jiff::Timestamp;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::{Namespace, ServiceAccount},
};
use kube::{Api, Client, api::PostParams};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};

/// The requested lifetime of a token.
const LIFETIME: Duration = Duration::from_hours(1);
/// The minimum assumed lifetime of a token: a shorter one means that the clock is wrong.
const SHORTEST: Duration = Duration::from_mins(10);
const ATTEMPTS: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// How long a token that could not be renewed is used before the next attempt.
const RETRY: Duration = Duration::from_secs(30);

/// A controller cannot use its service account.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} service account {namespace}/{name}")]
pub struct AccountError {
    step: &'static str,
    namespace: String,
    name: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// A `ServiceAccount` and its current token.
pub(super) struct Account {
    namespace: String,
    name: String,
    client: Client,
    token: ArcSwapOption<Token>,
    renewing: Mutex<()>,
}

#[derive(Debug)]
struct Token {
    header: HeaderValue,
    issued: Instant,
    renew: Instant,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Account {
    /// Uses `client` to create the account and to request its tokens.
    pub(super) fn new(client: Client, namespace: &str, name: &str) -> Self {
        let token = ArcSwapOption::empty();
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            client,
            token,
            renewing: Mutex::default(),
        }
    }

    /// Its user name on the API server.
    pub(super) fn username(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// Creates the account unless it exists.
    pub(super) async fn provide(&self) -> Result<(), AccountError> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        let found = accounts
            .get_metadata_opt(&self.name)
            .await
            .map_err(|source| self.failed("read", source))?;
        if found.is_some() {
            return Ok(());
        }
        self.provide_namespace().await;
        let mut account = ServiceAccount::default();
        account.metadata.name = Some(self.name.clone());
        match accounts.create(&PostParams::default(), &account).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            Err(source) => Err(self.failed("create", source)),
        }
    }

    /// Best effort: without permission to create namespaces, it usually exists already.
    async fn provide_namespace(&self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        if !matches!(namespaces.get_metadata_opt(&self.namespace).await, Ok(None)) {
            return;
        }
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(self.namespace.clone());
        match namespaces.create(&PostParams::default(), &namespace).await {
            Ok(_) => tracing::info!(namespace = self.namespace, "created namespace"),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(error) => {
                tracing::warn!(
                    namespace = self.namespace,
                    reason = explain(&error),
                    "cannot create namespace"
                );
            }
        }
    }

    /// The authorization header of the account.
    pub(super) async fn header(&self) -> Result<HeaderValue, AccountError> {
        let current = self.token.load_full();
        if let Some(token) = current.as_deref().filter(|token| Instant::now() < token.renew) {
            return Ok(token.header.clone());
        }
        // The old token is still valid, so only one request waits for the new one.
        let renewing = match (self.renewing.try_lock(), current) {
            (Ok(guard), _) => guard,
            (Err(_), Some(token)) => return Ok(token.header.clone()),
            (Err(_), None) => self.renewing.lock().await,
        };
        let header = self.renew().await;
        drop(renewing);
        header
    }

    async fn renew(&self) -> Result<HeaderValue, AccountError> {
        let current = self.token.load_full();
        let now = Instant::now();
        if let Some(token) = current.as_deref().filter(|token| now < token.renew) {
            return Ok(token.header.clone());
        }
        let token = match (self.request().await, current) {
            (Ok(token), _) => token,
            (Err(error), None) => return Err(error),
            (Err(error), Some(old)) => {
                let reason = explain(&error);
                tracing::warn!(account = ?self, reason, "cannot renew the token; using the previous one");
                Token {
                    header: old.header.clone(),
                    issued: old.issued,
                    renew: Instant::now() + RETRY,
                }
            }
        };
        let header = token.header.clone();
        self.token.store(Some(Arc::new(token)));
        Ok(header)
    }

    async fn request(&self) -> Result<Token, AccountError> {
        let mut wait = FIRST_WAIT;
        for _ in 1..ATTEMPTS {
            match self.request_once().await {
                Ok(token) => return Ok(token),
                Err(error) => tracing::debug!(account = ?self, reason = explain(&error), "no token; retrying"),
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        self.request_once().await
    }

    async fn request_once(&self) -> Result<Token, AccountError> {
        self.provide().await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        let expiration_seconds = i64::try_from(LIFETIME.as_secs()).ok();
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds,
                ..Default::default()
            },
            ..Default::default()
        };
        let answer = accounts
            .create_token_request(&self.name, &PostParams::default(), &request)
            .await;
        let status = answer
            .map_err(|source| self.failed("request a token for", source))?
            .status;
        let status = status.ok_or_else(|| self.failed("request a token for", "the answer has no token"))?;
        let header = bearer(&status.token).map_err(|source| self.failed("use the token of", source))?;
        let issued = Instant::now();
        let renew = issued + renew_after(status.expiration_timestamp.0, Timestamp::now());
        Ok(Token { header, issued, renew })
    }

    /// Discards the token unless it was issued after that time. Returns whether a retry makes sense, which is always the case.
    pub(super) fn forget_older_than(&self, sent: Instant) -> bool {
        let current = self.token.load_full();
        if current.as_ref().is_some_and(|token| token.issued < sent) {
            self.token.compare_and_swap(&current, None);
        }
        true
    }

    fn failed(&self, step: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> AccountError {
        AccountError {
            step,
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            source: source.into(),
        }
    }
}

/// A token is renewed when a fifth of its lifetime remains.
fn renew_after(expires: Timestamp, now: Timestamp) -> Duration {
    let lifetime = Duration::try_from(expires.duration_since(now)).unwrap_or_default();
    lifetime.max(SHORTEST) * 4 / 5
}

#[cfg(test)]
mod tests;
