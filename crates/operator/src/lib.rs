//! The operator: installs, configures, upgrades and removes the cloud controller manager.
//!
//! [`control`](mod@control) runs one pass after another: observe, decide, apply, report. What to do is decided purely, by
//! [`openshift`] for the cluster's platform and by [`standalone`] for each `CloudControllerManager`; [`operands`] compares the
//! desired objects with the existing ones, applies and prunes.

mod cache;
pub mod certificates;
mod clients;
pub mod cloud_config;
mod control;
mod events;
pub mod injector;
pub mod monitoring;
pub mod object;
pub mod observer;
pub mod openshift;
pub mod operands;
pub mod options;
pub mod packaging;
pub mod platforms;
pub mod render;
mod retry;
mod rollout;
pub mod run;
pub mod standalone;
pub mod status;
pub mod trusted_ca;

pub use object::{Key, Lookup, Object, Unread};
