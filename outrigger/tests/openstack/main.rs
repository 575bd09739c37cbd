//! The `OpenStack` provider from end to end: the binary as a process, on a real API server and on a cloud, simulated where
//! something has to go wrong, real where everything goes well.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

#[path = "../rig/mod.rs"]
mod rig;

mod configuration;
mod crash;
mod credentials;
mod faults;
mod manifests;
mod misfortune;
mod nodes;
mod real;
mod refused;
mod restart;
mod secret;
mod services;
mod stage;
mod swap;
