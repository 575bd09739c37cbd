//! node-route-controller.

use super::{Start, Started, health, jittered, metrics_failed};
use crate::{
    controllers_flag::NODE_ROUTE,
    options::{Options, WATCH_BASED_ROUTES},
};
use controllers::route;
use runtime::health::Pulse;
use std::{sync::Arc, time::Duration};

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
    // Before anything is registered: nobody is to look for what does not run.
    if start.process.provider.routes().is_none() {
        return Ok(Started::Skipped(
            "the cloud provider does not support routes".to_owned(),
        ));
    }
    let (scope, period) = (start.scope(), period(options));
    let settings = route::Options {
        cluster: cloud.cluster_name.clone(),
        cluster_cidrs: cloud.cluster_cidr.nets().to_vec(),
        period,
        deadline: route::DEADLINE,
        in_scope: Arc::new(move |node| scope.contains(node)),
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
    let queue = route::queue(period, Some(&start.process.queues));
    health::of_loops(&start.process.checks, NODE_ROUTE.name, [&pulse]);
    health::of_queue(start.process, NODE_ROUTE.name, &queue);
    Ok(Started::Running {
        task: Box::pin(route::run(routes, start.nodes, queue, start.cancel)),
        watches: &["nodes"],
    })
}

/// How often to look at everything. Where only changes of Nodes are to count that is still done, but seldom, as the original
/// program does when it goes through its cache again; a `--min-resync-period` of nothing switches that off.
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
    #[case::told("--route-reconciliation-period=1m", Some((60, 60)))]
    #[case::seldom(GATE, Some((12 * 60 * 60, 24 * 60 * 60)))]
    #[case::as_seldom_as_told(&format!("{GATE} --min-resync-period=1h"), Some((60 * 60, 2 * 60 * 60)))]
    #[case::never(&format!("{GATE} --min-resync-period=0"), None)]
    fn everything_is_looked_at_again(#[case] flags: &str, #[case] between: Option<(u64, u64)>) {
        let mut options = Options::default();
        options.parsed = options.set("ccm", Vec::new()).parse(flags.split_whitespace()).unwrap();
        let drawn = period(&options);
        assert_eq!(drawn.is_some(), between.is_some(), "{drawn:?}");
        if let (Some(drawn), Some((least, most))) = (drawn, between) {
            assert!((least..=most).contains(&drawn.as_secs()), "{drawn:?}");
        }
    }
}
