//! The vSphere provider from end to end, beside the Go program: both as processes, on a real API server and on a simulated vCenter.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

#[path = "../fixture/fixture.rs"]
mod fixture;

mod cluster;
mod nodes;
mod swap;
