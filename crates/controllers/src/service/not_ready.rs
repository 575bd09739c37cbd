//! The Services whose load balancer is not ready, for a metric.

use super::{
    options::Classes,
    spec::predicates::{needs_cleanup, wants},
    status::conditions,
};
use k8s_openapi::{api::core::v1::Service, jiff::Timestamp};
use kube::ResourceExt;
use std::sync::Arc;

/// The most Services in the metric: an outage of the cloud must not overload Prometheus.
const LIMIT: usize = 100;

/// A Service whose load balancer is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotReady {
    pub namespace: String,
    pub name: String,
    /// The reason of its condition.
    pub reason: String,
    pub since: Timestamp,
}

/// Those that have waited longest, at most [`LIMIT`]. The conditions are on the API server, so a restart forgets nothing.
pub(super) fn not_ready(services: &[Arc<Service>], classes: &Classes) -> Vec<NotReady> {
    let ours = services
        .iter()
        .filter(|service| wants(service, classes) || needs_cleanup(service, classes));
    let waiting = ours.filter_map(|service| {
        let condition = conditions::find(service).filter(|condition| condition.status == "False")?;
        Some(NotReady {
            namespace: service.namespace().unwrap_or_default(),
            name: service.name_any(),
            reason: condition.reason.clone(),
            since: condition.last_transition_time.0,
        })
    });
    let mut waiting: Vec<_> = waiting.collect();
    waiting.sort_by(|a, b| (a.since, &a.namespace, &a.name).cmp(&(b.since, &b.namespace, &b.name)));
    waiting.truncate(LIMIT);
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::status::conditions::Readiness;
    use testkit::service::{Builder, load_balancer};

    fn with(service: Builder, readiness: &Readiness, since: i64) -> Arc<Service> {
        let mut service = service.build();
        let at = Timestamp::from_second(since).unwrap();
        let conditions = conditions::with(&service, Some(readiness), at);
        service.status.get_or_insert_default().conditions = Some(conditions);
        Arc::new(service)
    }

    #[test]
    fn only_ours_that_wait() {
        let services = [
            with(load_balancer("young"), &Readiness::provisioning("x"), 20),
            with(load_balancer("old"), &Readiness::failed("Denied", "x"), 10),
            with(load_balancer("ready"), &Readiness::ready(), 5),
            with(load_balancer("other").class("c"), &Readiness::provisioning("x"), 5),
            Arc::new(load_balancer("new").build()),
        ];
        let found = not_ready(&services, &Classes::default());
        let found: Vec<_> = found.iter().map(|it| format!("{} {}", it.name, it.reason)).collect();
        assert_eq!(found, ["old Denied", "young Provisioning"]);
    }

    #[test]
    fn those_that_have_waited_longest() {
        let service = |index: i64| {
            let name = format!("s{index}");
            with(load_balancer(&name), &Readiness::provisioning("x"), 1000 - index)
        };
        let services: Vec<_> = (0..150).map(service).collect();
        let found = not_ready(&services, &Classes::default());
        assert_eq!((found.len(), found[0].name.as_str()), (LIMIT, "s149"));
    }
}
