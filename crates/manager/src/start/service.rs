//! service-lb-controller.

use super::{Start, Started, health, metrics_failed, workers};
use crate::controllers_flag::SERVICE_LB;
use controllers::service::{self, Classes, Classless};
use runtime::health::Pulse;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let process = start.process;
    // Before its checks and metrics are registered: they would be about a controller that does not run.
    if process.provider.load_balancers().is_none() {
        return Ok(Started::Skipped(service::NotSupported.to_string()));
    }
    let options = &process.options;
    let pulse = Pulse::default();
    let classless = if options.outrigger.load_balancer_without_class.is_on() {
        Classless::Served
    } else {
        Classless::Ignored
    };
    let context = service::Context {
        provider: start.process.provider.clone(),
        events: start.events.recorder(service::COMPONENT),
        queues: Some(start.process.queues.clone()),
        metrics: service::Metrics::register(start.registry()).map_err(metrics_failed)?,
        pulse: pulse.clone(),
        reloads: Some(process.reloaded.subscribe()),
        options: service::Options {
            concurrency: workers(options.service.concurrent_syncs.given()),
            classes: Classes {
                named: options.outrigger.load_balancer_class.iter().cloned().collect(),
                classless,
            },
            scope: start.scope(),
            sweep: options.outrigger.sweep(),
            resync: options.outrigger.resync(),
            ..service::Options::new(&options.generic.cloud.cluster_name)
        },
        client: start.client,
        services: start.services,
        nodes: start.nodes,
    };
    let controller = service::Controller::new(context).map_err(|error| error.to_string())?;
    health::of_loops(&process.checks, SERVICE_LB.name, [&pulse]);
    let (stillness, refresh) = (controller.clone(), controller.clone());
    health::of_stillness(&process.checks, SERVICE_LB.name, move || stillness.stillness());
    process.metrics.before_reading(move || refresh.refresh_metrics());
    let cancel = start.cancel;
    Ok(Started::Running {
        task: Box::pin(async move { controller.run(cancel).await }),
        watches: &["nodes", "services"],
    })
}
