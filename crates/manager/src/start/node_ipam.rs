//! node-ipam-controller.

use super::{Start, Started, health};
use crate::controllers_flag::NODE_IPAM;
use controllers::node_ipam::{self, NodeIpam};
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let cloud = &options.generic.cloud;
    if !cloud.allocate_node_cidrs.is_on() {
        return Ok(Started::Skipped("--allocate-node-cidrs is off".to_owned()));
    }
    let settings = options.node_ipam.settings(&cloud.cluster_cidr);
    let settings = settings.map_err(|problems| problems.join("; "))?;
    let scope = start.scope();
    let recorder = start.events.recorder(node_ipam::COMPONENT);
    let in_scope = std::sync::Arc::new(move |node: &_| scope.contains(node));
    let (pulse, store) = (Pulse::default(), start.nodes.store());
    let ipam = NodeIpam::new(&settings, start.client, store, recorder, in_scope, pulse.clone());
    let queue = node_ipam::queue(Some(&start.process.queues));
    health::of_loops(&start.process.checks, NODE_IPAM.name, [&pulse]);
    health::of_queue(start.process, NODE_IPAM.name, &queue);
    Ok(Started::Running {
        task: Box::pin(node_ipam::run(ipam, start.nodes, queue, start.cancel)),
        watches: &["nodes"],
    })
}
