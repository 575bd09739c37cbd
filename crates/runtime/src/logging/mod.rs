//! Logs as Kubernetes components write them: klog's text or component-base's JSON, `-v` and `--vmodule`.
//!
//! Start with [`init`]; everything else in the process just uses `tracing`. How `tracing` maps to klog:
//!
//! | written as | severity | shown from |
//! |---|---|---|
//! | `error!` | `E` | `-v=0` |
//! | `warn!` | `W` | `-v=0` |
//! | `info!` | `I` | `-v=0` |
//! | `info!(v = 2, …)` | `I` | the number given, here `-v=2` |
//! | `debug!` | `I` | `-v=4` |
//! | `trace!` | `I` | `-v=6` |
//! | a dependency's error, except those we report ourselves | `E` | `-v=0` |
//! | a dependency's warning | `W` | `-v=4` |
//! | a dependency's info and debug | `I` | `-v=8` |
//! | a dependency's trace | | never: it could show request headers |
//!
//! Fields become `key="value"`, those of the surrounding spans first. The field `error` (or `err`) becomes klog's
//! `err`; an `&dyn Error` given as a field is printed with its chain of sources. The field `plain = true` makes a line
//! of just the message, as klog's `Infof` does.

mod fields;
mod flusher;
mod glob;
mod json;
mod layer;
mod level;
mod local;
mod options;
mod sink;
mod text;

pub use layer::{Handle, Klog};
pub use level::{Level, VModule};
pub use options::{Format, GATES, Options, Routing};
pub use sink::Sink;

use crate::feature_gates::FeatureGates;
use flusher::Flusher;
use std::{error::Error as StdError, fmt, sync::Arc};
use tracing::{info, subscriber::SetGlobalDefaultError, warn};
use tracing_subscriber::{Registry, layer::SubscriberExt};

/// The logs of the process, from [`init`]. Keep it until the end: dropping it writes what is still buffered.
#[derive(Debug)]
pub struct Logs {
    handle: Handle,
    _flusher: Option<Flusher>,
}

impl Logs {
    /// To change the verbosity while running.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

/// Logs the whole process as the options say. Call once, first thing after parsing flags.
///
/// # Errors
/// If the process already has a logger.
pub fn init(options: &Options) -> Result<Logs, SetGlobalDefaultError> {
    let sink = Arc::new(Sink::console(options.routing()));
    let (layer, handle) = Klog::new(options, sink.clone());
    tracing::subscriber::set_global_default(Registry::default().with(layer))?;
    let buffered = options.routing().info_buffer.count() > 0;
    let flusher = buffered.then(|| Flusher::start(sink, options.flush_frequency.std()));
    Ok(Logs {
        handle,
        _flusher: flusher,
    })
}

/// Logs every flag and its value at verbosity 1, as Kubernetes components do at start.
pub fn flags(values: &[(&'static str, String)]) {
    for (name, value) in values {
        info!(v = 1, plain = true, "FLAG: --{name}={}", crate::flags::quote(value));
    }
}

/// Logs each sentence as a warning.
pub fn warnings(sentences: &[String], gates: &FeatureGates) {
    for sentence in sentences.iter().chain(&gates.warnings()) {
        warn!(plain = true, "{sentence}");
    }
}

/// An error followed by what caused it: `a: b: c`.
pub fn chain<'e>(error: &'e (dyn StdError + 'static)) -> impl fmt::Display + 'e {
    fmt::from_fn(move |out| {
        write!(out, "{error}")?;
        let mut cause = error.source();
        while let Some(error) = cause {
            write!(out, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
