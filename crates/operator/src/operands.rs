//! Objects of the cluster that are ours: compared, applied, pruned, and how they are.
//!
//! Start with [`diff`]: what has to be done to one object. [`Engine`] does it to all of them.

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
pub use report::{Action, Class, Failure, ObjectEvent, Outcome, Report};
