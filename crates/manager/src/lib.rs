//! The cloud controller manager: flags to configuration to controllers.
//!
//! Read [`options`] first: it is what a user can set. [`validate`] says what may not be combined, [`config`] is what
//! `/configz` shows, and [`controllers_flag`] which controllers there are and which of them are wanted.

pub mod config;
pub mod controllers_flag;
pub mod options;
mod run;
mod start;
pub mod validate;

pub use options::Options;
pub use run::{Program, Provide, register_metrics, run};
