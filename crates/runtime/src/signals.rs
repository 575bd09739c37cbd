//! SIGTERM and SIGINT: the first one stops the process gracefully, the second one at once.

use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The exit code of an interrupted process.
const INTERRUPTED: i32 = 130;

/// `timeout` and some supervisors signal the process and then its group: that is one request, not two.
const ECHO: Duration = Duration::from_millis(250);

/// The process cannot receive signals.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for signals: {0}")]
pub struct Error(#[from] std::io::Error);

/// A token that is cancelled by the first signal.
///
/// # Errors
/// If the process cannot receive signals.
pub fn stop() -> Result<CancellationToken, Error> {
    let mut first = Signals::new()?;
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        first.next().await;
        info!("received a signal to stop; finishing the work in progress");
        cancelled.cancel();
        tokio::time::sleep(ECHO).await;
        // Signals before this moment are ignored.
        let Ok(mut second) = Signals::new() else { return };
        second.next().await;
        warn!("received a second signal to stop; exiting at once");
        std::process::exit(INTERRUPTED);
    });
    Ok(stop)
}

/// Both signals that stop the process.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens from now on.
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! { _ = self.terminate.recv() => {}, _ = self.interrupt.recv() => {} }
    }
}
