//! Builders, recorders and waiting on conditions, for tests.
pub mod node;
pub mod requests;
pub mod service;
pub mod version_1;
pub mod wait;
