//! node-route-controller.

use super::{Start, Started, health, metrics_failed};
use crate::{controllers_flag::NODE_ROUTE, options::WATCH_BASED_ROUTES};
use controllers::route;
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let cloud = &options.generic.cloud;
    if !cloud.configure_cloud_routes.is_on() {
        return Ok(Started::Skipped("--configure-cloud-routes is off".to_owned()));
    }
    if cloud.cluster_cidr.is_empty() {
        return Ok(Started::Skipped(
            "--cluster-cidr is empty: name the pods' range to have routes".to_owned(),
        ));
    }
    let watch_only = options.generic.feature_gates.is_on(WATCH_BASED_ROUTES);
    let scope = start.scope();
    let period = (!watch_only).then(|| cloud.route_reconciliation_period.std());
    let settings = route::Options {
        cluster: cloud.cluster_name.clone(),
        cluster_cidrs: cloud.cluster_cidr.nets().to_vec(),
        period,
        in_scope: std::sync::Arc::new(move |node| scope.contains(node)),
    };
    let metrics = route::Metrics::register(start.registry()).map_err(metrics_failed)?;
    let recorder = start.events.recorder(route::COMPONENT);
    let provider = start.process.provider.clone();
    let (pulse, store) = (Pulse::default(), start.nodes.store());
    let routes = route::Routes::new(
        settings,
        provider,
        start.client,
        store,
        recorder,
        metrics,
        pulse.clone(),
    );
    let Some(routes) = routes else {
        return Ok(Started::Skipped(
            "the cloud provider does not support routes".to_owned(),
        ));
    };
    let queue = route::queue(period, Some(&start.process.queues));
    health::of_loops(start.process, NODE_ROUTE.name, [&pulse]);
    health::of_queue(start.process, NODE_ROUTE.name, &queue);
    Ok(Started::Running {
        task: Box::pin(route::run(routes, start.nodes, queue, start.cancel)),
        watches: &["nodes"],
    })
}
