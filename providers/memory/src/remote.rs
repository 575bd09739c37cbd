//! The provider on a memory cloud in another process.

use crate::{
    machine::PROVIDED_IP,
    wire::{
        Answers, Cluster, Written,
        balancers::About,
        each,
        error::Body,
        instances::{Answer as WireAnswer, Describe, Node},
        outcomes::{Deletion as WireDeletion, Found, Outcome as WireOutcome, OwnedList},
        routes::{NewRoute as WireNewRoute, Route as WireRoute, Routes as RouteList},
    },
};
use async_trait::async_trait;
use cloud::{
    Answer, Detail, Error, Gate, Instances, LoadBalancers, NewRoute, NodeRef, Noted, Owned, Progress, Provider, Result,
    Route, Routes, Spec, Status,
};
use cloud_http::{Client, Config, Idempotency, Metrics, Proxy, Request, Url};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// [`cloud::Provider`] on a [`crate::Server`] in another process.
#[derive(Debug, Clone)]
pub struct Remote {
    client: Client,
    base: Url,
}

impl Remote {
    /// On the server at this URL, allowed to write while the gate says so. No IO is done.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the URL is not one.
    pub fn new(endpoint: &str, gate: Gate, metrics: &Metrics) -> Result<Self> {
        Self::with_config(
            endpoint,
            &Config {
                proxy: Proxy::Direct,
                ..Config::default()
            },
            gate,
            metrics,
        )
    }

    /// The same, with an HTTP client that behaves like this.
    ///
    /// # Errors
    /// As [`Remote::new`], and if the configuration is not usable.
    pub fn with_config(endpoint: &str, config: &Config, gate: Gate, metrics: &Metrics) -> Result<Self> {
        let base: Url = endpoint.parse().map_err(|_| not_a_url(endpoint))?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(not_a_url(endpoint));
        }
        let client =
            Client::new(config, gate, metrics)?.explaining(|failure| Some(failure.json::<Body>()?.error.into()));
        Ok(Self { client, base })
    }

    /// Asks a question; the operation names it in metrics and errors.
    async fn ask<T: DeserializeOwned + Send>(
        &self,
        operation: &'static str,
        path: &[&str],
        idempotency: Idempotency,
        body: impl Serialize + Send,
    ) -> Result<T> {
        let request = Request::post(operation, &self.base)
            .path(["v1"])
            .path(path.iter().copied())
            .json(&body);
        // It can be large, and waiting can take long.
        drop(body);
        self.client.send_json(request.idempotency(idempotency)).await
    }

    async fn ask_batch<A, T>(
        &self,
        operation: &'static str,
        path: &[&str],
        idempotency: Idempotency,
        body: impl Serialize + Send,
        count: usize,
    ) -> Vec<Result<T>>
    where
        A: DeserializeOwned + Send + Into<Result<T>>,
    {
        match self.ask::<Answers<A>>(operation, path, idempotency, body).await {
            Ok(Answers { answers }) if answers.len() == count => answers.into_iter().map(Into::into).collect(),
            Ok(Answers { answers }) => {
                let reason = format!("{count} were asked for and {} answers came", answers.len());
                for_each(&Error::unavailable(operation.replace('_', " "), reason), count)
            }
            Err(error) => for_each(&error, count),
        }
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
        let body = Describe {
            detail: detail.into(),
            nodes: nodes.iter().map(asked).collect(),
        };
        self.ask_batch::<WireAnswer, _>("describe", &["describe"], Idempotency::Safe, &body, nodes.len())
            .await
    }
}

#[async_trait]
impl LoadBalancers for Remote {
    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        let path = ["load-balancers", "find"];
        let found: Found = self
            .ask("find_load_balancer", &path, Idempotency::Safe, about(spec))
            .await?;
        Ok(found.into())
    }

    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let path = ["load-balancers", "ensure"];
        let outcome: WireOutcome = self
            .ask("ensure_load_balancer", &path, Idempotency::Idempotent, about(spec))
            .await?;
        Ok(Progress::from(outcome).into())
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let path = ["load-balancers", "update-hosts"];
        let outcome: WireOutcome = self
            .ask("update_hosts", &path, Idempotency::Idempotent, about(spec))
            .await?;
        Ok(Progress::from(outcome).into())
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        let path = ["load-balancers", "delete"];
        let deletion: WireDeletion = self
            .ask("delete_load_balancer", &path, Idempotency::Idempotent, about(spec))
            .await?;
        Ok(Progress::from(deletion).into())
    }

    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        let (path, body) = (
            ["load-balancers", "owned"],
            Cluster {
                cluster: cluster.to_owned(),
            },
        );
        let OwnedList { owned } = self
            .ask("owned_load_balancers", &path, Idempotency::Safe, &body)
            .await?;
        Ok(owned)
    }
}

#[async_trait]
impl Routes for Remote {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>> {
        let body = Cluster {
            cluster: cluster.to_owned(),
        };
        let list: RouteList<WireRoute> = self
            .ask("list_routes", &["routes", "list"], Idempotency::Safe, &body)
            .await?;
        Ok(each(list.routes))
    }

    async fn create(&self, cluster: &str, routes: &[NewRoute]) -> Vec<Result<()>> {
        let (path, count) = (["routes", "create"], routes.len());
        let body: RouteList<WireNewRoute> = RouteList {
            cluster: cluster.to_owned(),
            routes: each(routes.to_vec()),
        };
        self.ask_batch::<Written, ()>("create_routes", &path, Idempotency::Idempotent, &body, count)
            .await
    }

    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>> {
        let (path, count) = (["routes", "delete"], routes.len());
        let body: RouteList<WireRoute> = RouteList {
            cluster: cluster.to_owned(),
            routes: each(routes.to_vec()),
        };
        self.ask_batch::<Written, ()>("delete_routes", &path, Idempotency::Idempotent, &body, count)
            .await
    }
}

/// Only what the cloud looks at: a batch of a thousand nodes with all their labels would be megabytes.
fn asked(node: &NodeRef) -> Node {
    let annotations = node.annotations.get_key_value(PROVIDED_IP);
    let node = NodeRef {
        name: node.name.clone(),
        provider_id: node.provider_id.clone(),
        system_uuid: node.system_uuid.clone(),
        addresses: Vec::new(),
        labels: BTreeMap::new(),
        annotations: annotations
            .map(|(key, value)| (key.clone(), value.clone()))
            .into_iter()
            .collect(),
    };
    node.into()
}

fn about(spec: &Spec) -> About {
    About {
        spec: spec.clone().into(),
    }
}

fn not_a_url(endpoint: &str) -> Error {
    Error::invalid("endpoint", format!("{endpoint} is not an http URL"))
}

/// The same error for each: the first has the original beneath it, the others its words.
fn for_each<T>(error: &Error, count: usize) -> Vec<Result<T>> {
    std::iter::repeat_with(|| Err(error.clone())).take(count).collect()
}
