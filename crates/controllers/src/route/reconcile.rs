//! Makes the cloud's routes match the nodes. Safe to run again at any point.

use super::{
    Networking, Options,
    plan::{self, Plan, plan},
};
use crate::{
    answers,
    nodes::{self, api, patch},
};
use cloud::{Error, NewRoute, Provider, Retry, Route};
use futures::{StreamExt, stream};
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PatchParams},
};
use prometheus::{IntCounter, IntCounterVec, Opts};
use runtime::metrics::Register;
use runtime::{
    events::{Kind, Recorder},
    health::Pulse,
    informer::Store,
};
use std::{collections::BTreeSet, sync::Arc, time::Instant};
use tracing::{debug, info, warn};

const CONCURRENT_PATCHES: usize = 32;
const CONCURRENT_LOOKS: usize = 8;

/// `route_controller_*`.
#[derive(Debug, Clone)]
pub struct Metrics {
    syncs: IntCounter,
    changes: IntCounterVec,
}

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let syncs = IntCounter::new(
            "route_controller_route_sync_total",
            "A metric counting the amount of times routes have been synced with the cloud provider.",
        )?;
        let changes = IntCounterVec::new(
            Opts::new(
                "route_controller_route_changes_total",
                "Routes created and deleted, by result.",
            ),
            &["operation", "result"],
        )?;
        registry.register(Box::new(syncs.clone()))?;
        registry.register(Box::new(changes.clone()))?;
        Ok(Self { syncs, changes })
    }

    fn changed(&self, operation: &str, result: &cloud::Result<()>) {
        let result = if result.is_ok() { "success" } else { "error" };
        self.changes.with_label_values(&[operation, result]).inc();
    }
}

/// What the controller works with.
pub struct Routes {
    pub(super) options: Options,
    provider: Arc<dyn Provider>,
    client: Client,
    nodes: Store<Node>,
    recorder: Recorder,
    metrics: Metrics,
    pulse: Pulse,
}

impl Routes {
    /// Puts it together.
    pub fn new(
        options: Options,
        provider: Arc<dyn Provider>,
        client: Client,
        nodes: Store<Node>,
        recorder: Recorder,
        metrics: Metrics,
        pulse: Pulse,
    ) -> Self {
        Self {
            options,
            provider,
            client,
            nodes,
            recorder,
            metrics,
            pulse,
        }
    }

    /// How it is set up.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn cloud(&self) -> Result<&dyn cloud::Routes, Error> {
        self.provider
            .routes()
            .ok_or_else(|| Error::NotSupported { what: "routes".into() })
    }

    /// Looks at everything once.
    ///
    /// # Errors
    /// When to try again, if anything failed; what failed has been reported.
    pub async fn reconcile(&self) -> Result<(), Retry> {
        self.metrics.syncs.inc();
        self.pulse.begin();
        let there = self.list().await.map_err(|error| {
            warn!(error = error.report(), "cannot list routes");
            self.pulse.failure(format!("cannot list routes: {}", error.report()));
            error.retry()
        })?;
        let all = self.nodes.list().into_iter();
        let (nodes, others): (Vec<_>, Vec<_>) = all.partition(|node| (self.options.in_scope)(node));
        let others = others.iter().map(|node| node.name_any()).collect();
        let plan = plan(&nodes, &others, &there, &self.options.cluster_cidrs);
        debug!(%plan, "routes");

        let deleted = self.delete(&plan).await;
        let (created, unrouted) = self.create(&plan, &nodes).await;
        let told = self.tell(&plan, &unrouted, &nodes).await;
        let outcome = worst([deleted, created, told]);
        match outcome {
            // What the cloud never takes is the trouble of that node alone.
            Ok(()) | Err(Retry::Never) => self.pulse.success(),
            Err(_) => self
                .pulse
                .failure("not all routes could be created, deleted or written into their nodes"),
        }
        outcome
    }

    async fn list(&self) -> cloud::Result<Vec<Route>> {
        let there = self.cloud()?.list(&self.options.cluster);
        let there = tokio::time::timeout(self.options.deadline, there).await;
        self.pulse.progress();
        there.unwrap_or_else(|_| Err(Error::unavailable("list routes", "no answer in time")))
    }

    async fn delete(&self, plan: &Plan) -> Option<Retry> {
        let (routes, mut retry) = self.undoubted(&plan.delete).await;
        if routes.is_empty() {
            return retry;
        }
        let results = self.cloud().ok()?.delete(&self.options.cluster, &routes);
        let results = answers::in_time("delete routes", routes.len(), self.options.deadline, results).await;
        self.pulse.progress();
        for (route, result) in routes.iter().zip(&results) {
            self.metrics.changed("delete", result);
            match result {
                Ok(()) => info!(route = route.name, destination = %route.destination, "deleted route"),
                Err(error) => {
                    warn!(route = route.name, destination = %route.destination, error = error.report(), "cannot delete route");
                    retry = Some(later(retry, error.retry()));
                }
            }
        }
        retry
    }

    /// Those of these routes that may go. A node that we have not heard of may be newer than what we know, and routed by
    /// another manager: the API server is asked, by a list, because that is what this controller may do.
    async fn undoubted(&self, routes: &[Route]) -> (Vec<Route>, Option<Retry>) {
        let api: Api<Node> = Api::all(self.client.clone());
        let looks = routes.iter().cloned().map(|route| {
            let api = api.clone();
            async move {
                let unknown = plan::target(&route).filter(|node| self.nodes.find(node).is_none());
                let there = match unknown {
                    Some(node) => is_there(&api, node).await,
                    None => Ok(false),
                };
                (route, there)
            }
        });
        let looks: Vec<_> = stream::iter(looks).buffered(CONCURRENT_LOOKS).collect().await;
        let (mut sure, mut retry) = (Vec::new(), None);
        for (route, there) in looks {
            match there {
                Ok(false) => sure.push(route),
                Ok(true) => debug!(route = route.name, "the node of a route is new"),
                Err(error) => {
                    warn!(route = route.name, %error, "cannot ask whether the node of a route is gone");
                    retry = Some(Retry::Backoff);
                }
            }
        }
        (sure, retry)
    }

    /// Creates what is missing, and answers the nodes that still lack a route.
    async fn create(&self, plan: &Plan, nodes: &[Arc<Node>]) -> (Option<Retry>, BTreeSet<String>) {
        let mut unrouted = plan.unroutable.clone();
        if plan.create.is_empty() {
            return (None, unrouted);
        }
        let start = Instant::now();
        let Ok(cloud) = self.cloud() else {
            return (None, unrouted);
        };
        let results = cloud.create(&self.options.cluster, &plan.create);
        let results = answers::in_time("create routes", plan.create.len(), self.options.deadline, results).await;
        self.pulse.progress();
        let mut retry = None;
        for (route, result) in plan.create.iter().zip(&results) {
            self.metrics.changed("create", result);
            match result {
                Ok(()) => info!(node = route.node, destination = %route.destination, "created route"),
                Err(error) => {
                    self.failed(route, error, start, nodes);
                    unrouted.insert(route.node.clone());
                    retry = Some(later(retry, error.retry()));
                }
            }
        }
        (retry, unrouted)
    }

    fn failed(&self, route: &NewRoute, error: &Error, start: Instant, nodes: &[Arc<Node>]) {
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

    /// Writes the condition of every node that is concerned, where it says something else.
    async fn tell(&self, plan: &Plan, unrouted: &BTreeSet<String>, nodes: &[Arc<Node>]) -> Option<Retry> {
        let now = Time(Timestamp::now());
        let api: Api<Node> = Api::all(self.client.clone());
        let mut writes = stream::iter(outdated(plan, unrouted, nodes, &now))
            .map(|(node, condition)| {
                let api = api.clone();
                async move {
                    let (name, params) = (node.name_any(), PatchParams::default());
                    let patch = patch::Status::of(&node).condition(&condition).build();
                    let result = api::call(api.patch_status(&name, &params, &patch)).await;
                    (name, result)
                }
            })
            .buffer_unordered(CONCURRENT_PATCHES);
        let mut retry = None;
        while let Some((node, result)) = writes.next().await {
            self.pulse.progress();
            match result {
                Ok(_) | Err(api::Fault::Gone) => {}
                Err(error) => {
                    warn!(node, %error, "cannot write the condition NetworkUnavailable");
                    retry = Some(later(retry, Retry::Backoff));
                }
            }
        }
        retry
    }
}

/// Whether there is a Node of this name, now.
async fn is_there(api: &Api<Node>, name: &str) -> Result<bool, api::Fault> {
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    Ok(!api::call(api.list_metadata(&params)).await?.items.is_empty())
}

/// The nodes whose condition says something else than it should, and what it should say.
fn outdated(
    plan: &Plan,
    unrouted: &BTreeSet<String>,
    nodes: &[Arc<Node>],
    now: &Time,
) -> Vec<(Arc<Node>, NodeCondition)> {
    let concerned = nodes.iter().filter(|node| plan.nodes.contains(nodes::name(node)));
    let outdated = concerned.filter_map(|node| {
        let networking = if unrouted.contains(nodes::name(node)) {
            Networking::Unrouted
        } else {
            Networking::Routed
        };
        Some((node.clone(), networking.condition(node, now)?))
    });
    outdated.collect()
}

/// The more cautious of two.
fn later(known: Option<Retry>, new: Retry) -> Retry {
    match (known, new) {
        (None | Some(Retry::Never), new) => new,
        (Some(known), Retry::Never) => known,
        (Some(Retry::After(a)), Retry::After(b)) => Retry::After(a.max(b)),
        _ => Retry::Backoff,
    }
}

fn worst(results: [Option<Retry>; 3]) -> Result<(), Retry> {
    results
        .into_iter()
        .flatten()
        .fold(None, |known, new| Some(later(known, new)))
        .map_or(Ok(()), Err)
}
