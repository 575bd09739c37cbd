//! Logging in to Keystone.

use super::{
    keystone::{self, Token, Version},
    place::Place,
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

/// Why Keystone gave no token.
#[derive(Debug, thiserror::Error)]
#[error("keystone at {url} does not accept {who}: {hint}")]
pub struct Refused {
    url: String,
    who: String,
    hint: &'static str,
    source: Option<Failure>,
}

/// There is something at `auth-url`, but no Keystone.
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
    /// Known also when the token is not any more.
    place: ArcSwapOption<Place>,
}

/// The throttle of these credentials: of all that Keystone judges by. Credentials that cannot be sent have one of their own.
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
        let place = Place::of(token.project_id.as_deref(), &token.catalog, &self.global);
        self.place.store(Some(Arc::new(place)));
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
            place: ArcSwapOption::empty(),
        }
    }

    /// The project and region of the last token; `None` if there never was one.
    pub fn place(&self) -> Option<Arc<Place>> {
        self.place.load_full()
    }

    async fn identity(&self) -> Result<&Url> {
        self.identity.get_or_try_init(|| self.discover()).await
    }

    /// Where Keystone's v3 is. A Keystone whose versions cannot be listed may still have one at the usual place.
    async fn discover(&self) -> Result<Url> {
        let url = match base(&self.global.auth_url)? {
            Base::Versioned(url) => return Ok(url),
            Base::Plain(url) => url,
        };
        let timer = self.metrics.request("version_list");
        match timer.end(keystone::versions(&self.client, &url).await) {
            Ok(versions) => best(&url, &versions),
            Err(error) if Failure::of(&error).is_some() || matches!(error, Error::NotFound { .. }) => {
                debug!(error = error.report(), "keystone does not list its versions");
                Ok(v3(&url))
            }
            Err(error) => Err(error),
        }
    }

    fn explain(&self, error: Error) -> Error {
        let failure = Failure::of(&error).cloned();
        let status = failure.as_ref().map(Failure::status);
        match (&error, &self.global.method, status) {
            // To Keystone, an application credential that is deleted was never there.
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

/// What `auth-url` is.
enum Base {
    /// It names the version.
    Versioned(Url),
    /// It does not.
    Plain(Url),
}

fn base(auth_url: &str) -> Result<Base> {
    if auth_url.is_empty() {
        return Err(Error::invalid("auth-url", "the URL of Keystone is missing"));
    }
    let trimmed = auth_url.trim_end_matches('/');
    let parsed = |text: &str| {
        let url = Url::parse(text).ok().filter(Url::has_host);
        url.ok_or_else(|| {
            Error::invalid(
                "auth-url",
                format!("{text:?} is no URL like https://cloud.example:5000/v3"),
            )
        })
    };
    if trimmed.ends_with("/v3") {
        return Ok(Base::Versioned(parsed(trimmed)?));
    }
    // Keystone has had no v2.0 since 2018, but old files still name it.
    let plain = trimmed.strip_suffix("/v2.0").unwrap_or(trimmed);
    Ok(Base::Plain(parsed(plain)?))
}

/// The link that a Keystone gives, at the place where we know it to be: behind a proxy it may not know its own name.
fn best(url: &Url, versions: &[Version]) -> Result<Url> {
    const USABLE: [&str; 3] = ["stable", "current", "supported"];
    let usable = |version: &&Version| {
        version.id.starts_with("v3") && USABLE.contains(&version.status.to_ascii_lowercase().as_str())
    };
    let Some(version) = versions.iter().find(usable) else {
        let ids: Vec<_> = versions.iter().map(|version| version.id.as_str()).collect();
        return Err(Error::invalid(
            "auth-url",
            format!("Keystone has no version 3; it has {}", ids.join(", ")),
        ));
    };
    let link = version.links.iter().find(|link| link.rel == "self");
    let link = link.and_then(|link| Url::parse(&link.href).ok());
    Ok(link
        .filter(|link| link.origin() == url.origin())
        .unwrap_or_else(|| v3(url)))
}

fn v3(url: &Url) -> Url {
    let mut url = url.clone();
    let path = format!("{}/v3", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

/// As whom, in words that hold no secret.
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
    use rstest::rstest;

    #[rstest]
    #[case::versioned("https://k:5000/v3", "as is https://k:5000/v3")]
    #[case::slash("https://k/identity/v3/", "as is https://k/identity/v3")]
    #[case::plain("https://k:5000", "ask https://k:5000/")]
    #[case::path("https://k/identity/", "ask https://k/identity")]
    #[case::old("https://k:5000/v2.0/", "ask https://k:5000/")]
    #[case::missing("", "invalid auth-url: the URL of Keystone is missing")]
    #[case::no_url(
        "keystone",
        r#"invalid auth-url: "keystone" is no URL like https://cloud.example:5000/v3"#
    )]
    fn auth_urls(#[case] given: &str, #[case] expected: &str) {
        let found = match base(given) {
            Ok(Base::Versioned(url)) => format!("as is {url}"),
            Ok(Base::Plain(url)) => format!("ask {url}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

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

    #[rstest]
    #[case::link("v3.14", "stable", "https://k:5000/other/v3/", "https://k:5000/other/v3/")]
    #[case::foreign_host("v3.14", "stable", "http://10.0.0.1/v3/", "https://k:5000/v3")]
    #[case::no_link("v3.14", "CURRENT", "", "https://k:5000/v3")]
    #[case::too_old("v2.0", "stable", "", "invalid auth-url: Keystone has no version 3; it has v2.0")]
    #[case::experimental(
        "v3.99",
        "experimental",
        "",
        "invalid auth-url: Keystone has no version 3; it has v3.99"
    )]
    fn versions(#[case] id: &str, #[case] status: &str, #[case] href: &str, #[case] expected: &str) {
        let version: Version = serde_json::from_value(serde_json::json!({
            "id": id, "status": status, "links": [{"rel": "self", "href": href}],
        }))
        .unwrap();
        let found = best(&Url::parse("https://k:5000").unwrap(), &[version]);
        assert_eq!(found.map_or_else(|error| error.to_string(), String::from), expected);
    }
}
