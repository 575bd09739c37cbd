//! Builders, recorders and waiting on conditions, for tests.
pub mod service;
pub mod node;
pub mod requests;
pub mod wait;
