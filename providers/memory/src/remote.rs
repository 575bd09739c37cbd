//! The provider on a memory cloud that another process serves.
//!
//! A call is `POST <endpoint>/v1/<call>` with its argument as JSON (several arguments are an array), and the response is its result, in the
//! JSON of the contract's own types. If a call fails as a whole, the status is not 200 and the response is `{"error": Error}`.

use crate::machine::PROVIDED_IP;
use async_trait::async_trait;
use cloud::{
    Answer, Detail, Error, Gate, Host, Instances, LoadBalancers, NewRoute, NodeRef, Noted, Owned, Progress, Provider,
    Result, Route, Routes, Spec, Status,
};
use cloud_http::{Client, Config, Idempotency, Metrics, Proxy, Request, Url};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, sync::Arc};

/// [`cloud::Provider`] on a memory cloud that another process serves.
#[derive(Debug, Clone)]
pub struct Remote {
    client: Client,
    base: Url,
}

/// The response of a call that failed.
#[derive(Deserialize)]
struct Failed {
    error: Error,
}

impl Remote {
    /// On the server at this URL; it may write while the gate is open. No IO is done.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the URL is not one.
    pub fn new(endpoint: &str, gate: Gate, metrics: &Metrics) -> Result<Self> {
        let config = Config {
            proxy: Proxy::Direct,
            ..Config::default()
        };
        Self::with_config(endpoint, &config, gate, metrics)
    }

    /// The same, with this configuration of the HTTP client.
    ///
    /// # Errors
    /// As [`Remote::new`], and if the configuration is not usable.
    pub fn with_config(endpoint: &str, config: &Config, gate: Gate, metrics: &Metrics) -> Result<Self> {
        let base: Url = endpoint.parse().map_err(|_| not_a_url(endpoint))?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(not_a_url(endpoint));
        }
        let client = Client::new(config, gate, metrics)?.explaining(|failure| Some(failure.json::<Failed>()?.error));
        Ok(Self { client, base })
    }

    /// Sends a request; `call` is its path, and its name in metrics and errors.
    async fn call<T: DeserializeOwned + Send>(
        &self,
        call: &'static str,
        idempotency: Idempotency,
        argument: impl Serialize + Send,
    ) -> Result<T> {
        let request = Request::post(call, &self.base).path(["v1", call]).json(&argument);
        // It can be large, and the response can take long.
        drop(argument);
        self.client.send_json(request.idempotency(idempotency)).await
    }

    async fn call_batch<T: DeserializeOwned + Send>(
        &self,
        call: &'static str,
        idempotency: Idempotency,
        argument: impl Serialize + Send,
        count: usize,
    ) -> Vec<Result<T>> {
        let error = match self.call::<Vec<Result<T>>>(call, idempotency, argument).await {
            Ok(answers) if answers.len() == count => return answers,
            Ok(answers) => {
                let reason = format!("{} answers for {count} objects", answers.len());
                Error::unavailable(call.replace('_', " "), reason)
            }
            Err(error) => error,
        };
        std::iter::repeat_with(|| Err(error.clone())).take(count).collect()
    }
}

impl Provider for Remote {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn instances(&self) -> &dyn Instances {
        self
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        Some(self)
    }
}

#[async_trait]
impl Instances for Remote {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        let used: Vec<NodeRef> = nodes.iter().map(used_of_node).collect();
        self.call_batch("describe", Idempotency::Safe, (used, detail), nodes.len())
            .await
    }
}

#[async_trait]
impl LoadBalancers for Remote {
    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        self.call("find_load_balancer", Idempotency::Safe, used_of_spec(spec))
            .await
    }

    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let call = self.call("ensure_load_balancer", Idempotency::Idempotent, used_of_spec(spec));
        call.await.map(|progress: Progress<Status>| progress.into())
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let call = self.call("update_hosts", Idempotency::Idempotent, used_of_spec(spec));
        call.await.map(|progress: Progress<Status>| progress.into())
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        let call = self.call("delete_load_balancer", Idempotency::Idempotent, used_of_spec(spec));
        call.await.map(|progress: Progress<()>| progress.into())
    }

    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        self.call("owned_load_balancers", Idempotency::Safe, cluster).await
    }
}

#[async_trait]
impl Routes for Remote {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>> {
        self.call("list_routes", Idempotency::Safe, cluster).await
    }

    async fn create(&self, cluster: &str, routes: &[NewRoute]) -> Vec<Result<()>> {
        self.call_batch(
            "create_routes",
            Idempotency::Idempotent,
            (cluster, routes),
            routes.len(),
        )
        .await
    }

    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>> {
        self.call_batch(
            "delete_routes",
            Idempotency::Idempotent,
            (cluster, routes),
            routes.len(),
        )
        .await
    }
}

/// Only what the cloud uses: a thousand nodes with all their labels would be megabytes.
fn used_of_node(node: &NodeRef) -> NodeRef {
    let annotation = node.annotations.get_key_value(PROVIDED_IP);
    NodeRef {
        name: node.name.clone(),
        provider_id: node.provider_id.clone(),
        annotations: annotation
            .map(|(key, value)| (key.clone(), value.clone()))
            .into_iter()
            .collect(),
        ..NodeRef::default()
    }
}

/// Without the labels of hosts.
fn used_of_spec(spec: &Spec) -> Spec {
    let used = |host: &Arc<Host>| {
        Arc::new(Host {
            name: host.name.clone(),
            provider_id: host.provider_id.clone(),
            addresses: host.addresses.clone(),
            labels: BTreeMap::new(),
        })
    };
    Spec {
        hosts: spec.hosts.iter().map(used).collect(),
        ..spec.clone()
    }
}

fn not_a_url(endpoint: &str) -> Error {
    Error::invalid("endpoint", format!("{endpoint} is not an http URL"))
}
