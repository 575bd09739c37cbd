//! One pass after the other over all managers: read, decide, act, report.

use super::{
    act::inventory,
    observe::{self, Managers},
    provider::Provider,
    status::{Found, Problem, State},
};
use crate::{
    Key,
    monitoring::Ended,
    openshift,
    operands::Engine,
    platforms::config_hash::Reference,
    retry,
    rollout::Patience,
    run::Hands,
    status::Window,
    watching::{Selection, Watches},
};
use kube::ResourceExt;
use operator_api::{CloudControllerManager, cloud_controller_manager::ManagementState};
use runtime::health::Pulse;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Everything is looked at again after this time; certificates are renewed then, too.
const RESYNC: Duration = Duration::from_mins(10);
/// How often the operator's own file is looked at.
const FILES: Duration = Duration::from_secs(5);
/// How soon managers are looked at again because what others look after has changed.
const AGAIN: Duration = Duration::from_millis(100);
/// How long something that may pass by itself may fail before it is an alarm.
const FAILS: Duration = Duration::from_secs(150);
/// The name of what looks after managers, in the metrics.
const CONTROLLER: &str = "cloudcontrollermanager";
/// A manager that takes longer than this hangs.
const HANGS: Duration = Duration::from_mins(5);

/// The operator on any Kubernetes.
pub struct Operator {
    pub(super) namespace: String,
    /// The providers of the operator's own image.
    pub(super) providers: Arc<[Provider]>,
    /// Where the operator's own image is written.
    pub(super) file: PathBuf,
    /// What is in that file, and when it was read.
    pub(super) images: Result<String, String>,
    looked: Instant,
    pub(super) hands: Hands,
    pub(super) watches: Watches,
    pub(super) engine: Engine,
    changed: Arc<Notify>,
    pulse: Pulse,
    cares: BTreeMap<String, Care>,
    pub(super) monitoring: Monitoring,
    pub(super) cluster: Cluster,
    /// What the operator makes for any platform; nothing where it does not.
    pub(super) reserved: BTreeSet<Key>,
}

/// Whether the cluster has the kinds by which Prometheus is told what to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitoring {
    /// It has.
    Served,
    /// It has not.
    Absent,
}

/// Whose the cluster's own manager is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cluster {
    /// The operator runs one for the platform, in the same namespace.
    OpenShift,
    /// There is none.
    Kubernetes,
}

/// What is remembered of a manager from one pass to the next.
pub(super) struct Care {
    pub(super) patience: Patience,
    /// Since when it fails.
    pub(super) window: Window,
    /// What was logged about an object that cannot be read.
    pub(super) complaint: String,
    /// What its Pods cannot start without, and was told to be missing.
    pub(super) missing: BTreeSet<Reference>,
    /// What has to be watched for it.
    needs: BTreeSet<Selection>,
}

impl Default for Care {
    fn default() -> Self {
        Self {
            patience: Patience::default(),
            window: Window::new(FAILS),
            complaint: String::new(),
            missing: BTreeSet::new(),
            needs: BTreeSet::new(),
        }
    }
}

/// When the next pass is due although nothing changes.
#[derive(Debug, Default)]
struct Next {
    again: Option<Duration>,
    /// Whether something failed that has to be tried again.
    failing: bool,
}

impl Next {
    fn ended(&self) -> Ended {
        match self.again {
            _ if self.failing => Ended::Error,
            Some(_) => Ended::RequeueAfter,
            None => Ended::Success,
        }
    }
}

impl Operator {
    /// Nothing is written yet. Managers run in `namespace`; `images` is the file with the operator's own image, and `providers` are
    /// those of that image.
    pub fn new(
        namespace: String,
        images: PathBuf,
        providers: Arc<[Provider]>,
        hands: Hands,
        monitoring: Monitoring,
        cluster: Cluster,
    ) -> Self {
        let changed = Arc::new(Notify::new());
        let reserved = match cluster {
            Cluster::OpenShift => openshift::candidates(&namespace),
            Cluster::Kubernetes => BTreeSet::new(),
        };
        Self {
            watches: Watches::new(hands.eyes.clone(), changed.clone()),
            engine: Engine::new(hands.client.clone()).owned_by(observe::KIND),
            namespace,
            providers,
            images: text(&images),
            looked: Instant::now(),
            file: images,
            hands,
            changed,
            pulse: Pulse::default(),
            cares: BTreeMap::new(),
            monitoring,
            cluster,
            reserved,
        }
    }

    /// Whether it is alive: if what is done about a manager does not end, it is not.
    pub fn liveness(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        let pulse = self.pulse.clone();
        move || pulse.stuck(HANGS)
    }

    /// Works until it is told to stop.
    pub async fn run(&mut self, stop: &CancellationToken) {
        let passes = self.hands.metrics.controller(CONTROLLER);
        let mut failures = 0;
        loop {
            self.pulse.begin();
            // A cluster that never rests must not keep it from being read.
            self.look_at_file();
            let pass = passes.begin();
            // Wherever it is interrupted, the next one goes on from there.
            let Some(next) = stop.run_until_cancelled(Box::pin(self.pass())).await else {
                return;
            };
            self.pulse.success();
            pass.end(next.ended());
            failures = if next.failing { failures + 1 } else { 0 };
            let pause = next.failing.then(|| retry::pause(failures));
            let wait = [next.again, pause].into_iter().flatten().fold(RESYNC, Duration::min);
            if stop.run_until_cancelled(self.wait(wait)).await.is_none() {
                return;
            }
        }
    }

    /// Until something changes, or the time has come.
    async fn wait(&mut self, longest: Duration) {
        let mut until = std::pin::pin!(tokio::time::sleep(longest));
        loop {
            tokio::select! {
                () = self.changed.notified() => return,
                () = &mut until => return,
                () = tokio::time::sleep(FILES.saturating_sub(self.looked.elapsed())) => {
                    if self.look_at_file() {
                        return;
                    }
                }
            }
        }
    }

    /// Reads the file with the image now and then. Says whether it has changed.
    fn look_at_file(&mut self) -> bool {
        if self.looked.elapsed() < FILES {
            return false;
        }
        self.looked = Instant::now();
        let images = text(&self.file);
        let changed = images != self.images;
        if changed {
            info!(file = %self.file.display(), "the operator's own file has changed");
            self.images = images;
        }
        changed
    }

    async fn pass(&mut self) -> Next {
        let managers = match self.managers().await {
            Ok(managers) => managers,
            Err(reason) => {
                warn!(%reason, "cannot say which managers there are; trying again");
                return Next {
                    failing: true,
                    ..Next::default()
                };
            }
        };
        self.forget_all_but(&managers);
        let mut next = Next::default();
        for unreadable in &managers.unreadable {
            next.failing |= !self.complain(unreadable).await;
        }
        let remains = self.remains(&managers).await;
        let platform = self.platform(&managers).await;
        let refusals = managers.refusals(&remains, &platform);
        for manager in &managers.readable {
            let found = self.one(manager, refusals.get(&manager.name_any())).await;
            next.failing |= !self.report(manager, &found).await;
            next.failing |= found.failing;
            next.again = [next.again, found.again].into_iter().flatten().min();
            // Many managers may take long; one must not.
            self.pulse.end();
            self.pulse.begin();
        }
        // What a pass writes itself is no news to it.
        if self
            .managers()
            .await
            .is_ok_and(|managers| managers.refusals(&remains, &platform) != refusals)
        {
            next.again = [next.again, Some(AGAIN)].into_iter().flatten().min();
        }
        let needs = self.cares.values().flat_map(|care| &care.needs).cloned();
        let kinds = [Selection::all(&observe::resource())];
        let all = needs.chain(kinds).chain(self.beside(&managers)).collect();
        self.watches.want(&all).await;
        next
    }

    /// Reads which managers there are.
    pub(super) async fn managers(&mut self) -> Result<Managers, String> {
        let kind = observe::resource();
        self.watches.want_also([Selection::all(&kind)]).await;
        let objects = self.watches.all(&kind);
        let objects = objects.map_err(|reason| format!("cannot list {}: {reason}", kind.plural))?;
        Ok(Managers::of(&objects))
    }

    fn forget_all_but(&mut self, managers: &Managers) {
        let there: BTreeSet<_> = managers.names().collect();
        for name in self.cares.keys().filter(|name| !there.contains(*name)) {
            self.fall_silent(name);
        }
        self.cares.retain(|name, _| there.contains(name));
    }

    /// What becomes of one manager. What a pass did not get to see is watched as before.
    async fn one(&mut self, manager: &CloudControllerManager, refused: Option<&Problem>) -> Found {
        let name = manager.name_any();
        let care = self.care(&name);
        care.complaint.clear();
        let before = std::mem::take(&mut care.needs);
        let found = self.state(manager, refused).await;
        if found.failing {
            self.care(&name).needs.extend(before);
        }
        found
    }

    async fn state(&mut self, manager: &CloudControllerManager, refused: Option<&Problem>) -> Found {
        let (name, inventory) = (manager.name_any(), inventory(manager));
        if manager.spec.management_state == ManagementState::Removed {
            self.hands.metrics.certificates(&name, None);
            return self.removed(&name, inventory).await;
        }
        // Its Pods are counted whatever else is known.
        self.watch(&name, &[self.deployment(&name)].into()).await;
        if manager.spec.management_state == ManagementState::Unmanaged {
            return Found {
                state: State::Unmanaged,
                inventory,
                ..Found::default()
            };
        }
        if let Some(refused) = refused {
            return self.troubled(&name, refused.clone(), inventory);
        }
        match self.desired(manager).await {
            Ok(objects) => {
                self.tell_missing(&name, &objects);
                self.managed(manager, objects, inventory).await
            }
            Err(problem) => self.troubled(&name, problem, inventory),
        }
    }

    /// What is remembered of a manager.
    pub(super) fn care(&mut self, name: &str) -> &mut Care {
        self.cares.entry(name.to_owned()).or_default()
    }

    /// Watches these objects for a manager, until a pass does without them.
    pub(super) async fn watch(&mut self, name: &str, keys: &BTreeSet<Key>) {
        let selections: Vec<_> = keys.iter().filter_map(Selection::of).collect();
        self.care(name).needs.extend(selections.iter().cloned());
        self.watches.want_also(selections).await;
    }
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
