//! `--cloud-provider=memory`: a cloud that exists only in memory, to try things out.
//!
//! [`provider()`] is the entry point. [`Embedded`] has its cloud in this process; [`Remote`] calls a cloud that another process serves, so
//! that several replicas share it. [`State`] is the cloud itself, without IO; the crate `memory-sim` builds on it for tests.

mod balancer;
mod balancers;
mod config;
mod embedded;
mod machine;
mod plan;
mod pool;
mod remote;
mod route;
mod settings;
mod state;

pub use balancer::{Balancer, Phase};
pub use balancers::Balancers;
pub use config::{Config, ConfigError, provider};
pub use embedded::Embedded;
pub use machine::{Machine, Machines, Readiness};
pub use plan::Step;
pub use remote::Remote;
pub use route::RouteTables;
pub use settings::{AutoCreate, Offer, RouteAddresses, Settings};
pub use state::State;
