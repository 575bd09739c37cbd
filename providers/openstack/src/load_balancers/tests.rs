//! Whole reconciles, from a Service to the objects in the cloud: on the simulation and on the real services.

mod addresses;
mod calls;
mod create;
mod delete;
mod error_status;
mod faults;
mod fixture;
mod hosts;
pub(super) mod neutron;
pub(super) mod objects;
mod previous;
mod project;
mod shared;
mod takeover;
mod unanswered;
