//! cloud-node-lifecycle-controller.

use super::{Start, Started, health, metrics_failed, workers};
use crate::controllers_flag::CLOUD_NODE_LIFECYCLE;
use controllers::node_lifecycle;
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let given = workers(options.node_lifecycle.concurrent_syncs.given());
    let defaults = node_lifecycle::Options::default();
    let defaults = given.map_or_else(|| defaults.clone(), |count| defaults.clone().syncs(count));
    let pulse = Pulse::default();
    health::of_loops(&start.process.checks, CLOUD_NODE_LIFECYCLE.name, [&pulse]);
    let context = node_lifecycle::Context {
        nodes: start.nodes.store(),
        provider: start.process.provider.clone(),
        recorder: start.events.recorder(node_lifecycle::COMPONENT),
        metrics: node_lifecycle::Metrics::register(start.registry()).map_err(metrics_failed)?,
        pulse,
        options: node_lifecycle::Options {
            scope: start.scope(),
            period: options.node_lifecycle.monitor_period.std(),
            grace: options.outrigger.node_deletion_grace_period.std(),
            limits: options.outrigger.limits(),
            ..defaults
        },
        client: start.client,
    };
    Ok(Started::Running {
        task: Box::pin(node_lifecycle::run(context, start.cancel)),
        watches: &["nodes"],
    })
}
