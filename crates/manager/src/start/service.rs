//! service-lb-controller.

use super::{Start, Started, metrics_failed, workers};
use crate::{controllers_flag::SERVICE_LB, run::crew::STUCK_AFTER};
use controllers::{
    pulse::Pulse,
    service::{self, Classes, Classless},
};
use runtime::health::Scope;
use std::sync::Arc;

pub(super) fn start(start: Start<'_>) -> Result<Started, String> {
    let options = &start.process.options;
    let pulse = Pulse::default();
    let scope = start.scope();
    let classless = if options.outrigger.load_balancer_without_class.is_on() {
        Classless::Served
    } else {
        Classless::Ignored
    };
    let context = service::Context {
        provider: start.process.provider.clone(),
        events: start.process.events.recorder(service::COMPONENT),
        queues: Some(start.process.queues.clone()),
        metrics: service::Metrics::register(start.registry()).map_err(metrics_failed)?,
        pulse: pulse.clone(),
        options: service::Options {
            concurrency: workers(options.service.concurrent_syncs.given()),
            classes: Classes {
                named: options.outrigger.load_balancer_class.iter().cloned().collect(),
                classless,
            },
            scope: Arc::new(move |node| scope.contains(node)),
            ..service::Options::new(&options.generic.cloud.cluster_name)
        },
        fence: start.fence,
        client: start.client,
        services: start.services,
        nodes: start.nodes,
    };
    let controller = match service::Controller::new(context) {
        Ok(controller) => controller,
        Err(unsupported) => return Ok(Started::Skipped(unsupported.to_string())),
    };
    let (queue, refresh) = (controller.clone(), controller.clone());
    start.process.checks.add(SERVICE_LB.name, Scope::Live, move || {
        let age = queue.age();
        let stuck = if age > STUCK_AFTER {
            Err(format!("work has been waiting for {} s", age.as_secs()))
        } else {
            Ok(())
        };
        stuck.and(pulse.check(STUCK_AFTER))
    });
    start.process.metrics.before_reading(move || refresh.refresh_metrics());
    let cancel = start.cancel;
    Ok(Started::Running {
        task: Box::pin(async move { controller.run(cancel).await }),
        watches: &["nodes", "services"],
    })
}
