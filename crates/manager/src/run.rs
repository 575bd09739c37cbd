//! Runs the manager: from options to a clean stop.
//!
//! [`run()`] serves the secure port from the start, waits for the leadership, starts the controllers, and stops in this order: it
//! accepts no more work, finishes the work in progress, releases the lease, closes the port.

mod catalogue;
mod credentials;
mod election;
mod listeners;
mod live;
pub(crate) mod process;
mod secure_port;
pub(crate) mod supervisor;

pub use catalogue::register_metrics;
pub use process::Provide;

use crate::{Options, Setup};
use listeners::Listeners;
use live::{First, Following};
use process::Process;
use runtime::serve::SetVerbosity;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// How long a cloud has to end its sessions.
const CLOSING: Duration = Duration::from_secs(2);

/// The program around the manager.
pub struct Program<'a> {
    /// The name of the program.
    pub name: &'a str,
    /// Creates the provider.
    pub setup: &'a dyn Setup,
    /// Sets the verbosity of the log.
    pub verbosity: SetVerbosity,
}

/// Runs until a signal stops it.
///
/// # Errors
/// One sentence: why it could not start, or had to stop.
pub async fn run(options: Options, program: Program<'_>) -> Result<(), String> {
    let stop = runtime::signals::stop().map_err(|error| error.to_string())?;
    let process = Process::start(options, &program)?;
    let port = secure_port::open(&process, &program)?;
    let listeners = Listeners::open(&process.checks, &process.metrics, &program.setup.listeners())?;
    let mut following = live::follow(&process)?;
    let ended = lead(&process, following.as_mut(), &stop).await;
    if let Some(following) = following {
        following.stop().await;
    }
    close(&process).await;
    process.flush().await;
    listeners.close().await;
    port.close().await;
    ended
}

/// Ends the sessions of the cloud. One that does not answer does not delay the stop.
async fn close(process: &Process) {
    if let Some(live) = process.provider.live()
        && tokio::time::timeout(CLOSING, live.close()).await.is_err()
    {
        warn!("the cloud did not end its sessions in time");
    }
}

/// Leads once the cloud has accepted its configuration, for as long as the configuration is watched.
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
