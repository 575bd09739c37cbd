//! Logs as Kubernetes components write them: klog's text or component-base's JSON, and `-v`.
//!
//! Start with [`init`]; all other code uses `tracing`. How `tracing` maps to klog:
//!
//! | written as | severity | logged from |
//! |---|---|---|
//! | `error!` | `E` | `-v=0` |
//! | `warn!` | `W` | `-v=0` |
//! | `info!` | `I` | `-v=0` |
//! | `info!(v = 2, …)` | `I` | the number given, here `-v=2` |
//! | `debug!` | `I` | `-v=4` |
//! | `trace!` | `I` | `-v=6` |
//! | a dependency's error, except those our code reports | `E` | `-v=0` |
//! | a dependency's warning | `W` | `-v=4` |
//! | a dependency's info and debug | `I` | `-v=8` |
//! | a dependency's trace | | never: it could contain request headers |
//!
//! Fields become `key="value"`, those of the surrounding spans first. The field `error` (or `err`) becomes klog's
//! `err`; an `&dyn Error` given as a field is printed with its chain of sources. The field `plain = true` makes a line
//! of only the message, as klog's `Infof` does.

mod fields;
mod json;
mod layer;
mod level;
mod options;
mod sink;
mod text;

pub use layer::{Handle, Klog};
pub use level::Level;
pub use options::{Format, GATES, Options, Routing};
pub use sink::Sink;

use crate::feature_gates::FeatureGates;
use std::{error::Error as StdError, fmt};
use tracing::{info, subscriber::SetGlobalDefaultError, warn};
use tracing_subscriber::{Registry, layer::SubscriberExt};

/// Starts logging for the whole process, and returns the handle that changes the verbosity later. Call it once, directly after
/// parsing flags.
///
/// # Errors
/// If the process already has a logger.
pub fn init(options: &Options) -> Result<Handle, SetGlobalDefaultError> {
    let (layer, handle) = Klog::new(options, Sink::console(options.routing().split_stream));
    tracing::subscriber::set_global_default(Registry::default().with(layer))?;
    Ok(handle)
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

/// An error followed by its sources: `a: b: c`.
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
