//! The `DigitalOcean` provider from end to end: the binary as a process, on a real API server and on a fake cloud.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

#[path = "../fixture/fixture.rs"]
mod fixture;

mod admission;
mod cluster;
