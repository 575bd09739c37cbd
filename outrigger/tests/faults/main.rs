//! Faults: crashes, freezes, rivals, a control plane and a cloud that misbehave. The binary as a whole, on a real API
//! server; what it did is read from the audit log and from what the cloud was asked.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

#[path = "../fixture/fixture.rs"]
mod fixture;

mod cloud_faults;
mod conflicts;
mod crash;
mod drain;
mod frozen;
mod mass_disappearance;
mod migration;
mod observe;
mod orphans;
mod outage;
mod peer;
mod privileges;
mod recording_server;
mod replica;
mod restart;
mod same_name;
