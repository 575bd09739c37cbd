//! The behaviour suite that every provider must pass.
//!
//! Start with [`World`]: the operations of a cloud's operator. Implement it once for a cloud, then
//!
//! ```no_run
//! # async fn example() -> Result<(), conformance::Failed> {
//! # struct Acme;
//! # impl Acme { async fn connect() -> Result<Self, conformance::Stop> { Ok(Self) } }
//! # #[async_trait::async_trait]
//! # impl conformance::World for Acme {
//! #     fn provider(&self, gate: cloud::Gate) -> std::sync::Arc<dyn cloud::Provider> { todo!() }
//! #     async fn create_machine(&self, name: &str) -> Result<cloud::NodeRef, conformance::Stop> { todo!() }
//! #     async fn delete_machine(&self, node: &cloud::NodeRef) -> Result<(), conformance::Stop> { todo!() }
//! # }
//! conformance::run_all(|| Acme::connect()).await.check()?;
//! # Ok(())
//! # }
//! ```
//!
//! runs every case of [`cases`] in a world of its own, and prints one line for each. Cases are independent, and clean up even
//! if they fail. Cases that a world cannot run are listed by name: nothing is skipped silently.

mod case;
mod fixture;
mod gate;
mod instances;
mod load_balancers;
mod objects;
mod report;
mod routes;
mod run;
mod world;

pub use case::{Case, cases};
pub use fixture::Fixture;
pub use report::{CaseResult, Failed, Report, Verdict};
pub use run::{run, run_all, run_concurrently};
pub use world::{LoadBalancer, Marks, Naming, Stop, World, WriteFault};
