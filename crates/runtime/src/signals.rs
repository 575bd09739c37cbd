//! SIGTERM and SIGINT: the first one asks to stop, the second one insists.

use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// As a shell reports a process that was interrupted.
const INSISTED: i32 = 130;

/// `timeout` and some supervisors signal the process and then its group: that is one request, not two.
const ECHO: Duration = Duration::from_millis(250);

/// A token that is cancelled by the first signal.
///
/// # Errors
/// If signals cannot be listened for.
pub fn stop() -> Result<CancellationToken, String> {
    let failed = |error| format!("cannot listen for signals: {error}");
    let mut first = Signals::new().map_err(failed)?;
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        first.next().await;
        info!("asked to stop; finishing what is under way");
        cancelled.cancel();
        tokio::time::sleep(ECHO).await;
        // What came before this has been forgotten.
        let Ok(mut second) = Signals::new() else { return };
        second.next().await;
        warn!("asked to stop again; ending at once");
        std::process::exit(INSISTED);
    });
    Ok(stop)
}

/// Both signals that ask to stop.
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
