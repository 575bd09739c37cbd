//! The client against a scripted server on loopback.

#![expect(clippy::unwrap_used, reason = "all of this crate is a test")]

mod answers;
mod auth;
mod decoding;
mod http2;
mod limits;
mod metrics;
mod pages;
mod proxies;
mod retries;
mod secrets;
mod server;
mod time;
mod tls;

use cloud::{Error, Gate};
use cloud_http::{Client, Config, Metrics, Proxy, Retries, Trust};
use prometheus::{Registry, TextEncoder};
use std::{sync::Arc, time::Duration};

const MS: Duration = Duration::from_millis(1);

/// A client in a hurry, with what it counts.
struct Subject {
    client: Client,
    registry: Registry,
}

impl Subject {
    fn new(config: &Config) -> Self {
        Self::gated(config, Arc::new(|| Ok(())))
    }

    fn gated(config: &Config, gate: Gate) -> Self {
        // Fails where another test of this process was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        secrets::capture();
        let registry = Registry::new();
        let metrics = Metrics::register(&registry).unwrap();
        Self {
            client: Client::new(config, gate, &metrics).unwrap(),
            registry,
        }
    }

    fn metrics(&self) -> String {
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap()
    }

    /// The value of the one sample that starts like this; 0 if there is none.
    fn sample(&self, name_and_labels: &str) -> u64 {
        let text = self.metrics();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name_and_labels)?.strip_prefix(' '));
        line.map_or(0, |value| value.parse().unwrap())
    }
}

fn config() -> Config {
    Config {
        proxy: Proxy::Direct,
        // Loading the system's authorities takes longer than most tests.
        trust: Trust::Anything,
        deadline: 5000 * MS,
        connect_timeout: 1000 * MS,
        retries: Retries {
            attempts: 3,
            base: MS,
            longest_wait: 200 * MS,
            ..Retries::default()
        },
        ..Config::default()
    }
}

/// The variant, in words.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::NotFound { .. } => "not found",
        Error::Invalid { .. } => "invalid",
        Error::Throttled { .. } => "throttled",
        Error::Unavailable { .. } => "unavailable",
        Error::Denied { .. } => "denied",
        Error::Quota { .. } => "quota",
        Error::NotLeader => "not leader",
        _ => "something else",
    }
}
