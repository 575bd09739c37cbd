//! A candidate: waits until it can acquire the lease.

use super::{
    Leadership, Metrics, Params, Status,
    core::{Attempt, Core, Held},
    decision::View,
    record::Record,
    store::{Freshness, Limit, Store},
    watch::{self, Notice},
};
use crate::{events::Recorder, fence::Fence};
use futures::{StreamExt, stream::BoxStream};
use std::{ops::ControlFlow, sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How often a standby without the permission to watch reads the lease. The read is from the cache of the API server, so that
/// it is cheap; often enough for a takeover within a second.
const CACHED_READS: Duration = Duration::from_millis(500);

/// How long an attempt may continue after a cancel, so that a lease acquired at that moment is released.
const LAST_ATTEMPT: Duration = Duration::from_secs(1);

/// The parameters of an election are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Invalid(pub Vec<String>);

/// A candidate.
#[derive(Debug)]
pub struct Elector {
    core: Arc<Core>,
}

impl Elector {
    /// A candidate. `client` should be one of [`for_leases`](crate::client::Clients::for_leases), with
    /// [`Params::request_timeout`]; `fence` is open exactly as long as this replica certainly leads; without a `recorder`
    /// there are no events.
    ///
    /// # Errors
    /// If the parameters are not valid.
    pub fn new(
        client: kube::Client,
        params: Params,
        fence: Fence,
        metrics: &Metrics,
        recorder: Option<Recorder>,
    ) -> Result<Self, Invalid> {
        let problems = params.validate();
        if !problems.is_empty() {
            return Err(Invalid(problems));
        }
        fence.close();
        let metrics = metrics.of(&params.name);
        metrics.not_leading();
        let status = Status::new(&params);
        let store = Store::new(client, &params);
        Ok(Self {
            core: Arc::new(Core {
                store,
                params,
                fence,
                metrics,
                recorder,
                status,
            }),
        })
    }

    /// The status of this election. It remains valid while this replica leads.
    #[must_use]
    pub fn status(&self) -> Status {
        self.core.status.clone()
    }

    /// Waits until this replica leads. `None` if it was cancelled before; then it does not hold the lease.
    ///
    /// It tries every retry period and when the lease expires, and watches the lease in between, so that a released lease is
    /// acquired at once.
    pub async fn acquire(self, cancel: &CancellationToken) -> Option<Leadership> {
        let Params {
            identity,
            lease_duration,
            ..
        } = &self.core.params;
        tracing::info!(lease = %self.core.params, %identity, "attempting to acquire leader lease");
        let mut standby = Standby::new(View::new(identity, *lease_duration), &self.core);
        while !cancel.is_cancelled() {
            let attempt = tokio::select! {
                attempt = self.core.attempt(&mut standby.view, Limit::Usual) => attempt,
                () = after(cancel, LAST_ATTEMPT) => return None,
            };
            match attempt {
                Ok(Attempt::Acquired(held)) => return self.start(standby.view, held, cancel).await,
                Ok(Attempt::HeldByOther) => {
                    self.core.status.worked();
                    tokio::select! { () = standby.pause(&self.core) => {}, () = cancel.cancelled() => {} }
                }
                Err(error) => {
                    self.core.status.failed(error.to_string());
                    let pause = tokio::time::sleep(self.core.params.pause());
                    tokio::select! { () = pause => {}, () = cancel.cancelled() => {} }
                }
            }
        }
        None
    }

    async fn start(self, view: View, held: Held, cancel: &CancellationToken) -> Option<Leadership> {
        self.core.status.worked();
        if !cancel.is_cancelled() {
            return Some(Leadership::start(self.core, view, held));
        }
        if let Err(error) = self.core.release(held).await {
            tracing::warn!(lease = %self.core.params, %error, "could not release the lease; it has to expire");
        }
        None
    }
}

async fn after(cancel: &CancellationToken, time: Duration) {
    cancel.cancelled().await;
    tokio::time::sleep(time).await;
}

/// A candidate between two attempts.
struct Standby {
    view: View,
    notices: BoxStream<'static, Notice>,
    watch: WatchState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WatchState {
    Open,
    Closed,
}

impl Standby {
    fn new(view: View, core: &Core) -> Self {
        let notices = watch::watch(core.store.clone(), core.params.retry_period);
        Self {
            view,
            notices,
            watch: WatchState::Open,
        }
    }

    /// Waits until another attempt can succeed.
    async fn pause(&mut self, core: &Core) {
        let next = Instant::now() + core.params.pause();
        let interval = CACHED_READS.min(core.params.retry_period);
        loop {
            let wake = self
                .view
                .expiry()
                .filter(|expiry| *expiry > Instant::now())
                .map_or(next, |expiry| expiry.min(next));
            let step = tokio::select! {
                () = tokio::time::sleep_until(wake) => return,
                notice = self.notices.next() => self.handle(notice, core),
                () = tokio::time::sleep(interval), if self.watch == WatchState::Closed => read_cached(core).await,
            };
            if step.is_break() {
                return;
            }
        }
    }

    fn handle(&mut self, notice: Option<Notice>, core: &Core) -> ControlFlow<()> {
        match notice {
            Some(Notice::Open) => self.watch = WatchState::Open,
            Some(Notice::Closed) | None => self.watch = WatchState::Closed,
            Some(Notice::Deleted) => return ControlFlow::Break(()),
            Some(Notice::Changed(record)) => {
                self.view.observe(&record, Instant::now());
                core.status.observed_leader(record.holder());
                return worth_trying(&record, core);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Reads whether the lease is free. Decides nothing else: the result may be out of date.
async fn read_cached(core: &Core) -> ControlFlow<()> {
    match core.store.find(Freshness::Cached, Limit::Usual).await {
        Ok(Some(lease)) => Record::of(&lease).map_or(ControlFlow::Continue(()), |record| worth_trying(&record, core)),
        Ok(None) => ControlFlow::Break(()),
        Err(error) => {
            tracing::debug!(lease = %core.params, %error, "could not read the lease");
            tokio::time::sleep(core.params.retry_period).await;
            ControlFlow::Break(())
        }
    }
}

fn worth_trying(record: &Record, core: &Core) -> ControlFlow<()> {
    if record.is_free() || record.holder() == core.params.identity {
        return ControlFlow::Break(());
    }
    ControlFlow::Continue(())
}
