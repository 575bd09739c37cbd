//! Logging in to Keystone.

use super::{
    auth_url::{self, AuthUrl},
    keystone::{self, Token},
    project::Project,
};
use crate::{
    config::{Credential, Global, Identity, Method, User},
    metrics::Metrics,
};
use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use cloud::{Error, Result};
use cloud_http::{
    Client, Failure, Url,
    bytes::Bytes,
    http::{self, HeaderName, HeaderValue, StatusCode},
    login::{Grant, LogIn, LoginThrottle, LoginThrottles},
};
use secrecy::ExposeSecret;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tracing::{debug, info};

const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// Why Keystone refused the credentials.
#[derive(Debug, thiserror::Error)]
#[error("keystone at {url} does not accept {who}: {hint}")]
pub struct Refused {
    url: String,
    who: String,
    hint: &'static str,
    source: Option<Failure>,
}

/// The server at `auth-url` is not Keystone.
#[derive(Debug, thiserror::Error)]
#[error("there is no Keystone at {url}: check auth-url")]
pub struct Misplaced {
    url: String,
    source: Option<Failure>,
}

/// Keystone as one user.
pub struct Keystone {
    client: Client,
    global: Global,
    metrics: Metrics,
    identity: OnceCell<Url>,
    /// Kept when the token is invalid.
    project: ArcSwapOption<Project>,
}

/// The throttle of these credentials, by everything that Keystone checks. Credentials that cannot be sent have their own.
pub fn throttle(throttles: &LoginThrottles, global: &Global) -> Arc<LoginThrottle> {
    let Ok(body) = keystone::body(global) else {
        return Arc::default();
    };
    let identity = global.tls.identity.as_ref();
    let identity = identity.map(|Identity { certificate, key }| (certificate, key.expose_secret()));
    throttles.of((&global.auth_url, body.to_string(), identity))
}

#[async_trait]
impl LogIn for Keystone {
    type Credential = Token;

    async fn log_in(&self) -> Result<Grant<Token>> {
        let identity = self.identity().await?;
        let timer = self.metrics.request("token_create");
        let token = keystone::token(&self.client, identity, &self.global).await;
        let token = timer.end(token).map_err(|error| self.explain(error))?;
        info!(user = %who(&self.global.method), project = token.project_id, "authenticated");
        let project = Project::of(token.project_id.as_deref(), &token.catalog, &self.global);
        self.project.store(Some(Arc::new(project)));
        let lifetime = match self.global.method {
            // A token that is re-scoped expires with the one it came from: an early renewal gains nothing.
            Method::Token(_) => None,
            Method::Password { .. } | Method::ApplicationCredential { .. } => token.lifetime,
        };
        Ok(Grant {
            credential: token,
            lifetime,
        })
    }

    fn authorize(&self, token: &Token, request: &mut http::Request<Bytes>) -> Result<()> {
        let mut value = HeaderValue::from_str(token.secret.expose_secret())
            .map_err(|_| Error::unavailable("authenticate", "the token has characters that no header may have"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(TOKEN, value);
        Ok(())
    }
}

impl Keystone {
    /// `client` must have no credentials itself.
    pub fn new(client: Client, global: Global, metrics: Metrics) -> Self {
        Self {
            client,
            global,
            metrics,
            identity: OnceCell::new(),
            project: ArcSwapOption::empty(),
        }
    }

    /// The project and region of the last token; `None` if there never was one.
    pub fn project(&self) -> Option<Arc<Project>> {
        self.project.load_full()
    }

    async fn identity(&self) -> Result<&Url> {
        self.identity.get_or_try_init(|| self.discover()).await
    }

    /// The URL of Keystone's v3. A Keystone that does not list its versions may still have one at the usual path.
    async fn discover(&self) -> Result<Url> {
        let url = match auth_url::parse(&self.global.auth_url)? {
            AuthUrl::Versioned(url) => return Ok(url),
            AuthUrl::Plain(url) => url,
        };
        let timer = self.metrics.request("version_list");
        match timer.end(keystone::versions(&self.client, &url).await) {
            Ok(versions) => auth_url::newest(&url, &versions),
            Err(error) if Failure::of(&error).is_some() || matches!(error, Error::NotFound { .. }) => {
                debug!(error = error.report(), "keystone does not list its versions");
                Ok(auth_url::v3(&url))
            }
            Err(error) => Err(error),
        }
    }

    fn explain(&self, error: Error) -> Error {
        let failure = Failure::of(&error).cloned();
        let status = failure.as_ref().map(Failure::status);
        match (&error, &self.global.method, status) {
            // Keystone answers 404 for a deleted application credential.
            (Error::NotFound { .. }, Method::ApplicationCredential { .. }, _)
            | (_, _, Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)) => self.refuse(failure),
            (Error::NotFound { .. }, _, _) | (_, _, Some(StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED)) => {
                let url = self.global.auth_url.clone();
                Error::unavailable("authentication", Misplaced { url, source: failure })
            }
            _ => error,
        }
    }

    fn refuse(&self, source: Option<Failure>) -> Error {
        let refused = Refused {
            url: self.global.auth_url.clone(),
            who: who(&self.global.method),
            hint: hint(&self.global.method),
            source,
        };
        Error::denied("authentication", refused)
    }
}

/// The user, without secrets.
fn who(method: &Method) -> String {
    let user = |user: &User| match user {
        User::Id(id) => format!("user {id}"),
        User::Name { name, .. } => format!("user {name:?}"),
    };
    match method {
        Method::Password { user: who, .. } => user(who),
        Method::ApplicationCredential { credential, .. } => match credential {
            Credential::Id(id) => format!("application credential {id}"),
            Credential::Name { name, user: who } => format!("application credential {name:?} of {}", user(who)),
        },
        Method::Token(_) => "the token".to_owned(),
    }
}

fn hint(method: &Method) -> &'static str {
    match method {
        Method::Password { .. } => "check the password, the user's domain, and that the user has a role in the project",
        Method::ApplicationCredential { .. } => {
            "check the secret, and that the application credential is neither deleted nor expired"
        }
        Method::Token(_) => "it may have expired; a password or an application credential lasts longer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_credentials_have_the_same_throttle() {
        let throttles = LoginThrottles::default();
        let global = |password: &str| Global {
            auth_url: "https://keystone.example/v3".to_owned(),
            method: Method::Password {
                user: User::Id("u".to_owned()),
                password: password.into(),
            },
            ..Global::default()
        };
        let is_same =
            |one: &Global, other: &Global| Arc::ptr_eq(&throttle(&throttles, one), &throttle(&throttles, other));
        assert!(is_same(&global("a"), &global("a")));
        assert!(!is_same(&global("a"), &global("b")));
        let elsewhere = Global {
            auth_url: "https://another.example/v3".to_owned(),
            ..global("a")
        };
        assert!(!is_same(&global("a"), &elsewhere));
        let mut with_certificate = global("a");
        with_certificate.tls.identity = Some(Identity {
            certificate: b"certificate".to_vec(),
            key: "key".into(),
        });
        assert!(!is_same(&global("a"), &with_certificate));
    }
}
