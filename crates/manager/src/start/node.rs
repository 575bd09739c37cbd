//! cloud-node-controller.

use super::{Start, Started, health, metrics_failed, workers};
use crate::{controllers_flag::CLOUD_NODE, options::NodeController};
use controllers::node;
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let labels = if options.outrigger.node_label_sync.is_on() {
        node::Labels::Follow
    } else {
        node::Labels::Keep
    };
    let (sync_pulse, status_pulse) = (Pulse::default(), Pulse::default());
    let queue = node::queue(Some(&start.process.queues));
    health::of_loops(&start.process.checks, CLOUD_NODE.name, [&sync_pulse, &status_pulse]);
    health::of_queue(start.process, CLOUD_NODE.name, &queue);
    let context = node::Context {
        provider: start.process.provider.clone(),
        recorder: start.events.recorder(node::COMPONENT),
        queue,
        metrics: node::Metrics::register(start.registry()).map_err(metrics_failed)?,
        sync_pulse,
        status_pulse,
        options: node::Options {
            scope: start.scope(),
            status_period: options.misc.node_status_update_frequency.std(),
            labels,
            ..concurrency(&options.node)
        },
        client: start.client,
        nodes: start.nodes,
    };
    Ok(Started::Running {
        task: Box::pin(node::run(context, start.cancel)),
        watches: &["nodes"],
    })
}

/// Given numbers are used; the controller decides about the others.
fn concurrency(flags: &NodeController) -> node::Options {
    let mut options = node::Options::default();
    if let Some(count) = workers(flags.concurrent_syncs.given()) {
        options = options.syncs(count);
    }
    if let Some(count) = workers(flags.status_updates()) {
        options = options.status_updates(count);
    }
    options
}
