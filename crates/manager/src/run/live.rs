//! Watches the configuration of the cloud while the process runs: its files, and the objects of the cluster that it names.
//!
//! The controllers do not start before the cloud has accepted the configuration once. Later, a configuration that the cloud
//! rejects has no effect: the old one is kept until a valid one is available. If the cloud rejects the current credentials, they
//! are read again at once: they may have changed before the watch reports it.

mod source;
#[cfg(test)]
mod tests;

use super::process::Process;
use cloud::{Live, LiveData, Provider};
use prometheus::{IntCounterVec, Opts};
use runtime::{
    events::{Kind, Recorder},
    health::Scope,
    metrics::Register,
};
use source::{Origin, Source};
use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash, Hasher},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often the files are checked: a mounted Secret is replaced by a symbolic link, which a file watch does not notice.
const LOOK: Duration = Duration::from_secs(5);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// Minimum time between two reads of the sources: with invalid credentials every request is rejected.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(10);

/// Watches the configuration until dropped.
pub(super) struct Following {
    accepted: watch::Receiver<bool>,
    cancel: CancellationToken,
    tasks: JoinSet<()>,
}

/// Starts the watch, if the configuration can change at all.
///
/// # Errors
/// If the metrics are registered already.
pub(super) fn follow(process: &Process) -> Result<Option<Following>, String> {
    if process.provider.live().is_none() {
        return Ok(None);
    }
    let reloads = register(process.metrics.registry()).map_err(|error| format!("cannot register metrics: {error}"))?;
    let (accepted, receiver) = watch::channel(false);
    let (problem, current) = watch::channel(Some("the cloud has not accepted the configuration yet".to_owned()));
    process.checks.add("cloud-config", Scope::Ready, move || {
        current.borrow().clone().map_or(Ok(()), Err)
    });
    let follower = Follower {
        provider: process.provider.clone(),
        client: process.clients.plain("cloud-config"),
        recorder: process.events.recorder(process.provider.event_source()),
        changed: Arc::default(),
        watch_refusals_from: Instant::now(),
        sources: Vec::new(),
        reloads,
        accepted,
        problem,
        reloaded: process.reloaded.clone(),
    };
    let cancel = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let stop = cancel.clone();
    tasks.spawn(async move {
        let run = Box::pin(stop.run_until_cancelled_owned(follower.run()));
        run.await.unwrap_or_default();
    });
    Ok(Some(Following {
        accepted: receiver,
        cancel,
        tasks,
    }))
}

/// What happened first: the cloud accepted the configuration, or the process stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Accepted,
    Stop,
}

impl Following {
    /// Waits until the cloud has accepted the configuration once, or the process stops.
    ///
    /// # Errors
    /// If the watch has ended.
    pub(super) async fn accepted(&mut self, stop: &CancellationToken) -> Result<First, String> {
        let wait = self.accepted.wait_for(|accepted| *accepted);
        let accepted = stop.run_until_cancelled(wait).await;
        match accepted.map(|accepted| accepted.is_ok()) {
            None => Ok(First::Stop),
            Some(true) => Ok(First::Accepted),
            Some(false) => Err(self.ended().await),
        }
    }

    /// Runs this work to its end. If the watch ends, the work is stopped, because changes would not be noticed.
    ///
    /// # Errors
    /// The error of the work, or that the watch has ended.
    pub(super) async fn beside(
        &mut self,
        work: impl Future<Output = Result<(), String>>,
        stop: &CancellationToken,
    ) -> Result<(), String> {
        tokio::pin!(work);
        tokio::select! {
            ended = &mut work => ended,
            why = self.ended() => {
                stop.cancel();
                work.await.and(Err(why))
            }
        }
    }

    /// Resolves when the watch ends unexpectedly.
    async fn ended(&mut self) -> String {
        let what = "the watch on the configuration of the cloud";
        match self.tasks.join_next().await {
            Some(Err(error)) => format!("{what} failed: {error}"),
            Some(Ok(())) | None => format!("{what} ended"),
        }
    }

    /// Stops the watch.
    pub(super) async fn stop(mut self) {
        self.cancel.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

pub(super) fn register(registry: &dyn Register) -> prometheus::Result<IntCounterVec> {
    let help = "Number of changes of the configuration of the cloud, by whether the cloud accepted it.";
    let opts = Opts::new("cloud_config_reloads_total", help);
    registry.add(IntCounterVec::new(opts, &["outcome"]))
}

struct Follower {
    provider: Arc<dyn Provider>,
    client: kube::Client,
    recorder: Recorder,
    /// A source has changed.
    changed: Arc<Notify>,
    /// From when on a rejection of the credentials counts.
    watch_refusals_from: Instant,
    sources: Vec<Source>,
    reloads: IntCounterVec,
    accepted: watch::Sender<bool>,
    /// Why no configuration was accepted yet.
    problem: watch::Sender<Option<String>>,
    /// The number of accepted configurations that differ from the one before.
    reloaded: watch::Sender<u64>,
}

impl Follower {
    async fn run(mut self) {
        let (mut origin, mut retry) = (Origin::Watch, FIRST_RETRY);
        let mut different = false;
        loop {
            let files = self.files().await;
            let limit = match self.reload(origin).await {
                Ok(()) => {
                    retry = FIRST_RETRY;
                    if std::mem::take(&mut different) {
                        self.reloaded.send_modify(|count| *count += 1);
                    }
                    None
                }
                Err(Refused::Again) => continue,
                Err(Refused::Because(reason)) => {
                    self.report(&reason);
                    let wait = retry;
                    retry = (retry * 2).min(LAST_RETRY);
                    Some(wait)
                }
            };
            match self.wake(files, limit).await {
                Woken::Changed => (origin, retry, different) = (Origin::Watch, FIRST_RETRY, true),
                Woken::Refused => {
                    self.watch_refusals_from = Instant::now() + BETWEEN_REFUSALS;
                    origin = Origin::Server;
                }
                Woken::TimeIsUp => {}
            }
        }
    }

    /// A configuration that names other sources than the last one is read again with those.
    async fn reload(&mut self, origin: Origin) -> Result<(), Refused> {
        let provider = self.provider.clone();
        let Some(live) = provider.live() else { return Ok(()) };
        let data = self.data(live, origin).await.map_err(Refused::Because)?;
        let warnings = live.reload(&data).await;
        let warnings = warnings.map_err(|error| Refused::Because(error.report()))?;
        if !live.sources().iter().eq(self.sources.iter().map(Source::which)) {
            return Err(Refused::Again);
        }
        for warning in warnings {
            warn!("{warning}");
        }
        info!("the cloud accepted the configuration");
        self.reloads.with_label_values(&["success"]).inc();
        self.problem.send_replace(None);
        self.accepted.send_replace(true);
        Ok(())
    }

    /// The data of the named sources, which are watched from now on.
    async fn data(&mut self, live: &dyn Live, origin: Origin) -> Result<LiveData, String> {
        let mut before = std::mem::take(&mut self.sources);
        let sources =
            live.sources().into_iter().map(
                |which| match before.iter().position(|source| *source.which() == which) {
                    Some(at) => before.swap_remove(at),
                    None => Source::new(which, self.client.clone(), self.changed.clone()),
                },
            );
        self.sources = sources.collect();
        let mut data = LiveData::default();
        for source in &mut self.sources {
            source.read(origin, &mut data).await?;
        }
        Ok(data)
    }

    fn report(&self, reason: &str) {
        self.reloads.with_label_values(&["failure"]).inc();
        if *self.accepted.borrow() {
            warn!(
                reason,
                "the configuration of the cloud is not usable; keeping the one in use"
            );
        } else {
            warn!(reason, "the configuration of the cloud is not usable; retrying");
            self.problem.send_replace(Some(reason.to_owned()));
        }
        for source in self.sources.iter().filter_map(Source::reference) {
            let message = format!("The configuration of the cloud is not usable: {reason}");
            self.recorder
                .event(source, Kind::Warning, "CloudConfigRefused", message);
        }
    }

    async fn files(&self) -> u64 {
        fingerprint(self.provider.live().map(Live::files).unwrap_or_default()).await
    }

    /// Waits for a reason to read the sources again, at most for this time.
    async fn wake(&self, files: u64, limit: Option<Duration>) -> Woken {
        let time_is_up = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.different(files) => Woken::Changed,
            () = self.refused() => Woken::Refused,
            () = time_is_up => Woken::TimeIsUp,
        }
    }

    /// Waits until the files or another source change.
    async fn different(&self, files: u64) {
        loop {
            let look = tokio::time::sleep(LOOK);
            tokio::select! { () = look => {}, () = self.changed.notified() => {} }
            if self.sources.iter().any(Source::has_news) || self.files().await != files {
                return;
            }
        }
    }

    /// Waits until the cloud rejects the current credentials, with a minimum time between two rejections.
    async fn refused(&self) {
        match self.provider.live() {
            Some(live) => live.refused().await,
            None => std::future::pending().await,
        }
        tokio::time::sleep_until(self.watch_refusals_from).await;
    }
}

/// Why a configuration did not take effect.
enum Refused {
    /// It names other sources, which must be read first.
    Again,
    /// It is not usable.
    Because(String),
}

/// Why to read the sources again.
enum Woken {
    /// They have changed.
    Changed,
    /// The cloud rejects the current credentials.
    Refused,
    /// The last attempt failed.
    TimeIsUp,
}

async fn fingerprint(files: Vec<PathBuf>) -> u64 {
    let read = move || {
        let mut hasher = DefaultHasher::new();
        for file in files {
            let contents = fs::read(&file).map_err(|error| error.kind().to_string());
            (file, contents).hash(&mut hasher);
        }
        hasher.finish()
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}
