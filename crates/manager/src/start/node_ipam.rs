//! node-ipam-controller.

use super::{Start, Started};
use controllers::node_ipam::{self, NodeIpam};

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let cloud = &options.generic.cloud;
    if !cloud.allocate_node_cidrs.is_on() {
        return Ok(Started::Skipped("--allocate-node-cidrs is off".to_owned()));
    }
    let settings = options.node_ipam.settings(&cloud.cluster_cidr);
    let settings = settings.map_err(|problems| problems.join("; "))?;
    let scope = start.scope();
    let recorder = start.process.events.recorder(node_ipam::COMPONENT);
    let in_scope = std::sync::Arc::new(move |node: &_| scope.contains(node));
    let ipam = NodeIpam::new(&settings, start.client, start.nodes.store(), recorder, in_scope);
    let queues = start.process.queues.clone();
    let (nodes, cancel) = (start.nodes, start.cancel);
    Ok(Started::Running {
        task: Box::pin(async move { node_ipam::run(ipam, nodes, Some(&queues), cancel).await }),
        watches: &["nodes"],
    })
}
