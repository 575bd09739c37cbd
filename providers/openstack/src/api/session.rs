//! A connection to one cloud as one user: token, catalog, endpoints, and every call of every service.

use super::{
    call::{Call, Page, Resource},
    fault,
    login::Keystone,
    project::Project,
    service::Service,
};
use crate::{
    config::{Global, Tls, Verification},
    metrics::Metrics,
};
use cloud::{Error, Gate, Result};
use cloud_http::{
    Client, Config, Credentials, Request, Response, Trust, Url,
    http::StatusCode,
    login::{Login, LoginThrottle},
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::OnceCell;

/// What all sessions of a process share.
#[derive(Clone)]
pub struct SessionContext {
    /// Whether this process may write.
    pub gate: Gate,
    /// Where calls are counted.
    pub metrics: Metrics,
    /// The `User-Agent` header; see [`user_agent`].
    pub user_agent: String,
}

/// One cloud, one user. Clones are the same session.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    client: Client,
    login: Arc<Login<Keystone>>,
    metrics: Metrics,
    global: Global,
    /// By root URL, so that an endpoint that moves is read again.
    versions: Mutex<HashMap<Url, Arc<OnceCell<Vec<ApiVersion>>>>>,
}

/// A version that a service offers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ApiVersion {
    /// `v2.27`
    pub id: String,
    /// `CURRENT`, `SUPPORTED`, ….
    #[serde(default)]
    pub status: String,
    /// The newest microversion, where there are some: `2.96`.
    #[serde(default)]
    pub version: String,
}

/// Whether an object existed before it was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// It did.
    Now,
    /// It did not exist.
    Before,
}

impl Session {
    /// A session that makes no call yet: it logs in when it is first used.
    ///
    /// # Errors
    /// [`Error::Invalid`] if certificates or key are not usable.
    pub fn new(global: Global, timeout: Duration, context: &SessionContext) -> Result<Self> {
        Self::throttled(Arc::default(), global, timeout, context)
    }

    /// The same, with credentials that other sessions use, too: see [`throttle`](super::login::throttle).
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn throttled(
        throttle: Arc<LoginThrottle>,
        global: Global,
        timeout: Duration,
        context: &SessionContext,
    ) -> Result<Self> {
        let SessionContext {
            gate,
            metrics,
            user_agent,
        } = context;
        let config = http_config(&global.tls, timeout, user_agent)?;
        let plain = Client::new(&config, Arc::clone(gate), metrics.http())?;
        let keystone = Keystone::new(plain.clone(), global.clone(), metrics.clone());
        let login = Arc::new(Login::new(keystone, throttle));
        let client = plain
            .with_credentials(Credentials::new(Arc::clone(&login)))
            .explaining(fault::explain);
        Ok(Self(Arc::new(Inner {
            client,
            login,
            metrics: metrics.clone(),
            global,
            versions: Mutex::default(),
        })))
    }

    /// Logs in, also if the token is valid: checks the credentials.
    ///
    /// # Errors
    /// [`Error::Denied`] with what to check, if Keystone does not accept them.
    pub async fn authenticate(&self) -> Result<()> {
        self.0.login.renew().await
    }

    /// Waits until Keystone refuses the credentials; returns at once if it did so since the last call.
    pub async fn refused(&self) {
        self.0.login.refused().await;
    }

    /// The project and region of the credentials when Keystone last accepted them; `None` if it never did.
    pub fn project(&self) -> Option<Arc<Project>> {
        self.0.login.cloud().project()
    }

    /// The configured region; may be empty.
    pub fn region(&self) -> &str {
        &self.0.global.region
    }

    /// The project of the token; logs in if needed.
    ///
    /// # Errors
    /// As [`Session::authenticate`]; [`Error::Invalid`] if the token is for no project.
    pub async fn project_id(&self) -> Result<String> {
        let token = self.0.login.current().await?;
        let project = token.project_id.clone();
        project.ok_or_else(|| Error::invalid("tenant-id", "the token is for no project: set tenant-id or tenant-name"))
    }

    /// Checks that the catalog has the service; logs in if needed.
    ///
    /// # Errors
    /// [`Error::Invalid`] with what the catalog has instead.
    pub async fn check(&self, service: Service) -> Result<()> {
        self.listed(service).await.map(|_| ())
    }

    /// The versions that a service offers, oldest first as they are listed. Read once and cached.
    ///
    /// # Errors
    /// As the service answers; a failure is not remembered.
    pub async fn versions(&self, service: Service) -> Result<Vec<ApiVersion>> {
        let root = Service::root(&self.listed(service).await?);
        let cell = {
            let mut versions = self.0.versions.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(versions.entry(root.clone()).or_default())
        };
        let versions = cell.get_or_try_init(|| self.ask_versions(service, &root)).await?;
        Ok(versions.clone())
    }

    /// Sends a call and reads the answer as JSON.
    ///
    /// # Errors
    /// As the service answered, see [`cloud_http::Failure`].
    pub async fn json<T: DeserializeOwned + Send>(&self, call: Call) -> Result<T> {
        let (client, operation) = (self.client(call.service), call.operation);
        self.timed(operation, async { client.send_json(self.request(call).await?).await })
            .await
    }

    /// Sends a call and reads the object in the answer.
    ///
    /// # Errors
    /// As [`Session::json`].
    pub async fn object<T: Resource>(&self, call: Call) -> Result<T> {
        let (client, operation) = (self.client(call.service), call.operation);
        let sent = async {
            let request = self.request(call).await?;
            client.send_with(request, |response| response.member(T::ONE)).await
        };
        self.timed(operation, sent).await
    }

    /// Reads an object that may not exist: `None` only if the service itself answers that it does not.
    ///
    /// # Errors
    /// As [`Session::json`].
    pub async fn find_object<T: Resource>(&self, call: Call) -> Result<Option<T>> {
        let (client, operation) = (self.client(call.service), call.operation);
        let sent = async {
            let request = self.request(call).await?;
            client.find_with(request, |response| response.member(T::ONE)).await
        };
        self.timed(operation, sent).await
    }

    /// As [`Session::find_object`], for an answer of any form.
    ///
    /// # Errors
    /// As [`Session::json`].
    pub async fn find<T: DeserializeOwned + Send>(&self, call: Call) -> Result<Option<T>> {
        let (client, operation) = (self.client(call.service), call.operation);
        self.timed(operation, async { client.find_json(self.request(call).await?).await })
            .await
    }

    /// Sends a call whose body is not needed.
    ///
    /// # Errors
    /// As [`Session::json`].
    pub async fn send(&self, call: Call) -> Result<Response> {
        let (client, operation) = (self.client(call.service), call.operation);
        self.timed(operation, async { client.send(self.request(call).await?).await })
            .await
    }

    /// Sends a call that deletes an object; a missing one is a success.
    ///
    /// # Errors
    /// As [`Session::json`], except [`Error::NotFound`].
    pub async fn delete(&self, call: Call) -> Result<Deleted> {
        let (client, operation) = (self.client(call.service), call.operation);
        let found = self
            .timed(operation, async { client.find(self.request(call).await?).await })
            .await?;
        Ok(found.map_or(Deleted::Before, |_| Deleted::Now))
    }

    /// Reads a list to its end, following `…_links`. There is no list unless it is complete.
    ///
    /// # Errors
    /// As [`Session::json`] for each page.
    pub async fn list<T: Resource>(&self, call: Call) -> Result<Vec<T>> {
        let (client, operation) = (self.client(call.service), call.operation);
        let list = async {
            let request = self.request(call).await?;
            client.collect(request, Page::<T>::next, |page| page.items).await
        };
        self.timed(operation, list).await
    }

    /// Measures a call. Boxed here, once: otherwise each future that makes a call would be as large as the call itself.
    async fn timed<T>(&self, operation: &'static str, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let timer = self.0.metrics.request(operation);
        timer.end(Box::pin(call).await)
    }

    async fn ask_versions(&self, service: Service, root: &Url) -> Result<Vec<ApiVersion>> {
        #[derive(Deserialize)]
        struct Body {
            versions: Vec<ApiVersion>,
        }
        let timer = self.0.metrics.request("version_list");
        let request = Request::get("version_list", root).accept(StatusCode::MULTIPLE_CHOICES);
        let body: Body = timer.end(self.client(service).send_json(request).await)?;
        Ok(body.versions)
    }

    async fn request(&self, call: Call) -> Result<Request> {
        let api = call.service.api(&self.listed(call.service).await?);
        Ok(call.at(&api))
    }

    /// A service's URL in the newest catalog.
    async fn listed(&self, service: Service) -> Result<Url> {
        let Global { region, interface, .. } = &self.0.global;
        let token = self.0.login.current().await?;
        token.catalog.url(service, region, *interface)
    }

    fn client(&self, service: Service) -> Client {
        let client = self.0.client.clone();
        client.recognising(move |failure| failure.is_json() && service.recognises(failure))
    }
}

/// The `User-Agent` of occm with these values of `--user-agent`, the last one first, and our own name behind it.
pub fn user_agent(extra: &[String]) -> String {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let own = [
        format!("openstack-cloud-controller-manager/{VERSION}"),
        format!("outrigger/{VERSION}"),
    ];
    let all: Vec<&str> = extra.iter().rev().chain(&own).map(String::as_str).collect();
    all.join(" ")
}

fn http_config(tls: &Tls, timeout: Duration, user_agent: &str) -> Result<Config> {
    Ok(Config {
        user_agent: user_agent.to_owned(),
        trust: trust(tls)?,
        identity: identity(tls)?,
        deadline: timeout,
        ..Config::default()
    })
}

fn trust(tls: &Tls) -> Result<Trust> {
    Ok(match (tls.verification, &tls.authorities) {
        (Verification::Off, _) => Trust::Anything,
        (Verification::On, Some(pem)) => Trust::Only(text("ca-file", pem)?.to_owned()),
        (Verification::On, None) => Trust::System,
    })
}

fn identity(tls: &Tls) -> Result<Option<SecretString>> {
    let Some(identity) = &tls.identity else {
        return Ok(None);
    };
    let certificate = text("cert-file", &identity.certificate)?;
    let pem = format!("{certificate}\n{}", identity.key.expose_secret());
    Ok(Some(SecretString::from(pem)))
}

fn text<'a>(field: &str, pem: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(pem).map_err(|_| Error::invalid(field, "there is no PEM text in it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agents_stand_in_reverse() {
        let own = user_agent(&[]);
        assert!(own.starts_with("openstack-cloud-controller-manager/"), "{own}");
        let extra = ["first".to_owned(), "se cond".to_owned()];
        assert_eq!(user_agent(&extra), format!("se cond first {own}"));
    }
}
