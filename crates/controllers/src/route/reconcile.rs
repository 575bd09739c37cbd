//! Reconciles the routes in the cloud with the Nodes. Safe to run again at any point.

use super::{
    Context, Metrics, Options,
    plan::name_targets,
    plan::{self, Plan, plan},
    status,
};
use crate::{
    api_server, cloud_call,
    nodes::{self, patch},
};
use cloud::{Error, NewRoute, Provider, Retry, Route};
use futures::{StreamExt, stream};
use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use kube::{
    Api, ResourceExt,
    api::{ListParams, PatchParams},
};
use runtime::{
    events::{Kind, Recorder},
    health::Pulse,
    informer::Store,
};
use std::{collections::BTreeSet, sync::Arc, time::Instant};
use tracing::{debug, info, warn};

const CONCURRENT_PATCHES: usize = 32;
const CONCURRENT_LOOKUPS: usize = 8;

/// Reconciles routes.
pub(super) struct Reconciler {
    options: Options,
    provider: Arc<dyn Provider>,
    api: Api<Node>,
    nodes: Store<Node>,
    recorder: Recorder,
    metrics: Metrics,
    pulse: Pulse,
}

impl Reconciler {
    pub(super) fn new(context: Context) -> Self {
        let Context {
            client,
            nodes,
            provider,
            recorder,
            queue: _,
            metrics,
            pulse,
            options,
        } = context;
        Self {
            options,
            provider,
            api: Api::all(client),
            nodes: nodes.store(),
            recorder,
            metrics,
            pulse,
        }
    }

    /// Reconciles all routes once.
    ///
    /// # Errors
    /// When to try again if anything failed; the failure has been reported.
    pub(super) async fn reconcile(&self) -> Result<(), Retry> {
        self.metrics.syncs.inc();
        self.pulse.begin();
        let mut current = self.list().await.map_err(|error| {
            warn!(error = error.report(), "cannot list routes");
            self.pulse.failure(format!("cannot list routes: {}", error.report()));
            error.retry()
        })?;
        let all = self.nodes.list();
        name_targets(&mut current, &all);
        let all = all.into_iter();
        let (nodes, others): (Vec<_>, Vec<_>) = all.partition(|node| self.options.scope.contains(node));
        let others = others.iter().map(|node| node.name_any()).collect();
        let plan = plan(&nodes, &others, &current, &self.options.cluster_cidrs);
        debug!(%plan, "planned");

        let deleted = self.delete(&plan).await;
        let (created, unrouted) = self.create(&plan, &nodes).await;
        let reported = self.write_conditions(&plan, &unrouted, &nodes).await;
        let failures = [deleted, created, reported].into_iter().flatten();
        let result = failures.reduce(later).map_or(Ok(()), Err);
        match result {
            // A route that the cloud rejects for good is a failure of its Node, not of the controller.
            Ok(()) | Err(Retry::Never) => self.pulse.success(),
            Err(_) => self
                .pulse
                .failure("not all routes could be created, deleted or written into their nodes"),
        }
        result
    }

    fn cloud(&self) -> Result<&dyn cloud::Routes, Error> {
        self.provider
            .routes()
            .ok_or_else(|| Error::NotSupported { what: "routes".into() })
    }

    async fn list(&self) -> cloud::Result<Vec<Route>> {
        let routes = self.cloud()?.list(&self.options.cluster);
        let routes = cloud_call::single("list routes", self.options.deadline, routes).await;
        self.pulse.progress();
        routes
    }

    async fn delete(&self, plan: &Plan) -> Option<Retry> {
        let (routes, mut retry) = self.without_unknown_nodes(&plan.delete).await;
        if routes.is_empty() {
            return retry;
        }
        let results = self.cloud().ok()?.delete(&self.options.cluster, &routes);
        let results = cloud_call::batch("delete routes", routes.len(), self.options.deadline, results).await;
        self.pulse.progress();
        for (route, result) in routes.iter().zip(&results) {
            self.metrics.changed("delete", result);
            match result {
                Ok(()) => info!(route = route.name, destination = %route.destination, "deleted route"),
                Err(error) => {
                    warn!(route = route.name, destination = %route.destination, error = error.report(), "cannot delete route");
                    retry = retry.map(|retry| later(retry, error.retry())).or(Some(error.retry()));
                }
            }
        }
        retry
    }

    /// The routes that may be deleted. A Node that is not in the cache may be newer than the cache, and managed by another
    /// manager: the API server is asked for it, by a list, because this controller has no permission to get Nodes.
    async fn without_unknown_nodes(&self, routes: &[Route]) -> (Vec<Route>, Option<Retry>) {
        let lookups = routes.iter().cloned().map(|route| async move {
            let unknown = plan::target(&route).filter(|node| self.nodes.find(node).is_none());
            let exists = match unknown {
                Some(node) => self.node_exists(node).await,
                None => Ok(false),
            };
            (route, exists)
        });
        let lookups: Vec<_> = stream::iter(lookups).buffered(CONCURRENT_LOOKUPS).collect().await;
        let (mut deletable, mut retry) = (Vec::new(), None);
        for (route, exists) in lookups {
            match exists {
                Ok(false) => deletable.push(route),
                Ok(true) => debug!(route = route.name, "the node of this route is new"),
                Err(error) => {
                    let error = error.report();
                    warn!(
                        route = route.name,
                        error, "cannot determine whether the node of this route exists"
                    );
                    retry = Some(Retry::Backoff);
                }
            }
        }
        (deletable, retry)
    }

    async fn node_exists(&self, name: &str) -> Result<bool, api_server::Error> {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        let found = api_server::call(self.api.list_metadata(&params)).await?;
        Ok(!found.items.is_empty())
    }

    /// Creates the missing routes, and returns the Nodes that still lack one.
    async fn create(&self, plan: &Plan, nodes: &[Arc<Node>]) -> (Option<Retry>, BTreeSet<String>) {
        let mut unrouted = plan.unroutable.clone();
        let cloud = match self.cloud() {
            Ok(cloud) if !plan.create.is_empty() => cloud,
            _ => return (None, unrouted),
        };
        let start = Instant::now();
        let results = cloud.create(&self.options.cluster, &plan.create);
        let results = cloud_call::batch("create routes", plan.create.len(), self.options.deadline, results).await;
        self.pulse.progress();
        let mut retry = None;
        for (route, result) in plan.create.iter().zip(&results) {
            self.metrics.changed("create", result);
            match result {
                Ok(()) => info!(node = route.node, destination = %route.destination, "created route"),
                Err(error) => {
                    self.report_failure(route, error, start, nodes);
                    unrouted.insert(route.node.clone());
                    retry = retry.map(|retry| later(retry, error.retry())).or(Some(error.retry()));
                }
            }
        }
        (retry, unrouted)
    }

    fn report_failure(&self, route: &NewRoute, error: &Error, start: Instant, nodes: &[Arc<Node>]) {
        let message = format!(
            "Could not create route {} {} for node {} after {:.3}s: {}",
            route.hint,
            route.destination,
            route.node,
            start.elapsed().as_secs_f64(),
            error.report()
        );
        warn!(node = route.node, destination = %route.destination, error = error.report(), "cannot create route");
        if let Some(node) = nodes.iter().find(|node| node.name_any() == route.node) {
            self.recorder
                .event(nodes::reference(node), Kind::Warning, "FailedToCreateRoute", message);
        }
    }

    /// Writes the conditions that are out of date.
    async fn write_conditions(&self, plan: &Plan, unrouted: &BTreeSet<String>, nodes: &[Arc<Node>]) -> Option<Retry> {
        let now = Time(Timestamp::now());
        let mut writes = stream::iter(status::outdated(plan, unrouted, nodes, &now))
            .map(|(node, condition)| async move {
                let (name, params) = (node.name_any(), PatchParams::default());
                let patch = patch::Status::of(&node).condition(&condition).build();
                let result = api_server::call(self.api.patch_status(&name, &params, &patch)).await;
                (name, result)
            })
            .buffer_unordered(CONCURRENT_PATCHES);
        let mut retry = None;
        while let Some((node, result)) = writes.next().await {
            self.pulse.progress();
            match result {
                Ok(_) | Err(api_server::Error::NotFound) => {}
                Err(error) => {
                    warn!(
                        node,
                        error = error.report(),
                        "cannot write the condition NetworkUnavailable"
                    );
                    retry = Some(Retry::Backoff);
                }
            }
        }
        retry
    }
}

/// The more cautious of two.
fn later(a: Retry, b: Retry) -> Retry {
    match (a, b) {
        (Retry::Never, other) | (other, Retry::Never) => other,
        (Retry::After(a), Retry::After(b)) => Retry::After(a.max(b)),
        _ => Retry::Backoff,
    }
}
