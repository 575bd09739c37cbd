//! A small HTTP client for what tests ask of the cloud themselves.

use super::{
    PASSWORD,
    catalog::{Ports, Region, Service},
};
use crate::Patience;
use anyhow::{Context, Result, bail};
use http::Method;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The `User-Agent` of the lab itself.
pub(super) const AGENT: &str = "outrigger-lab";
const TIMEOUT: Duration = Duration::from_mins(1);
/// The longest time in which the state of a server or a load balancer may not change.
const STALLED_AFTER: Duration = Duration::from_mins(3);

/// Who asks, and in which project; both in the domain `default`, with the password [`PASSWORD`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Login {
    /// The name of the user.
    pub user: String,
    /// The name of the project.
    pub project: String,
}

/// Knows the ports of a cloud, and keeps a token for each login.
#[derive(Debug)]
pub(super) struct Client {
    ports: Ports,
    tokens: Mutex<HashMap<Login, String>>,
}

impl Login {
    /// A user in the project of the same name.
    pub fn new(name: &str) -> Self {
        Self {
            user: name.to_owned(),
            project: name.to_owned(),
        }
    }
}

impl Client {
    pub fn new(ports: Ports) -> Self {
        Self {
            ports,
            tokens: Mutex::default(),
        }
    }

    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Checks that a service responds; its root needs no token, and any status counts.
    pub async fn ask(&self, service: Service) -> Result<()> {
        let url = self.ports.url(service, Region::Plain);
        let status = http()?.get(url).timeout(Duration::from_secs(10)).send().await?.status();
        // The proxy answers 502 if the service does not run.
        if status.is_server_error() {
            bail!("{} answers {status}", service.name());
        }
        Ok(())
    }

    /// A token for this login, asked for once.
    pub async fn token(&self, login: &Login) -> Result<String> {
        let kept = self.tokens().get(login).cloned();
        if let Some(token) = kept {
            return Ok(token);
        }
        let domain = json!({"id": "default"});
        let user = json!({"name": login.user, "password": PASSWORD, "domain": domain});
        let identity = json!({"methods": ["password"], "password": {"user": user}});
        let scope = json!({"project": {"name": login.project, "domain": domain}});
        let url = format!("{}/v3/auth/tokens", self.ports.url(Service::Keystone, Region::Plain));
        let body = json!({"auth": {"identity": identity, "scope": scope}});
        let answer = http()?.post(url).json(&body).send().await?.error_for_status()?;
        let token = answer
            .headers()
            .get("x-subject-token")
            .context("an answer without a token")?;
        let token = token.to_str()?.to_owned();
        self.tokens().insert(login.clone(), token.clone());
        Ok(token)
    }

    pub fn forget(&self, login: &Login) {
        self.tokens().remove(login);
    }

    pub async fn call(
        &self,
        login: &Login,
        service: Service,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value> {
        let call = format!("{method} {} {path}", service.name());
        let url = format!("{}{path}", self.ports.url(service, Region::Plain));
        let mut request = http()?
            .request(method, url)
            .header("X-Auth-Token", self.token(login).await?);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.with_context(|| call.clone())?;
        let status = answer.status();
        let text = answer.text().await?;
        if !status.is_success() {
            bail!("{call}: {status}: {text}");
        }
        Ok(if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).with_context(|| format!("{call}: not JSON: {text}"))?
        })
    }

    pub async fn get(&self, login: &Login, service: Service, path: &str) -> Result<Value> {
        self.call(login, service, Method::GET, path, None).await
    }

    pub async fn post(&self, login: &Login, service: Service, path: &str, body: Value) -> Result<Value> {
        self.call(login, service, Method::POST, path, Some(body)).await
    }

    /// Asks every process of the APIs something, one after the other, which the door does in turns: the first questions make
    /// it read its policies, and if two come at the same time one of them may be refused.
    pub async fn warm_up(&self, login: &Login) -> Result<()> {
        let questions = [
            (Service::Neutron, "/v2.0/networks"),
            (Service::Glance, "/v2/images"),
            (Service::Nova, "/v2.1/servers/detail"),
            (Service::Octavia, "/v2.0/lbaas/loadbalancers"),
        ];
        for (service, path) in questions {
            for _ in service.processes() {
                self.get(login, service, path).await?;
            }
        }
        Ok(())
    }

    /// The content of an image.
    pub async fn upload(&self, login: &Login, path: &str, content: String) -> Result<()> {
        let url = format!("{}{path}", self.ports.url(Service::Glance, Region::Plain));
        let request = http()?.put(url).header("X-Auth-Token", self.token(login).await?);
        let request = request.header("Content-Type", "application/octet-stream").body(content);
        request.send().await?.error_for_status()?;
        Ok(())
    }

    /// A request that only the door answers.
    pub async fn knock(&self, path: &str) -> Result<()> {
        let url = format!("{}{path}", self.ports.url(Service::Keystone, Region::Plain));
        http()?.get(url).send().await?.error_for_status()?;
        Ok(())
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<Login, String>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A string of an answer, by its JSON pointer.
pub(super) fn text_at(answer: &Value, pointer: &str) -> Result<String> {
    let text = answer.pointer(pointer).and_then(Value::as_str);
    Ok(text.with_context(|| format!("no {pointer} in {answer}"))?.to_owned())
}

/// Retries until there is a result; the error has the last state.
///
/// It looks at longer and longer intervals: each look is work for the services that it waits for.
pub(super) async fn until<T, F>(what: &str, mut look: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<ControlFlow<T, String>>>,
{
    let mut patience = Patience::new(STALLED_AFTER);
    let mut pause = Duration::from_millis(50);
    loop {
        let state = match look().await? {
            ControlFlow::Break(answer) => return Ok(answer),
            ControlFlow::Continue(state) => state,
        };
        if patience.is_over(&state) {
            bail!("{what}: not so after {} s: {state}", patience.waited().as_secs());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(Duration::from_secs(1));
    }
}

/// Runs to the end on a thread and runtime of its own, because callers may or may not be inside one.
pub(super) fn block_on<T: Send>(future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(future)
        };
        scope.spawn(run).join().unwrap_or_else(|_| bail!("the lab panicked"))
    })
}

/// A new one for each call: connections belong to the runtime that created them, and every test has its own.
fn http() -> Result<reqwest::Client> {
    Ok(reqwest::Client::builder()
        .no_proxy()
        .timeout(TIMEOUT)
        .user_agent(AGENT)
        .tls_certs_only(std::iter::empty())
        .build()?)
}
