//! Faults: crashes, freezes, rivals, a control plane and a cloud that misbehave. The binary as a whole, on a real API
//! server; what it did is read from the audit log and from what the cloud was asked.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

#[path = "../rig/mod.rs"]
mod rig;

mod cloud_faults;
mod conflicts;
mod crash;
mod door;
mod drain;
mod frozen;
mod look;
mod migration;
mod orphans;
mod outage;
mod peer;
mod privileges;
mod replica;
mod restart;
mod same_name;
mod vanished;
