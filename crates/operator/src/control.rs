//! The control loop: one pass after another, until it is stopped.

use crate::{
    clients::Clients,
    monitoring::{Ended, Metrics},
    retry,
};
use runtime::health::Pulse;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How often the operator's own files are read.
const FILES: Duration = Duration::from_secs(5);
/// The longest time between two passes, also if nothing changes. Certificates are renewed then, too.
const RESYNC: Duration = Duration::from_mins(10);
/// A pass that takes longer than this hangs.
const HANGS: Duration = Duration::from_mins(5);

/// What is reconciled in a pass. A pass may be interrupted at any `await`; the next one continues from there.
pub(crate) trait Reconcile {
    /// The name of the controller in the metrics.
    const CONTROLLER: &'static str;

    /// Reads the operator's own files.
    fn read_files(&mut self) -> FileChange;

    /// One pass. It marks `pulse` after each part that may take long.
    async fn pass(&mut self, pulse: &Pulse) -> Next;
}

/// Whether files have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileChange {
    Changed,
    Unchanged,
}

/// When the next pass is due although nothing changes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next {
    /// After this time.
    pub(crate) again: Option<Duration>,
    /// Whether something failed and has to be retried.
    pub(crate) retry: Retry,
}

/// Whether a pass has to be retried.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// Something failed: with back-off.
    WithBackOff,
    #[default]
    No,
}

impl Next {
    /// A failure.
    pub(crate) const FAILED: Self = Self {
        again: None,
        retry: Retry::WithBackOff,
    };

    /// The earlier of both.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            again: [self.again, other.again].into_iter().flatten().min(),
            retry: match (self.retry, other.retry) {
                (Retry::No, Retry::No) => Retry::No,
                _ => Retry::WithBackOff,
            },
        }
    }

    fn ended(self) -> Ended {
        match (self.retry, self.again) {
            (Retry::WithBackOff, _) => Ended::Error,
            (Retry::No, Some(_)) => Ended::RequeueAfter,
            (Retry::No, None) => Ended::Success,
        }
    }

    fn pause(self, failures: u32) -> Duration {
        let back_off = (self.retry == Retry::WithBackOff).then(|| retry::pause(failures));
        [self.again, back_off].into_iter().flatten().fold(RESYNC, Duration::min)
    }
}

/// Runs passes of a reconciler.
pub(crate) struct Loop<R> {
    reconciler: R,
    changed: Arc<Notify>,
    pulse: Pulse,
    metrics: Metrics,
    /// When the files were read.
    read: Instant,
}

impl<R: Reconcile> Loop<R> {
    /// Nothing is read or written yet. A notification of `changed` starts the next pass.
    pub(crate) fn new(reconciler: R, changed: Arc<Notify>, clients: &Clients) -> Self {
        Self {
            reconciler,
            changed,
            pulse: Pulse::default(),
            metrics: clients.metrics.clone(),
            read: Instant::now(),
        }
    }

    /// A health check that fails if a pass does not end.
    pub(crate) fn liveness(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<R> {
        let pulse = self.pulse.clone();
        move || pulse.stuck(HANGS)
    }

    /// Runs until it is stopped.
    pub(crate) async fn run(&mut self, stop: &CancellationToken) {
        // Only a loop that runs has metrics.
        let passes = self.metrics.controller(R::CONTROLLER);
        let mut failures = 0;
        loop {
            self.pulse.begin();
            // Also in a cluster in which something changes all the time.
            self.read_files();
            let pass = passes.begin();
            let passing = Box::pin(self.reconciler.pass(&self.pulse));
            let Some(next) = stop.run_until_cancelled(passing).await else {
                return;
            };
            self.pulse.success();
            pass.end(next.ended());
            failures = match next.retry {
                Retry::WithBackOff => failures + 1,
                Retry::No => 0,
            };
            if stop
                .run_until_cancelled(self.wait(next.pause(failures)))
                .await
                .is_none()
            {
                return;
            }
        }
    }

    /// Waits until something changes, at most for this time.
    async fn wait(&mut self, longest: Duration) {
        let mut until = std::pin::pin!(tokio::time::sleep(longest));
        loop {
            tokio::select! {
                () = self.changed.notified() => return,
                () = &mut until => return,
                () = tokio::time::sleep(FILES.saturating_sub(self.read.elapsed())) => {
                    if self.read_files() == FileChange::Changed {
                        return;
                    }
                }
            }
        }
    }

    fn read_files(&mut self) -> FileChange {
        if self.read.elapsed() < FILES {
            return FileChange::Unchanged;
        }
        self.read = Instant::now();
        self.reconciler.read_files()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const MINUTE: Duration = Duration::from_mins(1);

    #[rstest]
    #[case::nothing_to_do(Next::default(), 0, RESYNC, Ended::Success)]
    #[case::soon(Next { again: Some(MINUTE), retry: Retry::No }, 0, MINUTE, Ended::RequeueAfter)]
    #[case::failed(Next::FAILED, 1, retry::pause(1), Ended::Error)]
    #[case::failed_often(Next::FAILED, 100, retry::pause(100), Ended::Error)]
    #[case::before_the_back_off(
        Next { again: Some(Duration::from_secs(1)), retry: Retry::WithBackOff },
        100,
        Duration::from_secs(1),
        Ended::Error
    )]
    fn the_next_pass_is_due(#[case] next: Next, #[case] failures: u32, #[case] pause: Duration, #[case] ended: Ended) {
        assert_eq!((next.pause(failures), next.ended()), (pause, ended));
    }

    #[test]
    fn the_earlier_of_two_counts() {
        let soon = Next {
            again: Some(MINUTE),
            retry: Retry::No,
        };
        assert_eq!(soon.or(Next::default()), soon);
        let both = Next {
            again: Some(MINUTE),
            retry: Retry::WithBackOff,
        };
        assert_eq!(Next::FAILED.or(soon), both);
    }
}
