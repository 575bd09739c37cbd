//! The spec of a manager: what is wrong with it, and the names and flags that follow from it.

pub(super) mod check;
pub mod controllers;
pub(super) mod flags;
pub mod names;
pub mod provider;
