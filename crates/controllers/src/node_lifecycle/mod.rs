//! The cloud node lifecycle controller: Nodes whose machines are gone go too, and those whose machines are shut down
//! get a taint.
//!
//! [`decide`](mod@decide) and [`brake`] decide, and are pure. Only Nodes that are not ready are asked about, all of them in one call.

mod act;
pub mod brake;
pub mod decide;
mod metrics;

pub use brake::Limits;
pub use metrics::Metrics;

use crate::nodes::Scope;
use act::Controller;
use cloud::Provider;
use k8s_openapi::api::core::v1::Node;
use runtime::health::Pulse;
use runtime::{events::Recorder, informer::Store};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Who says so, in events.
pub const COMPONENT: &str = "cloud-node-lifecycle-controller";

/// How the controller behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which Nodes are ours.
    pub scope: Scope,
    /// `--node-monitor-period`: how long to wait between two looks.
    pub period: Duration,
    /// A Node younger than this is not deleted: a cloud may take a while to know its own machines.
    pub grace: Duration,
    /// When so many machines are missing that the cloud is doubted.
    pub limits: Limits,
    /// How many Nodes are written to at a time.
    pub writes: NonZeroUsize,
    /// How many Nodes one call asks about.
    pub batch: NonZeroUsize,
    /// How long a cloud may take to answer.
    pub deadline: Duration,
}

impl Options {
    /// So many Nodes are looked at at a time, and not more: `--concurrent-node-lifecycle-syncs`.
    #[must_use]
    pub fn syncs(self, count: NonZeroUsize) -> Self {
        Self {
            writes: count,
            batch: count,
            ..self
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            period: Duration::from_secs(5),
            grace: Duration::from_secs(30),
            limits: Limits::default(),
            writes: const { NonZeroUsize::new(8).unwrap() },
            batch: NonZeroUsize::MAX,
            deadline: Duration::from_mins(1),
        }
    }
}

/// What the controller works with.
pub struct Context {
    /// To write to Nodes with.
    pub client: kube::Client,
    /// All Nodes.
    pub nodes: Store<Node>,
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// Takes events.
    pub recorder: Recorder,
    /// Its metrics.
    pub metrics: Metrics,
    /// Its pulse.
    pub pulse: Pulse,
    /// How it behaves.
    pub options: Options,
}

/// Looks at all Nodes once a period until cancelled; what is under way then is finished. To wait for the Nodes is no work
/// that could be stuck: why they cannot be listed the informer says, and a restart would not help.
pub async fn run(ctx: Context, cancel: CancellationToken) {
    let (period, pulse, nodes) = (ctx.options.period, ctx.pulse.clone(), ctx.nodes.clone());
    let mut controller = Controller::new(ctx);
    if cancel.run_until_cancelled(nodes.synced()).await.is_none() {
        return;
    }
    while !cancel.is_cancelled() {
        pulse.begin();
        match controller.look().await {
            Ok(()) => pulse.success(),
            Err(reason) => {
                warn!(reason, "cannot look after nodes that are not ready");
                pulse.failure(reason);
            }
        }
        cancel.run_until_cancelled(tokio::time::sleep(period)).await;
    }
}

#[cfg(test)]
mod tests;
