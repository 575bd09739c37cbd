//! The operator: installs, configures, upgrades and removes the cloud controller manager.
//!
//! An Infrastructure is watched; [`platforms`] says which objects it asks for (pure); [`operands`] compares them with
//! what is there, applies and prunes.

pub mod certificates;
pub mod cloud_config;
pub mod injector;
pub mod monitoring;
pub mod object;
pub mod observer;
pub mod openshift;
pub mod operands;
pub mod options;
pub mod platforms;
pub mod render;
mod retry;
mod rollout;
pub mod run;
pub mod standalone;
pub mod status;
mod telling;
pub mod trusted_ca;
pub mod watching;

pub use object::{Key, Object};
