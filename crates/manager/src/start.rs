//! Starts each controller: from the options and the shared state to a task.

mod health;
mod node;
mod node_firewall;
mod node_ipam;
mod node_lifecycle;
mod node_tags;
mod route;
mod service;

use crate::{controllers_flag, run::process::Process};
use controllers::nodes::Scope;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::Client;
use runtime::{events::Broadcaster, informer::Informer};
use std::{num::NonZeroUsize, time::Duration};
use tokio_util::sync::CancellationToken;

/// The arguments of a controller.
pub(crate) struct Start<'a> {
    pub(crate) process: &'a Process,
    /// Its own client: writes are behind the fence.
    pub(crate) client: Client,
    /// Writes its events with that client.
    pub(crate) events: Broadcaster,
    pub(crate) nodes: Informer<Node>,
    pub(crate) services: Informer<Service>,
    /// Stops new work.
    pub(crate) cancel: CancellationToken,
}

/// The result of a start.
pub(crate) enum Started {
    /// It runs until cancelled, and needs informers of these resources.
    Running {
        task: BoxFuture<'static, ()>,
        watches: &'static [&'static str],
    },
    /// It does not run, for this reason.
    Skipped(String),
}

/// Starts the controller with this name.
///
/// # Errors
/// One sentence: why it cannot be started although it is enabled.
pub(crate) fn controller(name: &str, start: Start<'_>) -> Result<Started, String> {
    match name {
        name if name == controllers_flag::CLOUD_NODE.name => node::start(start),
        name if name == controllers_flag::CLOUD_NODE_LIFECYCLE.name => node_lifecycle::start(start),
        name if name == controllers_flag::SERVICE_LB.name => service::start(start),
        name if name == controllers_flag::NODE_ROUTE.name => route::start(start),
        name if name == controllers_flag::NODE_IPAM.name => node_ipam::start(start),
        name if name == controllers_flag::NODE_FIREWALL.name => Ok(node_firewall::start(start)),
        name if name == controllers_flag::NODE_TAGS.name => node_tags::start(start),
        name => Err(format!("{name} cannot be started by this program")),
    }
}

impl Start<'_> {
    fn registry(&self) -> &prometheus::Registry {
        self.process.metrics.registry()
    }

    /// The nodes that this manager owns.
    fn scope(&self) -> Scope {
        self.process.options.outrigger.scope()
    }
}

/// A given number of workers; it was validated to be positive.
fn workers(given: Option<i32>) -> Option<NonZeroUsize> {
    given
        .and_then(|count| usize::try_from(count).ok())
        .and_then(NonZeroUsize::new)
}

/// Up to doubled at random, so that replicas do not act at the same time.
pub(crate) fn jittered(time: Duration) -> Duration {
    time.mul_f64(1.0 + fastrand::f64())
}

#[expect(clippy::needless_pass_by_value, reason = "that is what map_err gives")]
fn metrics_failed(error: prometheus::Error) -> String {
    format!("cannot register metrics: {error}")
}
