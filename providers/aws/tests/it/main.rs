//! The provider on moto, which stands for AWS.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what must not be missing in a test ends it"
)]

mod conformance;
mod crashes;
mod faults;
mod fixture;
mod given;
mod load_balancers;
mod orphans;
mod shared_groups;
mod simulation;
mod snapshot;
