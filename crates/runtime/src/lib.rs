//! What every Kubernetes component needs: flags, client, informers, work queues, events, lease, secure port, health,
//! metrics, logs, shutdown. It knows no cloud.
//!
//! Read [`informer`], [`queue`] and [`events`] first: a controller consists of them.

pub mod client;
pub mod configz;
pub mod events;
pub mod feature_gates;
pub mod fence;
pub mod flags;
pub mod health;
pub mod informer;
pub mod leader_migration;
pub mod lease;
pub mod logging;
pub mod metrics;
pub mod program;
pub mod queue;
pub mod serve;
pub mod signals;
pub mod version;
