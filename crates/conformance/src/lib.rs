//! The behaviour suite that every provider must pass.
//!
//! Start with [`World`]: what the operator of a cloud can do. Implement it once for a cloud, then
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
//! runs every case of [`cases`] in a world of its own and prints one line a case. A case needs nothing of another and
//! cleans up, also when it fails. What a world cannot do is listed by name: nothing is skipped in silence.

mod balancers;
mod case;
mod gate;
mod instances;
mod report;
mod routes;
mod run;
mod sample;
mod scene;
mod world;

pub use case::{Case, cases};
pub use report::{CaseResult, Failed, Report, Verdict};
pub use run::{run, run_all, run_concurrently};
pub use scene::Scene;
pub use world::{LoadBalancer, Marks, Naming, Stop, World, WriteFault};
