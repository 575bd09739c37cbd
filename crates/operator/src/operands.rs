//! The objects of the operator in the cluster: compared, applied, pruned and examined.
//!
//! Start with [`diff`]: the step for one object. [`Engine`] carries out the steps for all objects.

pub mod apply;
pub mod diff;
pub mod health;
pub mod kinds;
pub mod report;
pub mod text;

mod api;
mod engine;
mod equal;
mod fields;
pub(crate) mod owners;
mod preview;

pub use diff::{Step, compare};
pub use engine::{Engine, Reader, Uncached};
pub use owners::MANAGER;
pub use preview::Preview;
pub use report::{Class, Failure, ObjectEvent, Operation, Outcome, Report};
