//! The run loop: one pass over all Nodes each period.

use super::{Metrics, Options, reconcile::Reconciler};
use crate::nodes::write_summary::RoundFailed;
use cloud::Provider;
use k8s_openapi::api::core::v1::Node;
use runtime::{events::Recorder, health::Pulse, informer::Store};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// What the controller needs.
pub struct Context {
    /// Writes Nodes.
    pub client: kube::Client,
    /// All Nodes.
    pub nodes: Store<Node>,
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// Records events as [`super::COMPONENT`].
    pub recorder: Recorder,
    /// Its metrics.
    pub metrics: Metrics,
    /// Reports its health.
    pub pulse: Pulse,
    /// The settings.
    pub options: Options,
}

/// Runs until cancelled; work in progress is then finished.
///
/// The wait for the first list of Nodes does not count as work that is stuck: the informer reports why it fails, and a
/// restart would not help.
pub async fn run(context: Context, cancel: CancellationToken) {
    let (period, pulse, nodes) = (context.options.period, context.pulse.clone(), context.nodes.clone());
    let mut reconciler = Reconciler::new(context);
    if cancel.run_until_cancelled(nodes.synced()).await.is_none() {
        return;
    }
    while !cancel.is_cancelled() {
        pulse.begin();
        match reconciler.reconcile().await {
            Ok(()) => pulse.success(),
            Err(RoundFailed(reason)) => {
                warn!(reason, "cannot reconcile nodes that are not ready");
                pulse.failure(reason);
            }
        }
        cancel.run_until_cancelled(tokio::time::sleep(period)).await;
    }
}
