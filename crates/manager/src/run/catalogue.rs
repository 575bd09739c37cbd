//! What a manager counts, for the reference.

use super::{live, process};
use controllers::{node, node_lifecycle, route, service};
use runtime::{client, events, lease, metrics::Register, queue, serve};

/// Registers everything that a manager registers in the course of its life, its cloud's apart.
///
/// # Errors
/// If there is something of these names already.
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
