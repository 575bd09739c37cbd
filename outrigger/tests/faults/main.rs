//! Faults: crashes, freezes, concurrent writers, and failures of the control plane and the cloud. The binary as a process, on a real API
//! server; its requests are read from the audit log and from the record of the cloud.

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
