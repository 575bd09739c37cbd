//! One pass over all managers: observe, decide, apply, report.

use super::{
    ImageSource, Settings,
    decide::{Action, Decision, Observed, decide, inventory},
    observe::{self, Managers},
    status::{Cause, Found, Management},
};
use crate::{
    Key, Unread,
    cache::{Cache, Selection},
    certificates,
    clients::Clients,
    control::{FileChange, Next, Reconcile, Retry},
    events::Reported,
    operands::Engine,
    rollout::Patience,
    status::Window,
};
use jiff::Timestamp;
use kube::ResourceExt;
use operator_api::CloudControllerManager;
use runtime::health::Pulse;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, mem,
    path::Path,
    sync::Arc,
    time::Duration,
};
use tokio::sync::Notify;
use tracing::{info, warn};

/// How soon managers are reconciled again because the claims of others have changed.
const SOON: Duration = Duration::from_millis(100);
/// How long a failure that may be temporary lasts before it is reported as degraded.
const FAILS: Duration = Duration::from_secs(150);

/// The operator on any Kubernetes.
pub(crate) struct Operator {
    pub(super) settings: Settings,
    /// The content of the file with the operator's own image.
    pub(super) images: Result<String, Unread>,
    pub(super) clients: Clients,
    pub(super) cache: Cache,
    pub(super) engine: Engine,
    managers: BTreeMap<String, ManagerState>,
}

/// The state of a manager between two passes.
pub(super) struct ManagerState {
    pub(super) patience: Patience,
    /// Since when it fails.
    pub(super) window: Window,
    /// Why the object is not valid, as it was logged last.
    pub(super) invalid: String,
    reported: Reported,
    /// The objects that the last decision read.
    reads: BTreeSet<Key>,
}

impl Default for ManagerState {
    fn default() -> Self {
        Self {
            patience: Patience::default(),
            window: Window::new(FAILS),
            invalid: String::new(),
            reported: Reported::default(),
            reads: BTreeSet::new(),
        }
    }
}

impl Operator {
    /// Nothing is written yet. `changed` is notified of changes.
    pub(crate) fn new(settings: Settings, clients: Clients, changed: Arc<Notify>) -> Self {
        Self {
            cache: Cache::new(clients.read.clone(), changed),
            engine: Engine::new(clients.write.clone()).owned_by(observe::KIND),
            images: match &settings.images {
                ImageSource::File(path) => text(path),
                ImageSource::OwnPod { .. } => Err(Unread(format!("{} has not been read yet", settings.images))),
            },
            settings,
            clients,
            managers: BTreeMap::new(),
        }
    }
}

impl Reconcile for Operator {
    const CONTROLLER: &'static str = "cloudcontrollermanager";

    fn read_files(&mut self) -> FileChange {
        let ImageSource::File(path) = &self.settings.images else {
            return FileChange::Unchanged;
        };
        let images = text(path);
        if images == self.images {
            return FileChange::Unchanged;
        }
        info!(file = %path.display(), "the operator's own file has changed");
        self.images = images;
        FileChange::Changed
    }

    async fn pass(&mut self, pulse: &Pulse) -> Next {
        self.find_own_image().await;
        let managers = match self.managers().await {
            Ok(managers) => managers,
            Err(reason) => {
                warn!(%reason, "cannot list managers; retrying");
                return Next::FAILED;
            }
        };
        self.forget_all_but(&managers);
        let mut next = self.serve_own_metrics().await;
        for invalid in &managers.unreadable {
            next = next.or(written(self.report_invalid(invalid).await));
        }
        let leftovers = self.leftovers(&managers).await;
        let platform = self.platform(&managers).await;
        let refusals = managers.refusals(&leftovers, &platform);
        for manager in &managers.readable {
            let found = self.one(manager, refusals.get(&manager.name_any())).await;
            next = next.or(written(self.report(manager, &found).await)).or(found.next);
            // Many managers may take a long time; one must not.
            pulse.end();
            pulse.begin();
        }
        // The claims that this pass has written.
        let after = self.managers().await;
        if after.is_ok_and(|managers| managers.refusals(&leftovers, &platform) != refusals) {
            let (again, retry) = (Some(SOON), Retry::No);
            next = next.or(Next { again, retry });
        }
        let reads = self.managers.values().flat_map(|manager| &manager.reads);
        let kinds = [Selection::all(&observe::resource())];
        let all = reads.filter_map(Selection::of).chain(kinds);
        let all = all.chain(self.platform_selections(&managers));
        let all = all.chain(self.own_selections()).collect();
        self.cache.want(&all).await;
        next
    }
}

impl Operator {
    /// The managers of the cluster.
    pub(super) async fn managers(&mut self) -> Result<Managers, Unread> {
        let kind = observe::resource();
        self.cache.want_also([Selection::all(&kind)]).await;
        let objects = self.cache.all(&kind);
        let objects = objects.map_err(|reason| Unread(format!("cannot list {}: {reason}", kind.plural)))?;
        Ok(Managers::of(&objects))
    }

    fn forget_all_but(&mut self, managers: &Managers) {
        let existing: BTreeSet<_> = managers.names().collect();
        for name in self.managers.keys().filter(|name| !existing.contains(*name)) {
            self.remove_metrics(name);
        }
        self.managers.retain(|name, _| existing.contains(name));
    }

    /// Reconciles one manager.
    async fn one(&mut self, manager: &CloudControllerManager, refused: Option<&Cause>) -> Found {
        let name = manager.name_any();
        let state = self.state_of(&name);
        state.invalid.clear();
        let before = mem::take(&mut state.reads);
        let found = self.state(manager, refused).await;
        if found.next.retry == Retry::WithBackOff {
            // The objects that a failed pass did not read are still watched.
            self.state_of(&name).reads.extend(before);
        }
        found
    }

    async fn state(&mut self, manager: &CloudControllerManager, refused: Option<&Cause>) -> Found {
        let (name, inventory) = (manager.name_any(), inventory(manager));
        let mut decision = self.decide(manager, refused).await;
        let events = mem::take(&mut decision.events);
        let reported = &mut self.managers.entry(name.clone()).or_default().reported;
        reported.report(&self.clients.recorder, events);
        match decision.action {
            Action::Unmanaged => Found {
                state: Management::Unmanaged,
                inventory,
                ..Found::default()
            },
            Action::Remove => self.removed(&name, decision.prune).await,
            Action::Refuse(problem) => self.failed(&name, problem, inventory),
            Action::Apply => {
                let found = self.managed(manager, decision.objects, decision.prune).await;
                found.waiting_for(&decision.remarks)
            }
        }
    }

    /// Observes and decides, until everything that the decision reads was observed.
    pub(super) async fn decide(&mut self, manager: &CloudControllerManager, refused: Option<&Cause>) -> Decision {
        let name = manager.name_any();
        loop {
            let state = self.managers.entry(name.clone()).or_default();
            let objects = state.reads.iter().map(|key| (key.clone(), self.cache.find(key)));
            let observed = Observed {
                manager,
                refused,
                images: self.images.clone(),
                objects: objects.collect(),
                now: Timestamp::now(),
            };
            let mut decision = decide(&observed, &self.settings);
            if decision.reads.is_subset(&state.reads) {
                self.issue(&observed, &mut decision);
                return decision;
            }
            self.watch(&name, decision.reads).await;
        }
    }

    /// Adds the objects of the serving certificate, which are not decided purely: the existing ones if they are valid, new ones with
    /// new keys otherwise.
    fn issue(&self, observed: &Observed<'_>, decision: &mut Decision) {
        let name = observed.manager.name_any();
        let Some(names) = decision.certificate.take() else {
            if decision.action == Action::Remove {
                self.clients.metrics.certificates(&name, None);
            }
            return;
        };
        let issued = certificates::observed(observed.now, &names, &observed.objects)
            .map_err(|error| Cause::Transient(("NoCertificate", runtime::logging::chain(&error).to_string())));
        let objects = issued.and_then(|issued| {
            self.clients.metrics.certificates(&name, Some(&issued));
            let objects = issued.objects().into_iter();
            objects
                .map(|object| super::owned(object.into_value(), observed.manager))
                .collect::<Result<Vec<_>, _>>()
        });
        match objects {
            Ok(objects) => decision.objects.extend(objects),
            Err(problem) => decision.refuse(problem),
        }
    }

    /// The state of a manager between two passes.
    pub(super) fn state_of(&mut self, name: &str) -> &mut ManagerState {
        self.managers.entry(name.to_owned()).or_default()
    }

    /// Watches these objects for a manager, until a pass does not read them any more.
    pub(super) async fn watch(&mut self, name: &str, keys: impl IntoIterator<Item = Key>) {
        let keys: Vec<_> = keys.into_iter().collect();
        let selections: Vec<_> = keys.iter().filter_map(Selection::of).collect();
        self.state_of(name).reads.extend(keys);
        self.cache.want_also(selections).await;
    }
}

/// Whether the status was written.
fn written(is_written: bool) -> Next {
    if is_written { Next::default() } else { Next::FAILED }
}

fn text(path: &Path) -> Result<String, Unread> {
    fs::read_to_string(path).map_err(|error| Unread(format!("cannot read {}: {error}", path.display())))
}
