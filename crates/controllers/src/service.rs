//! The service controller: a load balancer in the cloud for every Service that asks for one.
//!
//! Start with [`plan`]: the next step for a Service, decided purely. Around it: [`spec`] parses a Service, [`hosts`] holds the
//! Nodes behind load balancers, `state` is what the controller remembers of each Service, `reconcile` takes the steps,
//! [`status`] and `write` report the results on the Service, and [`Controller`] watches and queues.
//!
//! No worker waits for a cloud: a Service that is not finished goes back to the queue. One worker at a time handles a Service,
//! and each attempt uses the current hosts, so an older set can never overwrite a newer one.

mod controller;
mod error;
mod events;
pub mod hosts;
mod metrics;
mod not_ready;
mod options;
mod orphans;
pub mod plan;
mod reconcile;
pub mod spec;
mod state;
pub mod status;
mod write;

pub use crate::trim::service as trim;
pub use controller::{Context, Controller, NotSupported, concerns};
pub use metrics::Metrics;
pub use options::{Classes, Classless, Debounce, Options, Sweep};

/// The source of its events.
pub const COMPONENT: &str = "service-controller";

#[cfg(test)]
mod tests;
