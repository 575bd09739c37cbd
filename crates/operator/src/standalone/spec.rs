//! The spec of a manager: its validation, and the names and flags that follow from it.

pub(super) mod check;
pub mod controllers;
pub(super) mod flags;
pub mod names;
pub mod provider;
