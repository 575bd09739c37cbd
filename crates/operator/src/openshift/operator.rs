//! One pass: observe, decide, apply, report.

use super::{
    Problem, Settings,
    decide::{Blocked, Decision},
    inventory::{self, Prune, workloads},
    observed::{Observed, OwnFiles},
    state::{self, PassState, Windows},
};
use crate::{
    Key, Lookup, Object,
    cache::Cache,
    certificates,
    clients::Clients,
    control::{self, Next, Reconcile, Retry},
    events::{self, Reported},
    operands::{Engine, Outcome, Report, health},
    rollout::{Judgement, Patience, Workload},
    status::{self, Operands},
};
use runtime::health::Pulse;
use std::{collections::BTreeSet, mem, sync::Arc, time::Instant};
use tokio::sync::Notify;
use tracing::{info, warn};

/// The operator on `OpenShift`.
pub(crate) struct Operator {
    pub(super) settings: Settings,
    pub(super) clients: Clients,
    pub(super) cache: Cache,
    pub(super) engine: Engine,
    pub(super) files: OwnFiles,
    /// The objects that the last decision read.
    pub(super) reads: BTreeSet<Key>,
    /// Operands that exist without being listed; `None` before they were searched.
    pub(super) unlisted: Option<Vec<Key>>,
    reported: Reported,
    /// The objects that may not be deleted, as they were logged last.
    kept: Vec<String>,
    windows: Windows,
    patience: Patience,
}

impl Operator {
    /// Nothing is read or written yet. `changed` is notified of changes.
    pub(crate) fn new(settings: Settings, clients: Clients, changed: Arc<Notify>) -> Self {
        Self {
            cache: Cache::new(clients.read.clone(), changed),
            engine: Engine::new(clients.write.clone()),
            files: OwnFiles::read(&settings),
            settings,
            clients,
            reads: BTreeSet::new(),
            unlisted: None,
            reported: Reported::default(),
            kept: Vec::new(),
            windows: Windows::default(),
            patience: Patience::default(),
        }
    }
}

impl Reconcile for Operator {
    const CONTROLLER: &'static str = "clusteroperator";

    fn read_files(&mut self) -> control::FileChange {
        let files = OwnFiles::read(&self.settings);
        if files == self.files {
            return control::FileChange::Unchanged;
        }
        info!("the operator's own files have changed");
        self.files = files;
        control::FileChange::Changed
    }

    async fn pass(&mut self, _: &Pulse) -> Next {
        let (mut observed, mut decision) = self.observe().await;
        self.issue(&observed, &mut decision);
        let events = mem::take(&mut decision.events);
        self.reported.report(&self.clients.recorder, events);
        let mut state = PassState::of(&decision, &mut self.windows, Instant::now());
        for cause in &state.undecided {
            warn!(%cause, "cannot decide; retrying");
        }
        let inventory = observed.inventory();
        let keys: Vec<_> = decision.all().map(|object| object.key().clone()).collect();
        if !self.announce(&mut observed, &keys, &inventory, &state).await {
            return state.next.or(Next::FAILED);
        }
        let prune = decision.prune;
        let report = self.apply(decision, &inventory).await;
        self.cache.learn(&report);
        events::emit(&self.clients.recorder, &report);
        self.log(&report);
        let after = inventory::after(&report, &keys, &inventory, prune);
        if let Some(unlisted) = &mut self.unlisted {
            unlisted.retain(|key| after.contains(key));
        }
        state.applied(&report, self.settings.duties, &mut self.windows, Instant::now());
        self.windows.close(&state);
        // If it is not known which workloads are desired, the existing ones count.
        let workloads = match prune {
            Prune::Nothing => workloads(&inventory),
            Prune::Unwanted | Prune::All => workloads(&keys),
        };
        self.examine(&report, &workloads, &mut state).await;
        if !self.report(&mut observed, &after, &state).await {
            state.next.retry = Retry::WithBackOff;
        }
        self.forget_others().await;
        state.next
    }
}

impl Operator {
    /// Adds the objects of the serving certificate: the existing ones if they are valid, new ones otherwise.
    pub(super) fn issue(&self, observed: &Observed, decision: &mut Decision) {
        let Some(names) = decision.certificate.take() else {
            if decision.prune != Prune::Nothing {
                // An expired certificate that is not used any more must not raise an alert.
                self.clients.metrics.certificates(status::NAME, None);
            }
            return;
        };
        match certificates::observed(observed.now, &names, &observed.objects) {
            Ok(issued) => {
                self.clients.metrics.certificates(status::NAME, Some(&issued));
                decision.objects.extend(issued.objects());
            }
            Err(error) => {
                let cause = runtime::logging::chain(&error).to_string();
                decision.block(Blocked::By(Problem::Transient(cause)));
            }
        }
    }

    /// Lists new objects before they are created: if the process is killed in between, the next one knows of all of them.
    /// Returns whether they are listed.
    async fn announce(&mut self, observed: &mut Observed, keys: &[Key], inventory: &[Key], state: &PassState) -> bool {
        let is_new = |key: &Key| inventory::is_inventoried(key) && !inventory.contains(key);
        if !self.settings.duties.has_operands() || !keys.iter().any(is_new) || state.operands.is_some() {
            return true;
        }
        let announced = PassState {
            operands: Some(Operands::Progressing(health::rolling(&workloads(keys)))),
            ..PassState::default()
        };
        self.report(observed, &inventory::with(inventory, keys), &announced)
            .await
    }

    async fn apply(&self, decision: Decision, inventory: &[Key]) -> Report {
        let ours = inventory::prunable(inventory, decision.prune, &self.settings);
        let objects: Vec<_> = decision.config.into_iter().chain(decision.objects).collect();
        if decision.prune != Prune::All {
            return self.engine.converge(objects, &ours, &self.cache).await;
        }
        let wanted: BTreeSet<_> = objects.iter().map(Object::key).cloned().collect();
        let unwanted: Vec<_> = ours.into_iter().filter(|key| !wanted.contains(key)).collect();
        let mut report = self.engine.converge(objects, &[], &self.cache).await;
        if !unwanted.is_empty() {
            report.absorb(self.engine.remove_all(&unwanted, &self.cache).await);
        }
        report
    }

    fn log(&mut self, report: &Report) {
        let failures = report.failures().filter(|failure| !failure.is_left_behind());
        for failure in failures {
            warn!(cause = %failure, "not everything could be written");
        }
        let kept = state::kept(report);
        if !kept.is_empty() && kept != self.kept {
            let objects = kept.join("; ");
            warn!(%objects, "objects that are not desired any more are kept: they may not be deleted");
        }
        self.kept = kept;
    }

    /// Examines the Pods, whatever the results for the objects.
    async fn examine(&mut self, report: &Report, workloads: &[Key], state: &mut PassState) {
        if !self.settings.duties.has_operands() {
            return;
        }
        let all: Option<Vec<_>> = workloads.iter().map(|key| self.workload(report, key)).collect();
        let Some(all) = all.filter(|all| !all.is_empty() || state.operands.is_none()) else {
            return;
        };
        let judging = self.patience.examine(&self.clients.read, &self.settings.namespace, all);
        let Judgement { operands, again } = judging.await;
        let retry = Retry::No;
        state.next = state.next.or(Next { again, retry });
        if let Operands::Progressing(waiting) = &operands {
            state.obstacles.extend(waiting.iter().cloned());
        }
        state.operands = Some(match state.operands.take() {
            Some(problem) => problem.and(operands),
            None => operands,
        });
    }

    /// An existing workload; `None` if its state is not known.
    fn workload(&self, report: &Report, key: &Key) -> Option<Workload> {
        let live = match (report.outcome(key), report.object(key)) {
            // It is being deleted: its Pods do not count.
            (Some(Outcome::Pending(_)), None) => None,
            (_, Some(live)) => Some(live.clone()),
            (_, None) => match self.cache.find(key) {
                Lookup::Found(live) => Some(live),
                Lookup::Absent => None,
                Lookup::Unknown(_) => return None,
            },
        };
        Some(Workload::new(key.clone(), live))
    }
}
