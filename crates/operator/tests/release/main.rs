//! The manifests of a release: `deploy/openshift`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod cluster;
mod images;
mod manifests;
mod monitoring;
mod names;
mod permissions;
mod programs;
mod rights;
