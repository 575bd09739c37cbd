//! The engine against a real API server.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "operands/world.rs"]
mod world;

#[path = "operands/controllers.rs"]
mod controllers;
#[path = "operands/crash.rs"]
mod crash;
#[path = "operands/drift.rs"]
mod drift;
#[path = "operands/errors.rs"]
mod errors;
#[path = "operands/install.rs"]
mod install;
#[path = "operands/predecessor.rs"]
mod predecessor;
#[path = "operands/preview.rs"]
mod preview;
#[path = "operands/prune.rs"]
mod prune;
#[path = "operands/recreate.rs"]
mod recreate;
