//! `outrigger migrate` on a real API server: what it reads, what it reports, and that it changes nothing.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

#[path = "../fixture/fixture.rs"]
mod fixture;

mod cluster;
mod faults;
