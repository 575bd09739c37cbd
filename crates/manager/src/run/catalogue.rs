//! The metrics of a manager, for the reference.

use super::{live, process};
use controllers::{node, node_lifecycle, route, service};
use runtime::{client, events, lease, metrics::Register, queue, serve};

/// Registers all metrics of a manager, without those of its cloud.
///
/// # Errors
/// If metrics of these names are registered already.
pub fn register_metrics(registry: &dyn Register) -> prometheus::Result<()> {
    runtime::metrics::register(registry)?;
    client::Metrics::register(registry)?;
    events::Metrics::register(registry)?;
    lease::Metrics::register(registry)?;
    queue::Metrics::register(registry)?;
    serve::Metrics::register(registry)?;
    process::running(registry)?;
    live::register(registry)?;
    node::Metrics::register(registry)?;
    node_lifecycle::Metrics::register(registry)?;
    route::Metrics::register(registry)?;
    service::Metrics::register(registry)?;
    Ok(())
}
