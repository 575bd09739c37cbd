//! How a client behaves: plain data, with defaults that suit most clouds.

use outbound::{Environment, Thumbprint};
use secrecy::SecretString;
use std::time::Duration;

/// How to reach a cloud and how hard to try.
#[derive(Debug, Clone)]
pub struct Config {
    /// The `User-Agent` header.
    pub user_agent: String,
    /// Which server certificates are trusted.
    pub trust: Trust,
    /// A client certificate with its chain and its private key, in one PEM text.
    pub identity: Option<SecretString>,
    /// Which way out.
    pub proxy: Proxy,
    /// How long to wait for a connection, TLS included.
    pub connect_timeout: Duration,
    /// How long a call may take in all: waiting for limits, every attempt, the waits between them, the body.
    pub deadline: Duration,
    /// How long a single attempt may take, so that one that hangs leaves time for another. `None`: the whole deadline.
    pub attempt_timeout: Option<Duration>,
    /// When to try again.
    pub retries: Retries,
    /// How many requests a second. `None`: as fast as the cloud answers.
    pub rate: Option<Rate>,
    /// How many requests at the same time. `None`: no limit.
    pub in_flight: Option<usize>,
    /// The largest answer that is read, in bytes.
    pub response_limit: usize,
    /// The maximum number of pages of a list; more are an endless loop.
    pub page_limit: usize,
    /// Names of headers, query parameters and body keys whose values are secret, in addition to the well-known ones.
    /// Case, `-` and `_` do not matter.
    pub secret_names: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            user_agent: concat!("outrigger/", env!("CARGO_PKG_VERSION")).to_owned(),
            trust: Trust::System,
            identity: None,
            proxy: Proxy::Environment,
            connect_timeout: Duration::from_secs(10),
            deadline: Duration::from_mins(1),
            attempt_timeout: None,
            retries: Retries::default(),
            rate: None,
            in_flight: None,
            response_limit: 64 << 20,
            page_limit: 1000,
            secret_names: Vec::new(),
        }
    }
}

/// Which server certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Those of the system's authorities.
    System,
    /// Those of the system's authorities and of these, in PEM.
    SystemAnd(String),
    /// Those of these authorities only, in PEM.
    Only(String),
    /// The server certificate with this thumbprint; any other one as with [`Trust::Only`] or, without PEM, [`Trust::System`].
    Pinned(Thumbprint, Option<String>),
    /// Any certificate at all, for clouds that the user declared `insecure`.
    Anything,
}

/// Which way out.
#[derive(Debug, Clone)]
pub enum Proxy {
    /// As `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` of this process say; never for this machine itself.
    Environment,
    /// As these variables say.
    Given(Environment),
    /// Straight to the cloud, for example to a metadata service.
    Direct,
    /// Through this proxy, except for `NO_PROXY`. Secret, because it may hold a password.
    Url(SecretString),
}

/// When to try again.
#[derive(Debug, Clone)]
pub struct Retries {
    /// How often a call is sent at most; 1 means never again.
    pub attempts: u32,
    /// The upper bound of the first wait; it doubles each time and the wait is drawn evenly from zero to it.
    pub base: Duration,
    /// The longest wait between two attempts. If a cloud demands more, the result is [`cloud::Error::Throttled`] for the
    /// caller at once, so that no worker sleeps.
    pub longest_wait: Duration,
    /// How many retries all calls of a client together may have in hand. Each retry takes one and ten successes give one
    /// back, so that a cloud that is down is not hit several times as hard as one that works.
    pub budget: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 4,
            base: Duration::from_millis(200),
            longest_wait: Duration::from_secs(5),
            budget: 100,
        }
    }
}

/// How many requests a second.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// The steady rate.
    pub per_second: f64,
    /// How many may go at once after a quiet time; at least 1.
    pub burst: u32,
}
