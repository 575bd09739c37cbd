//! Follows the configuration of the cloud while the process runs: its files, and the Secret that it names.
//!
//! Nothing is led before the cloud has accepted the configuration once. Later a configuration that the cloud does not
//! accept changes nothing: the old one stays until a better one comes.

use super::process::Process;
use cloud::{Live, Provider, SecretData, SecretRef};
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::{Api, ResourceExt, runtime::watcher};
use prometheus::{IntCounterVec, Opts, Registry};
use runtime::{
    events::{Kind, Recorder},
    health::Scope,
    informer::{Informer, State, Store},
};
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
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often the files are looked at: a mounted Secret is swapped by a link, which no watch of a file sees.
const LOOK: Duration = Duration::from_secs(5);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// Follows the configuration until dropped.
pub(super) struct Following {
    accepted: watch::Receiver<bool>,
    cancel: CancellationToken,
    tasks: JoinSet<()>,
}

/// Starts to follow, if the configuration can change at all.
///
/// # Errors
/// If the metrics are registered already.
pub(super) fn follow(process: &Process) -> Result<Option<Following>, String> {
    if process.provider.live().is_none() {
        return Ok(None);
    }
    let reloads = register(process.metrics.registry()).map_err(|error| format!("cannot register metrics: {error}"))?;
    let (accepted, receiver) = watch::channel(false);
    let (problem, told) = watch::channel(Some("the cloud has not been asked yet".to_owned()));
    process.checks.add("cloud-config", Scope::Ready, move || {
        told.borrow().clone().map_or(Ok(()), Err)
    });
    let follower = Follower {
        provider: process.provider.clone(),
        secrets: process.clients.plain("cloud-config"),
        recorder: process.events.recorder(process.provider.event_source()),
        changed: Arc::default(),
        secret: None,
        reloads,
        accepted,
        problem,
    };
    let cancel = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let stop = cancel.clone();
    tasks.spawn(async move { follower.run(stop).await });
    Ok(Some(Following {
        accepted: receiver,
        cancel,
        tasks,
    }))
}

impl Following {
    /// Waits until the cloud has accepted the configuration once; `false` if asked to stop before.
    pub(super) async fn accepted(&mut self, stop: &CancellationToken) -> bool {
        let accepted = self.accepted.wait_for(|accepted| *accepted);
        matches!(stop.run_until_cancelled(accepted).await, Some(Ok(_)))
    }

    /// Ends it.
    pub(super) async fn stop(mut self) {
        self.cancel.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

fn register(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let help = "Number of times that a changed configuration of the cloud was read, by whether the cloud accepted it.";
    let counter = IntCounterVec::new(Opts::new("cloud_config_reloads_total", help), &["outcome"])?;
    registry.register(Box::new(counter.clone()))?;
    Ok(counter)
}

struct Follower {
    provider: Arc<dyn Provider>,
    secrets: kube::Client,
    recorder: Recorder,
    /// The Secret has changed.
    changed: Arc<Notify>,
    secret: Option<Watched>,
    reloads: IntCounterVec,
    accepted: watch::Sender<bool>,
    /// Why nothing was accepted yet.
    problem: watch::Sender<Option<String>>,
}

/// A Secret that is being watched.
struct Watched {
    which: SecretRef,
    store: Store<Secret>,
    _watch: JoinSet<()>,
}

impl Follower {
    async fn run(mut self, cancel: CancellationToken) {
        let mut retry = FIRST_RETRY;
        loop {
            let Some(seen) = cancel.run_until_cancelled(self.seen()).await else {
                return;
            };
            let reloaded = cancel.run_until_cancelled(self.reload()).await;
            let Some(reloaded) = reloaded else { return };
            let wait = match reloaded {
                Ok(()) => {
                    retry = FIRST_RETRY;
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
            let changed = cancel.run_until_cancelled(self.change(&seen, wait)).await;
            match changed {
                None => return,
                Some(Woken::Changed) => retry = FIRST_RETRY,
                Some(Woken::TimeIsUp) => {}
            }
        }
    }

    /// A configuration that names another Secret than the last one has to be read with that.
    async fn reload(&mut self) -> Result<(), Refused> {
        let provider = self.provider.clone();
        let Some(live) = provider.live() else { return Ok(()) };
        let data = self.data(live).await?;
        let warnings = live.reload(data.as_ref()).await;
        let warnings = warnings.map_err(|error| Refused::Because(error.report()))?;
        if live.secret() != self.secret.as_ref().map(|watched| watched.which.clone()) {
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

    /// The data of the Secret that is named, watched from now on.
    async fn data(&mut self, live: &dyn Live) -> Result<Option<SecretData>, Refused> {
        let Some(which) = live.secret() else {
            self.secret = None;
            return Ok(None);
        };
        if self.secret.as_ref().is_none_or(|watched| watched.which != which) {
            self.secret = Some(self.watch(which.clone()));
        }
        let Some(Watched { store, .. }) = &self.secret else {
            return Ok(None);
        };
        let name = format!("Secret {}/{}", which.namespace, which.name);
        if tokio::time::timeout(LOOK, store.synced()).await.is_err() {
            return Err(Refused::Because(match store.state() {
                State::Failing(reason) => format!("cannot read {name}: {reason}"),
                _ => format!("{name} has not been read yet"),
            }));
        }
        let Some(secret) = store.list().pop() else {
            let reason = format!("{name} does not exist: create it, or remove secret-name from the configuration");
            return Err(Refused::Because(reason));
        };
        let data = secret.data.iter().flatten();
        Ok(Some(data.map(|(key, value)| (key.clone(), value.0.clone())).collect()))
    }

    fn watch(&self, which: SecretRef) -> Watched {
        let api: Api<Secret> = Api::namespaced(self.secrets.clone(), &which.namespace);
        let only = watcher::Config::default().fields(&format!("metadata.name={}", which.name));
        let informer = Informer::new(api, only, |_| {});
        let changed = self.changed.clone();
        informer.on_change(move |_| changed.notify_one());
        let store = informer.store();
        let mut watch = JoinSet::new();
        watch.spawn(async move { informer.run(CancellationToken::new()).await });
        Watched {
            which,
            store,
            _watch: watch,
        }
    }

    fn report(&self, reason: &str) {
        self.reloads.with_label_values(&["failure"]).inc();
        if *self.accepted.borrow() {
            warn!(
                reason,
                "the configuration of the cloud has changed and is not usable; keeping the old one"
            );
        } else {
            warn!(reason, "the configuration of the cloud is not usable; trying again");
            self.problem.send_replace(Some(reason.to_owned()));
        }
        if let Some(Watched { which, .. }) = &self.secret {
            let about = ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Secret".to_owned()),
                namespace: Some(which.namespace.clone()),
                name: Some(which.name.clone()),
                ..ObjectReference::default()
            };
            let message = format!("The configuration of the cloud is not usable: {reason}");
            self.recorder.event(about, Kind::Warning, "CloudConfigRefused", message);
        }
    }

    /// What the sources are like now.
    async fn seen(&self) -> Seen {
        let files = self.provider.live().map(Live::files).unwrap_or_default();
        let stored = self.secret.as_ref().and_then(|watched| watched.store.list().pop());
        Seen {
            files: fingerprint(files).await,
            secret: stored.and_then(|secret| secret.resource_version()),
        }
    }

    /// Waits until they are different, but not for longer than this.
    async fn change(&self, seen: &Seen, limit: Option<Duration>) -> Woken {
        let different = async {
            loop {
                let look = tokio::time::sleep(LOOK);
                tokio::select! { () = look => {}, () = self.changed.notified() => {} }
                if self.seen().await != *seen {
                    return;
                }
            }
        };
        let Some(limit) = limit else {
            different.await;
            return Woken::Changed;
        };
        tokio::select! {
            () = different => Woken::Changed,
            () = tokio::time::sleep(limit) => Woken::TimeIsUp,
        }
    }
}

/// Why a configuration did not take effect.
enum Refused {
    /// It names another Secret, which has to be read first.
    Again,
    /// It is not usable.
    Because(String),
}

#[derive(PartialEq, Eq)]
struct Seen {
    files: u64,
    secret: Option<String>,
}

enum Woken {
    Changed,
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
