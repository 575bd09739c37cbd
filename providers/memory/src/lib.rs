//! A cloud in the process, for tests, the demo and the benchmark.
//!
//! Start with [`Cloud`]. It has machines, load balancers and routes, records the calls it got, and injects [`Fault`]s.
//! [`Memory`] is the [`cloud::Provider`] on top of it; [`Remote`] is the same on a cloud that another process serves
//! ([`server`]). [`provider()`] is `--cloud-provider=memory`.
//!
//! ```
//! use cloud::{Detail, NodeRef, Provider};
//! use memory::{Cloud, Failure, Fault, Memory, Operation};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let cloud = Cloud::new();
//! let provider = Memory::new(&cloud);
//! let node = cloud.boot("node-1");
//! assert!(provider.instances().describe(&[node.clone()], Detail::Full).await.remove(0).unwrap().found().is_some());
//!
//! cloud.inject(Fault::fail(Failure::Throttled { retry_after: None }).operation(Operation::Describe).times(1));
//! assert!(provider.instances().describe(&[node], Detail::Full).await.remove(0).is_err());
//! assert_eq!(cloud.count(Operation::Describe), 2);
//! # });
//! ```

mod balancer;
mod balancers;
mod call;
mod config;
mod duration;
mod fault;
mod machine;
mod operator;
mod plan;
mod pool;
mod provider;
mod remote;
mod route;
pub mod server;
mod settings;
mod state;
mod wire;

pub use balancer::{Balancer, Phase};
pub use call::{Call, Effect, Operation, Request};
pub use config::{Config, ConfigError, provider};
pub use fakecloud::Server;
pub use fault::{Failure, Fault, FaultId, Garbage};
pub use machine::{Machine, Readiness};
pub use operator::Cloud;
pub use plan::Step;
pub use provider::Memory;
pub use remote::Remote;
pub use settings::{AutoCreate, Offer, RouteAddresses, Settings};
