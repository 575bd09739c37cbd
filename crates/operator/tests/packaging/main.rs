//! The installation packages, tested with Helm and kustomize and a real API server.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod apply;
mod chart;
mod drift;
mod kustomize;
mod occm;
mod release;
mod tools;
