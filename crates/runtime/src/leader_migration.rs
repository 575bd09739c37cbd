//! Leader migration: moving controllers from one program to another, so that never both run them.
//!
//! The programs share a second Lease, the migration lock. Read [`Classifier`] for the lock of a controller, and [`Main`] for the
//! order in which the locks are acquired.

mod classifier;
mod config;
mod locks;
mod options;
#[cfg(test)]
mod tests;

pub use self::{
    classifier::{Classifier, Ownership},
    config::{Config, ControllerLeader, Error, FileVersion},
    locks::{Both, Main, Next, params},
    options::{Election, Migration, Resolved, resolve},
};
