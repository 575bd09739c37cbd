//! What the simulation does beyond the real services: faults, time, scale, and the hands of its operator.

#![expect(clippy::unwrap_used, reason = "all of this crate is a test")]

mod balancers;
mod faults;
mod fixture;
mod identity;
mod networks;
mod scale;
