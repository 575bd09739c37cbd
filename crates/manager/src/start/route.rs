//! node-route-controller.

use super::{Start, Started, health, jittered, metrics_failed};
use crate::{
    controllers_flag::NODE_ROUTE,
    options::{Options, WATCH_BASED_ROUTES},
};
use controllers::route;
use runtime::health::Pulse;
use std::time::Duration;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let cloud = &options.generic.cloud;
    if !cloud.configure_cloud_routes.is_on() {
        return Ok(Started::Skipped("--configure-cloud-routes is off".to_owned()));
    }
    if cloud.cluster_cidr.is_empty() {
        return Ok(Started::Skipped(
            "--cluster-cidr is empty: set it to the networks of the pods to create routes".to_owned(),
        ));
    }
    // Before its checks and metrics are registered: they would be about a controller that does not run.
    if start.process.provider.routes().is_none() {
        return Ok(Started::Skipped(
            "the cloud provider does not support routes".to_owned(),
        ));
    }
    let (pulse, period) = (Pulse::default(), period(options));
    let queue = route::queue(period, Some(&start.process.queues));
    health::of_loops(&start.process.checks, NODE_ROUTE.name, [&pulse]);
    health::of_queue(start.process, NODE_ROUTE.name, &queue);
    let context = route::Context {
        provider: start.process.provider.clone(),
        recorder: start.events.recorder(route::COMPONENT),
        queue,
        metrics: route::Metrics::register(start.registry()).map_err(metrics_failed)?,
        pulse,
        options: route::Options {
            cluster: cloud.cluster_name.clone(),
            cluster_cidrs: cloud.cluster_cidr.nets().to_vec(),
            period,
            deadline: route::DEADLINE,
            scope: start.scope(),
        },
        client: start.client,
        nodes: start.nodes,
    };
    Ok(Started::Running {
        task: Box::pin(route::run(context, start.cancel)),
        watches: &["nodes"],
    })
}

/// The reconcile period. If reconciles are triggered by changes of Nodes, it is long, as the resync of the Go program; a
/// `--min-resync-period` of zero disables it.
fn period(options: &Options) -> Option<Duration> {
    if !options.generic.feature_gates.is_on(WATCH_BASED_ROUTES) {
        return Some(options.generic.cloud.route_reconciliation_period.std());
    }
    let resync = options.generic.min_resync_period.std();
    (!resync.is_zero()).then(|| jittered(resync))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const GATE: &str = "--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true";

    #[rstest]
    #[case::usual("", Some((10, 10)))]
    #[case::given("--route-reconciliation-period=1m", Some((60, 60)))]
    #[case::seldom(GATE, Some((12 * 60 * 60, 24 * 60 * 60)))]
    #[case::resync_period(&format!("{GATE} --min-resync-period=1h"), Some((60 * 60, 2 * 60 * 60)))]
    #[case::never(&format!("{GATE} --min-resync-period=0"), None)]
    fn full_reconciles_are_periodic(#[case] flags: &str, #[case] between: Option<(u64, u64)>) {
        let mut options = Options::default();
        options.parsed = options.set("ccm", Vec::new()).parse(flags.split_whitespace()).unwrap();
        let drawn = period(&options);
        assert_eq!(drawn.is_some(), between.is_some(), "{drawn:?}");
        if let (Some(drawn), Some((least, most))) = (drawn, between) {
            assert!((least..=most).contains(&drawn.as_secs()), "{drawn:?}");
        }
    }
}
