//! The operator from end to end: the binary as a process, on a real API server with the real definitions of `OpenShift`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what must not be missing in a test ends it"
)]

#[path = "../fixture/fixture.rs"]
mod process_fixture;

mod bad_input;
mod contest;
mod control_planes;
mod crash;
mod dry_run;
mod every_operand;
mod faults;
mod fixture;
mod flavour;
mod health;
mod idle;
mod install;
mod later;
mod numbers;
mod objects;
mod policies;
mod predecessor;
mod programs;
mod repair;
mod rights;
mod standalone;
mod trusted_ca;
mod upstream_rights;
mod webhooks;
mod wire;
mod workloads;
mod world;
mod writes;
