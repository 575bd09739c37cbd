//! The memory cloud for tests, the demo and the benchmark.
//!
//! Start with [`Cloud`]. It has machines, load balancers and routes, records the calls it received, and injects [`Fault`]s.
//! [`Memory`] is the [`cloud::Provider`] on it; [`Server`] serves it to other processes ([`server`]).
//!
//! ```
//! use cloud::{Detail, NodeRef, Provider};
//! use memory_sim::{Cloud, Failure, Fault, Memory, Operation};
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

mod call;
mod control;
mod fault;
mod provider;
pub mod server;
mod state;

pub use call::{Call, Effect, Operation, Request};
pub use control::Cloud;
pub use fakecloud::Server;
pub use fault::{Failure, Fault, FaultId, Garbage};
pub use memory::{AutoCreate, Balancer, Machine, Offer, Phase, Readiness, RouteAddresses, Settings, Step};
pub use provider::Memory;
