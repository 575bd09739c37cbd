//! Runs the manager: from options to a clean stop.
//!
//! [`run()`] serves the secure port from the first moment, waits until it may lead, starts the controllers, and stops
//! them again in order: intake first, then what is under way, then the lease, then the port.

mod credentials;
pub(crate) mod crew;
mod election;
pub(crate) mod process;
mod secure_port;
mod signals;

pub use process::Provide;

use crate::Options;
use process::Process;
use runtime::serve::SetVerbosity;
use std::sync::Arc;

/// Makes the provider that was asked for; an error is one sentence.
pub type MakeProvider = dyn Fn(&Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String>;

/// What the program around the manager brings along.
pub struct Program<'a> {
    /// As what it was started.
    pub name: &'a str,
    /// Makes the provider.
    pub provide: &'a MakeProvider,
    /// Sets the verbosity of the log.
    pub verbosity: SetVerbosity,
}

/// Runs until a signal asks to stop.
///
/// # Errors
/// One sentence: why it could not start, or had to end.
pub async fn run(options: Options, program: Program<'_>) -> Result<(), String> {
    let stop = signals::stop()?;
    let process = Process::start(options, &program)?;
    let port = secure_port::open(&process, &program)?;
    let ended = election::lead(&process, &stop).await;
    process.flush().await;
    port.close().await;
    ended
}
