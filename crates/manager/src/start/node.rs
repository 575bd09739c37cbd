//! cloud-node-controller.

use super::{Start, Started, health, metrics_failed, workers};
use crate::controllers_flag::CLOUD_NODE;
use controllers::node;
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let defaults = node::Options::default();
    let labels = if options.outrigger.node_label_sync.is_on() {
        node::Labels::Follow
    } else {
        node::Labels::Stay
    };
    let (sync_pulse, status_pulse) = (Pulse::default(), Pulse::default());
    let queue = node::queue(Some(&start.process.queues));
    health::of_loops(start.process, CLOUD_NODE.name, [&sync_pulse, &status_pulse]);
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
            syncs: workers(options.node.concurrent_syncs.given()).unwrap_or(defaults.syncs),
            status_updates: workers(options.node.status_updates()).unwrap_or(defaults.status_updates),
            ..defaults
        },
        client: start.client,
        nodes: start.nodes,
    };
    Ok(Started::Running {
        task: Box::pin(node::run(context, start.cancel)),
        watches: &["nodes"],
    })
}
