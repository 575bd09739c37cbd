//! tagging.

use super::{Start, Started, health};
use crate::controllers_flag::NODE_TAGS;
use controllers::node_tags::{self, Context};
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    if start.process.provider.node_tags().is_none() {
        return Err(
            "the cloud provider has no tags for nodes, or none are configured: set --tags and --resources=instance"
                .to_owned(),
        );
    }
    let pulse = Pulse::default();
    let queue = node_tags::queue(Some(&start.process.queues));
    health::of_loops(&start.process.checks, NODE_TAGS.name, [&pulse]);
    health::of_queue(start.process, NODE_TAGS.name, &queue);
    let context = Context {
        provider: start.process.provider.clone(),
        scope: start.scope(),
        client: start.client,
        nodes: start.nodes,
        queue,
        pulse,
    };
    Ok(Started::Running {
        task: Box::pin(node_tags::run(context, start.cancel)),
        watches: &["nodes"],
    })
}
