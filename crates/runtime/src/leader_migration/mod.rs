//! Leader migration: moving controllers from one program to another without a moment in which both run them.
//!
//! The programs share a second Lease, the migration lock. Read [`Classifier`] for what runs under which lock, and [`Main`]
//! for the order in which they are taken.

mod classifier;
mod config;
mod locks;
mod options;
#[cfg(test)]
mod tests;

pub use self::{
    classifier::{Classifier, Ownership},
    config::{Config, ControllerLeader, Error},
    locks::{Both, Main, Next, params},
    options::{Election, Migration, Resolved, resolve},
};
