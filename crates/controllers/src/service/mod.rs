//! service-lb-controller: a load balancer in the cloud for every Service that wants one.
//!
//! Start with [`plan`]: what is to be done about a Service, decided purely. Around it: [`spec`] parses a Service once,
//! [`hosts`] knows the nodes behind load balancers, `reconcile` takes the steps (`ensure`, `cleanup`), [`status`],
//! [`conditions`] and [`patch`] say what is written, and [`Controller`] listens and queues.
//!
//! No worker ever waits for a cloud: what is not finished goes back to the queue. One Service is worked on by one worker
//! at a time, and each attempt takes the hosts of that moment, so that an older set can never overwrite a newer one.

mod announce;
mod cleanup;
pub mod conditions;
mod controller;
mod ensure;
mod error;
mod fan_out;
pub mod hosts;
mod ledger;
mod metrics;
mod options;
pub mod patch;
pub mod plan;
pub mod predicates;
mod reconcile;
pub mod source_ranges;
pub mod spec;
pub mod status;
pub mod sweep;
mod write;

pub use controller::{Context, Controller, NotSupported, concerns};
pub use metrics::Metrics;
pub use options::{Classes, Classless, Debounce, Options, Scope, Sweep};

use crate::kubectl;
use k8s_openapi::api::core::v1::Service;

/// The event source's name.
pub const COMPONENT: &str = "service-controller";

/// Drops what the controller does not need, before an informer keeps the Service.
pub fn trim(service: &mut Service) {
    service.metadata.managed_fields = None;
    kubectl::drop_last_applied(&mut service.metadata);
}

#[cfg(test)]
mod tests;
