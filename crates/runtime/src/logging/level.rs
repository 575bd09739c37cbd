//! The verbosity from which on an event is logged.

use crate::flags::{Value, quote};
use tracing::Metadata;

/// klog's verbosity: 0 and up; a higher one logs more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub u32);

/// Dependencies that log; every other target is our own code.
const DEPENDENCIES: [&str; 17] = [
    "axum",
    "h2",
    "hyper",
    "hyper_rustls",
    "hyper_util",
    "kube",
    "kube_client",
    "kube_core",
    "kube_runtime",
    "log",
    "mio",
    "reqwest",
    "rustls",
    "tokio",
    "tokio_rustls",
    "tower",
    "tower_http",
];

/// Logs every failed request as an error, although the caller reports or retries it.
const NOISE: &str = "kube_client::client::builder";

impl Level {
    /// The verbosity from which on an event is logged; `None` if it never is.
    pub(super) fn of(event: &Metadata<'_>) -> Option<Self> {
        let level = *event.level();
        let v = match event.target() {
            target if target.starts_with(NOISE) => Some(8),
            target if is_dependency(target) => of_dependency(level),
            _ => Some(of_own(level)),
        };
        v.map(Self)
    }
}

fn of_own(level: tracing::Level) -> u32 {
    match level {
        tracing::Level::TRACE => 6,
        tracing::Level::DEBUG => 4,
        _ => 0,
    }
}

fn of_dependency(level: tracing::Level) -> Option<u32> {
    match level {
        tracing::Level::ERROR => Some(0),
        tracing::Level::WARN => Some(4),
        tracing::Level::TRACE => None,
        _ => Some(8),
    }
}

pub(super) fn is_dependency(target: &str) -> bool {
    let root = target.split("::").next().unwrap_or(target);
    DEPENDENCIES.contains(&root)
}

impl Value for Level {
    fn kind(&self) -> &'static str {
        "Level"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        for text in given {
            let number = text.parse().ok().filter(|number| i32::try_from(*number).is_ok());
            self.0 = number.ok_or_else(|| format!("{} is not a verbosity between 0 and 2147483647", quote(text)))?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.0.to_string()
    }
}
