//! A leader: renews its lease until it stops or loses it.

use super::{
    Params,
    core::{Attempt, Core, Held},
    decision::View,
    store::{Error, Limit},
};
use std::{future::Future, sync::Arc};
use tokio::{sync::watch, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// This replica has lost its leadership without being stopped. Its fence is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("lost lease {lease}: {reason}")]
pub struct Lost {
    lease: String,
    reason: String,
}

/// The lease was not released; the next leader has to wait until it expires.
#[derive(Debug, thiserror::Error)]
#[error("could not release lease {lease}: {reason}")]
pub struct NotReleased {
    lease: String,
    reason: String,
}

/// The leadership of this replica. Dropping it stops the renewals and closes the fence; the lease then expires.
#[derive(Debug)]
pub struct Leadership {
    core: Arc<Core>,
    stop: CancellationToken,
    term: watch::Receiver<Term>,
    task: JoinHandle<Option<Held>>,
}

#[derive(Debug, Clone)]
enum Term {
    Going,
    Stopped,
    Lost(Lost),
}

impl Leadership {
    pub(super) fn start(core: Arc<Core>, view: View, held: Held) -> Self {
        let Params { identity, .. } = &core.params;
        tracing::info!(lease = %core.params, %identity, "successfully acquired lease");
        core.announce(held.lease(), "became leader");
        core.metrics.leading();
        extend(&core, &held);
        let stop = CancellationToken::new();
        let (sender, term) = watch::channel(Term::Going);
        let task = tokio::spawn(run(core.clone(), view, held, stop.clone(), sender));
        Self { core, stop, term, task }
    }

    /// Resolves when this replica has lost the lease: it was not renewed in time, or another replica holds it. Never resolves
    /// after [`Self::release`].
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + use<> {
        let mut term = self.term.clone();
        let lease = self.core.params.to_string();
        async move {
            let end = term
                .wait_for(|term| !matches!(term, Term::Going))
                .await
                .map(|term| term.clone());
            match end {
                Ok(Term::Lost(lost)) => lost,
                Ok(Term::Going | Term::Stopped) => std::future::pending().await,
                Err(_) => Lost {
                    lease,
                    reason: "it is not renewed any more".into(),
                },
            }
        }
    }

    /// Closes the fence and releases the lease, so that a standby leads at once. Everything that writes must have stopped
    /// before.
    ///
    /// # Errors
    /// If the request failed, or the lease was lost before.
    pub async fn release(mut self) -> Result<(), NotReleased> {
        self.stop.cancel();
        let lease = self.core.params.to_string();
        let Ok(Some(held)) = (&mut self.task).await else {
            return Err(NotReleased {
                lease,
                reason: "it was lost before".into(),
            });
        };
        match self.core.release(held).await {
            Ok(free) => {
                tracing::info!(lease, "released lease");
                if let Some(free) = free {
                    self.core.announce(&free, "stopped leading");
                }
                Ok(())
            }
            Err(error) => Err(NotReleased {
                lease,
                reason: error.to_string(),
            }),
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        self.core.fence.close();
        self.task.abort();
    }
}

/// Ends the leadership when the renewals end, also by a panic.
struct Guard(Arc<Core>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fence.close();
        self.0.metrics.not_leading();
        self.0.status.not_leading();
    }
}

/// Renews until it is stopped, which releases the lease, or until the lease is lost.
async fn run(
    core: Arc<Core>,
    mut view: View,
    mut held: Held,
    stop: CancellationToken,
    term: watch::Sender<Term>,
) -> Option<Held> {
    let guard = Guard(core.clone());
    let end = tokio::select! {
        biased;
        () = stop.cancelled() => Term::Stopped,
        lost = keep(&core, &mut view, &mut held) => Term::Lost(lost),
    };
    drop(guard);
    let held = matches!(end, Term::Stopped).then_some(held);
    term.send_replace(end);
    held
}

/// Renews every retry period, until that fails.
async fn keep(core: &Core, view: &mut View, held: &mut Held) -> Lost {
    loop {
        tokio::time::sleep_until((Instant::now() + core.params.retry_period).min(held.until)).await;
        // A process that was suspended for long notices here that its lease has expired, before it sends a request.
        if Instant::now() >= held.until {
            return lost(
                core,
                format!("it was not renewed within {:?}", core.params.renew_deadline),
            );
        }
        match renew(core, view, held).await {
            Ok(Attempt::Acquired(renewed)) => {
                *held = renewed;
                extend(core, held);
                core.status.worked();
            }
            Ok(Attempt::HeldByOther) => return lost(core, format!("{:?} has it", view.holder())),
            Err(error) => core.status.failed(error.to_string()),
        }
    }
}

async fn renew(core: &Core, view: &mut View, held: &Held) -> Result<Attempt, Error> {
    match core.renew(held).await {
        Ok(held) => Ok(Attempt::Acquired(held)),
        Err(Error::TooLate) => Err(Error::TooLate),
        Err(error) => {
            tracing::debug!(lease = %core.params, %error, "could not renew the lease at once; reading it first");
            core.attempt(view, Limit::Until(held.until)).await
        }
    }
}

fn extend(core: &Core, held: &Held) {
    core.fence.allow_until(held.until.into_std());
    core.status.renewed(held.since);
}

fn lost(core: &Core, reason: String) -> Lost {
    Lost {
        lease: core.params.to_string(),
        reason,
    }
}
