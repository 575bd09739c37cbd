//! node-route-controller.

use super::{Start, Started, metrics_failed};
use crate::options::WATCH_BASED_ROUTES;
use controllers::route;

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
    let settings = route::Options {
        cluster: cloud.cluster_name.clone(),
        cluster_cidrs: cloud.cluster_cidr.nets().to_vec(),
        period: (!watch_only).then(|| cloud.route_reconciliation_period.std()),
        in_scope: std::sync::Arc::new(move |node| scope.contains(node)),
    };
    let metrics = route::Metrics::register(start.registry()).map_err(metrics_failed)?;
    let recorder = start.process.events.recorder(route::COMPONENT);
    let provider = start.process.provider.clone();
    let Some(routes) = route::Routes::new(settings, provider, start.client, start.nodes.store(), recorder, metrics)
    else {
        return Ok(Started::Skipped(
            "the cloud provider does not support routes".to_owned(),
        ));
    };
    let queues = start.process.queues.clone();
    let (nodes, cancel) = (start.nodes, start.cancel);
    Ok(Started::Running {
        task: Box::pin(async move { route::run(routes, nodes, Some(&queues), cancel).await }),
        watches: &["nodes"],
    })
}
