//! The cloud controller manager: flags to configuration to controllers.
//!
//! A program calls [`main`] with the [`Registration`] of its cloud, and is a complete cloud controller manager. [`options`] are its
//! flags, [`validate`] checks their combination, [`config`] is the content of `/configz`, and [`controllers_flag`] has the
//! controllers and selects those that run.

pub mod config;
pub mod controllers_flag;
pub mod options;
pub mod program;
mod registration;
mod run;
mod start;
pub mod validate;

pub use options::Options;
pub use program::main;
pub use registration::{Endpoint, Listener, Registration, Setup, select};
pub use run::{Program, Provide, register_metrics, run};
