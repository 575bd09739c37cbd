//! Runs the manager: from options to a clean stop.
//!
//! [`run()`] serves the secure port from the first moment, waits until it may lead, starts the controllers, and stops
//! them again in order: intake first, then what is under way, then the lease, then the port.

mod catalogue;
mod credentials;
pub(crate) mod crew;
mod election;
mod listeners;
mod live;
pub(crate) mod process;
mod secure_port;

pub use catalogue::register_metrics;
pub use process::Provide;

use crate::{Options, Setup};
use listeners::Listeners;
use live::{First, Following};
use process::Process;
use runtime::serve::SetVerbosity;
use tokio_util::sync::CancellationToken;

/// What the program around the manager brings along.
pub struct Program<'a> {
    /// As what it was started.
    pub name: &'a str,
    /// Creates the provider.
    pub setup: &'a dyn Setup,
    /// Sets the verbosity of the log.
    pub verbosity: SetVerbosity,
}

/// Runs until a signal asks to stop.
///
/// # Errors
/// One sentence: why it could not start, or had to end.
pub async fn run(options: Options, program: Program<'_>) -> Result<(), String> {
    let stop = runtime::signals::stop()?;
    let process = Process::start(options, &program)?;
    let port = secure_port::open(&process, &program)?;
    let listeners = Listeners::open(&process.checks, &process.metrics, &program.setup.listeners())?;
    let mut following = live::follow(&process)?;
    let ended = lead(&process, following.as_mut(), &stop).await;
    if let Some(following) = following {
        following.stop().await;
    }
    process.flush().await;
    listeners.close().await;
    port.close().await;
    ended
}

/// Leads once the cloud has accepted its configuration, for as long as somebody follows that.
async fn lead(process: &Process, following: Option<&mut Following>, stop: &CancellationToken) -> Result<(), String> {
    let Some(following) = following else {
        return election::lead(process, stop).await;
    };
    match following.accepted(stop).await? {
        First::Stop => Ok(()),
        First::Accepted => {
            let stop = stop.child_token();
            following.beside(Box::pin(election::lead(process, &stop)), &stop).await
        }
    }
}
