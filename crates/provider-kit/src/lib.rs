//! What every cloud provider needs, written once.
//!
//! A provider describes its cloud: its API, its configuration keys, its annotations, how a load balancer is observed and changed. The
//! kit does the rest, the same way for every cloud.

pub mod annotations;
pub mod batch;
mod concurrently;
mod fresh;
pub mod json;
pub mod keys;
pub mod labels;
pub mod lanes;
pub mod list_cache;
pub mod live_config;
pub mod load_balancer;
pub mod rest;
mod timed;
pub mod variables;

pub use concurrently::concurrently;
pub use fresh::Fresh;
pub use timed::Timed;
