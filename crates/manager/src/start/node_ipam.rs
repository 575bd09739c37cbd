//! node-ipam-controller.

use super::{Start, Started, health};
use crate::controllers_flag::NODE_IPAM;
use controllers::node_ipam;
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let cloud = &options.generic.cloud;
    if !cloud.allocate_node_cidrs.is_on() {
        return Ok(Started::Skipped("--allocate-node-cidrs is off".to_owned()));
    }
    let settings = options.node_ipam.settings(&cloud.cluster_cidr);
    let settings = settings.map_err(|problems| problems.join("; "))?;
    let pulse = Pulse::default();
    let queue = node_ipam::queue(Some(&start.process.queues));
    health::of_loops(&start.process.checks, NODE_IPAM.name, [&pulse]);
    health::of_queue(start.process, NODE_IPAM.name, &queue);
    let context = node_ipam::Context {
        recorder: start.events.recorder(node_ipam::COMPONENT),
        scope: start.scope(),
        queue,
        pulse,
        options: settings,
        client: start.client,
        nodes: start.nodes,
    };
    Ok(Started::Running {
        task: Box::pin(node_ipam::run(context, start.cancel)),
        watches: &["nodes"],
    })
}
