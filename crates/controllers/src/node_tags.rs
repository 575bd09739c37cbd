//! The node tags controller: tags the machines behind nodes. A Node whose machine has the tags gets a label; the machine of a deleted
//! Node loses them.

mod controller;
mod plan;
mod reconcile;

pub use controller::{Context, queue, run};
pub use plan::Key;

#[cfg(test)]
mod tests;
