//! Invalid input, and the behaviour of the process with valid input: the program as a whole, on a real API server.

#![expect(clippy::unwrap_used, reason = "a part of a test that breaks ends the test")]

#[path = "../fixture/fixture.rs"]
mod fixture;

mod command_line;
mod confinement;
mod credentials;
mod files;
mod flags;
mod health;
mod help;
mod identity;
mod limits;
mod logs;
mod metrics;
mod outage;
mod rights;
mod secure_port;
mod serving;
mod shutdown;
mod slow_clients;
