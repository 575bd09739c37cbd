//! The node firewall controller: keeps the cloud's firewall in front of the Nodes open for the ports of Services only.
//!
//! Changes of Services are handled at once. Changes of the firewall by other programs are reverted every [`PERIOD`].

mod controller;
mod reconcile;
mod spec;

pub use controller::{Context, Key, PERIOD, queue, run};

#[cfg(test)]
mod tests;
