//! do-firewall.

use super::{Start, Started, health};
use crate::controllers_flag::NODE_FIREWALL;
use controllers::node_firewall::{self, Context};
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Started {
    if start.process.provider.node_firewall().is_none() {
        return Started::Skipped(
            "the cloud provider has no firewall in front of the nodes, or none is configured".to_owned(),
        );
    }
    let pulse = Pulse::default();
    let queue = node_firewall::queue(Some(&start.process.queues));
    health::of_loops(&start.process.checks, NODE_FIREWALL.name, [&pulse]);
    health::of_queue(start.process, NODE_FIREWALL.name, &queue);
    let context = Context {
        provider: start.process.provider.clone(),
        services: start.services,
        queue,
        cluster: start.process.options.generic.cloud.cluster_name.clone(),
        pulse,
    };
    Started::Running {
        task: Box::pin(node_firewall::run(context, start.cancel)),
        watches: &["services"],
    }
}
