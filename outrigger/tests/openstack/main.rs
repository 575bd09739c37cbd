//! The `OpenStack` provider from end to end: the binary as a process, on a real API server, and on a simulated cloud for faults or a real one.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

#[path = "../fixture/fixture.rs"]
mod process_fixture;

mod configuration;
mod crash;
mod credentials;
mod faults;
mod fixture;
mod manifests;
mod nodes;
mod object_faults;
mod real;
mod refused;
mod restart;
mod secret;
mod services;
mod swap;
