//! Leader election against a real API server, against client-go, and with processes that are stopped and killed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod child;
mod client_go;
mod contest;
mod foreign;
mod handover;
mod migration;
mod outage;
mod replica;
