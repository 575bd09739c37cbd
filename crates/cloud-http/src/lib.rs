//! The one way to talk to a cloud over HTTP.
//!
//! Read [`Client`] first, then [`Request`]. A provider builds one [`Client`] from a [`Config`], a [`cloud::Gate`] and
//! [`Metrics`], and every call of it then has a deadline, retries only what may be repeated, obeys `Retry-After`, keeps to
//! the limits, never prints a secret, and is counted as `cloud_api_*`.
//!
//! ```no_run
//! # use cloud_http::{Client, Config, Metrics, Request, Url};
//! # #[derive(serde::Deserialize)] struct Server { id: String }
//! # async fn example(base: Url, gate: cloud::Gate, metrics: Metrics) -> cloud::Result<()> {
//! let client = Client::new(&Config::default(), gate, &metrics)?;
//! let request = Request::get("get_server", &base).path(["servers", "42"]).about("server 42");
//! let server: Option<Server> = client.find_json(request).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Nothing is global and nothing runs in the background: dropping a call cancels it.

mod attempt;
mod auth;
mod call;
mod client;
mod config;
mod environment;
mod failure;
mod fault;
mod limit;
pub mod login;
mod metrics;
mod pages;
mod redact;
mod request;
mod response;
mod retry;
mod retry_after;
mod transport;

pub use auth::{Auth, Authorized, Credentials};
pub use client::Client;
pub use config::{Config, Proxy, Rate, Retries, Trust};
pub use failure::Failure;
pub use fault::{Fault, Reach, Reason};
pub use metrics::Metrics;
pub use metrics_registry::Register;
pub use outbound::{Environment, Thumbprint};
pub use pages::{Next, PagingError};
pub use request::{Idempotency, Request};
pub use reqwest::Url;
pub use response::{DecodeError, Envelope, Response};

pub use bytes;
pub use http;
