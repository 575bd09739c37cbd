//! A candidate: waits for its turn.

use super::{
    Leadership, Metrics, Params, Status,
    core::{Core, Held, Look},
    decision::View,
    lookout::{self, Notice},
    record::Record,
    store::{Freshness, Limit, Store},
};
use crate::{events::Recorder, fence::Fence};
use futures::{StreamExt, stream::BoxStream};
use std::{ops::ControlFlow, sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How often a standby that may not watch the lease looks whether it is free. From the API server's memory, so that it
/// costs little; often enough for a takeover within a second.
const GLANCE: Duration = Duration::from_millis(500);

/// How long an attempt may go on after the candidate was told to stop, so that a lease won in that moment is given back.
const LAST_ATTEMPT: Duration = Duration::from_secs(1);

/// The parameters of an election that cannot be held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Invalid(pub Vec<String>);

/// A replica that wants to lead.
#[derive(Debug)]
pub struct Elector {
    core: Arc<Core>,
}

impl Elector {
    /// A candidate. `client` is best one of [`for_leases`](crate::client::Clients::for_leases), with
    /// [`Params::request_timeout`]; `fence` is open exactly as long as this replica is sure to lead; without a `recorder`
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

    /// What is known about this election. It stays valid while this replica leads.
    #[must_use]
    pub fn status(&self) -> Status {
        self.core.status.clone()
    }

    /// Waits until this replica leads. `None`: it was cancelled before, and does not hold the lease.
    ///
    /// It looks every retry period and when the holder's time is over, and watches the lease in between, so that a
    /// released lease is taken at once.
    pub async fn acquire(self, cancel: &CancellationToken) -> Option<Leadership> {
        let Params {
            identity,
            lease_duration,
            ..
        } = &self.core.params;
        tracing::info!(lease = %self.core.params, %identity, "attempting to acquire leader lease");
        let mut standby = Standby::new(View::new(identity, *lease_duration), &self.core);
        while !cancel.is_cancelled() {
            let look = tokio::select! {
                look = self.core.attempt(&mut standby.view, Limit::Usual) => look,
                () = after(cancel, LAST_ATTEMPT) => return None,
            };
            match look {
                Ok(Look::Ours(held)) => return self.start(standby.view, held, cancel).await,
                Ok(Look::Theirs) => {
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
            tracing::warn!(lease = %self.core.params, %error, "could not give back the lease; it has to run out");
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
    sight: Sight,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    Watching,
    Blind,
}

impl Standby {
    fn new(view: View, core: &Core) -> Self {
        let notices = lookout::watch(core.store.clone(), core.params.retry_period);
        Self {
            view,
            notices,
            sight: Sight::Watching,
        }
    }

    /// Waits until another attempt is worth it.
    async fn pause(&mut self, core: &Core) {
        let next = Instant::now() + core.params.pause();
        let glance = GLANCE.min(core.params.retry_period);
        loop {
            let wake = self
                .view
                .expiry()
                .filter(|expiry| *expiry > Instant::now())
                .map_or(next, |expiry| expiry.min(next));
            let step = tokio::select! {
                () = tokio::time::sleep_until(wake) => return,
                notice = self.notices.next() => self.note(notice, core),
                () = tokio::time::sleep(glance), if self.sight == Sight::Blind => glimpse(core).await,
            };
            if step.is_break() {
                return;
            }
        }
    }

    fn note(&mut self, notice: Option<Notice>, core: &Core) -> ControlFlow<()> {
        match notice {
            Some(Notice::Sighted) => self.sight = Sight::Watching,
            Some(Notice::Blind) | None => self.sight = Sight::Blind,
            Some(Notice::Gone) => return ControlFlow::Break(()),
            Some(Notice::Seen(record)) => {
                self.view.saw(&record, Instant::now());
                core.status.saw_leader(record.holder());
                return worth_trying(&record, core);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Looks whether the lease is free. Decides nothing else: what it sees may be old.
async fn glimpse(core: &Core) -> ControlFlow<()> {
    match core.store.find(Freshness::Cached, Limit::Usual).await {
        Ok(Some(lease)) => Record::of(&lease).map_or(ControlFlow::Continue(()), |record| worth_trying(&record, core)),
        Ok(None) => ControlFlow::Break(()),
        Err(error) => {
            tracing::debug!(lease = %core.params, %error, "could not look at the lease");
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
