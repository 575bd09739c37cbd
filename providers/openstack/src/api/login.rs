//! Who we are: the token, and how to get another one.

use super::{
    desk::Desk,
    keystone::{self, Grant, Version},
    place::Place,
};
use crate::{
    config::{Credential, Global, Method, User},
    metrics::Metrics,
};
use arc_swap::ArcSwapOption;
use cloud::{Error, Result};
use cloud_http::{
    Auth, Authorized, Client, Failure, Url,
    bytes::Bytes,
    http::{self, HeaderName, HeaderValue, StatusCode},
};
use secrecy::ExposeSecret;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{Notify, OnceCell};
use tracing::{debug, info};

const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// So long before its end a token is replaced, so that it does not end on the way.
const MARGIN: Duration = Duration::from_mins(2);

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

/// Gets tokens, and keeps the newest.
pub struct Login {
    client: Client,
    global: Global,
    metrics: Metrics,
    identity: OnceCell<Url>,
    current: ArcSwapOption<Current>,
    /// Known also when the token is not any more.
    place: ArcSwapOption<Place>,
    desk: Arc<Desk>,
    refused: Notify,
}

/// What we hold.
pub struct Current {
    /// The token and what came with it.
    pub grant: Grant,
    renew_at: Option<Instant>,
}

impl Login {
    /// `client` must have no credentials itself.
    pub fn new(client: Client, global: Global, metrics: Metrics, desk: Arc<Desk>) -> Self {
        Self {
            client,
            global,
            metrics,
            identity: OnceCell::new(),
            current: ArcSwapOption::empty(),
            place: ArcSwapOption::empty(),
            desk,
            refused: Notify::new(),
        }
    }

    /// Gets a new token, whether there is one or not; together with everybody else who wants one at this moment.
    ///
    /// # Errors
    /// Why there is none. After a refusal nobody asks Keystone for a while, and all get what it said, see [`Desk`].
    pub async fn renew(&self) -> Result<()> {
        let seen = self.current.load_full();
        let is_done = || !is_same(seen.as_ref(), self.current.load().as_ref());
        self.desk.log_in(is_done, self.ask()).await
    }

    async fn ask(&self) -> Result<()> {
        let identity = self.identity().await?;
        let timer = self.metrics.request("token_create");
        let asked = keystone::token(&self.client, identity, &self.global).await;
        let grant = timer.end(asked).map_err(|error| self.explain(error))?;
        info!(user = %who(&self.global.method), project = grant.project_id, "authenticated");
        let renew_at = self.renew_at(&grant);
        let place = Place::of(grant.project_id.as_deref(), &grant.catalog, &self.global);
        self.place.store(Some(Arc::new(place)));
        self.current.store(Some(Arc::new(Current { grant, renew_at })));
        Ok(())
    }

    /// What we hold, after a first login if need be.
    pub async fn current(&self) -> Result<Arc<Current>> {
        if let Some(current) = self.current.load_full() {
            return Ok(current);
        }
        self.renew().await?;
        self.current
            .load_full()
            .ok_or_else(|| Error::unavailable("authenticate", "there is no token"))
    }

    /// Where the last token led to; `None` if there never was one.
    pub fn place(&self) -> Option<Arc<Place>> {
        self.place.load_full()
    }

    /// Waits until Keystone does not accept the credentials; at once, if it has not since this was last asked.
    pub async fn refused(&self) {
        self.refused.notified().await;
    }

    /// A token that is re-scoped ends with the one it came from: asking early gains nothing.
    fn renew_at(&self, grant: &Grant) -> Option<Instant> {
        let lifetime = grant.lifetime.filter(|lifetime| !lifetime.is_zero())?;
        match self.global.method {
            Method::Token(_) => None,
            Method::Password { .. } | Method::ApplicationCredential { .. } => {
                Instant::now().checked_add(lifetime.saturating_sub(MARGIN.min(lifetime / 10)))
            }
        }
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

    /// Gets a new token for calls whose token does not hold. If that is refused, no service is asked with the old one any
    /// more: each would ask Keystone about it.
    async fn replace(&self) -> Result<()> {
        let old = self.current.load_full();
        let renewed = self.renew().await;
        if let Err(Error::Denied { .. }) = renewed {
            self.current.compare_and_swap(&old, None);
        }
        renewed
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
        self.refused.notify_one();
        let refused = Refused {
            url: self.global.auth_url.clone(),
            who: who(&self.global.method),
            hint: hint(&self.global.method),
            source,
        };
        Error::Denied {
            call: "authentication".to_owned(),
            source: refused.into(),
        }
    }
}

/// A [`Login`] as clients want it.
pub struct Shared(pub Arc<Login>);

#[async_trait::async_trait]
impl Auth for Shared {
    async fn authorize(&self, request: &mut http::Request<Bytes>) -> Result<Authorized> {
        let current = self.0.current.load();
        let Some(current) = current.as_ref().filter(|current| current.holds()) else {
            return Ok(Authorized::Stale);
        };
        let mut value = HeaderValue::from_str(current.grant.token.expose_secret())
            .map_err(|_| Error::unavailable("authenticate", "the token has characters that no header may have"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(TOKEN, value);
        Ok(Authorized::Ready)
    }

    async fn refresh(&self) -> Result<()> {
        self.0.replace().await
    }
}

impl Current {
    fn holds(&self) -> bool {
        self.renew_at.is_none_or(|renew_at| Instant::now() < renew_at)
    }
}

fn is_same(one: Option<&Arc<Current>>, other: Option<&Arc<Current>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
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
