//! One pass after the other: read, decide, act, report.

use super::{
    Settings,
    act::workloads,
    decide::Prune,
    observe::{self, Files, Observed},
};
use crate::{
    Key, monitoring,
    operands::Engine,
    platforms::config_hash,
    retry,
    rollout::Patience,
    run::Hands,
    status::{Operands, Outcome, Verdict, Window},
    telling,
    watching::{Selection, Watches},
};
use runtime::health::Pulse;
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// How long the parts may fail before anybody is told.
const OPERANDS_FAIL: Duration = Duration::from_secs(150);
const PARTS_FAIL: Duration = Duration::from_mins(2);
/// How long after a failure of the trusted certificates the next one is a first one again.
const CA_FORGETS: Duration = Duration::from_secs(150);
/// How often the operator's own files are looked at.
const FILES: Duration = Duration::from_secs(5);
/// Everything is looked at again after this time, whether or not something has changed.
const RESYNC: Duration = Duration::from_mins(10);
/// The name of the original's controller in its metrics.
const CONTROLLER: &str = "clusteroperator";
/// A pass that takes longer than this hangs.
const HANGS: Duration = Duration::from_mins(5);

/// The operator on `OpenShift`.
pub struct Operator {
    pub(super) settings: Settings,
    pub(super) hands: Hands,
    pub(super) watches: Watches,
    pub(super) engine: Engine,
    pub(super) changed: Arc<Notify>,
    pub(super) pulse: Pulse,
    pub(super) files: Files,
    /// When the files were read.
    pub(super) looked: Instant,
    /// What the last pass had to look at.
    pub(super) needed: BTreeSet<Selection>,
    /// What Pods read and is not there, as far as it was told.
    pub(super) missing: BTreeSet<config_hash::Reference>,
    /// What the cluster asks for and cannot have, as far as it was told.
    pub(super) warnings: BTreeSet<String>,
    /// What stays although it is not wanted, as far as it was told.
    pub(super) left: Vec<String>,
    /// What is said about the annotation of the Infrastructure, as far as it was told.
    pub(super) remark: Option<String>,
    /// The minor version of Kubernetes, once somebody had to know.
    pub(super) kubernetes: Option<u32>,
    /// What was found of operands that nobody has listed; `None` as long as nobody has looked.
    pub(super) leftovers: Option<Vec<Key>>,
    /// The features that are on, as far as it was told.
    pub(super) gates: Option<Vec<String>>,
    pub(super) windows: Windows,
    pub(super) patience: Patience,
}

/// Since when the parts fail.
pub(super) struct Windows {
    pub(super) cloud_config: Window,
    pub(super) trusted_ca: Window,
    pub(super) operands: Window,
}

/// What a pass has found out about its parts.
#[derive(Default)]
pub(super) struct Found {
    pub(super) cloud_config: Option<Outcome>,
    pub(super) trusted_ca: Option<Outcome>,
    pub(super) operands: Option<Operands>,
    /// What is not wanted any more and stays all the same.
    pub(super) left: Vec<String>,
    /// What else a user should know, and harms nobody who knows it.
    pub(super) remarks: Vec<String>,
    /// What could not be read or decided, each a sentence.
    pub(super) unread: Vec<String>,
    /// What keeps the operands from being done.
    pub(super) obstacles: Vec<String>,
    /// When to look again although nothing changes.
    pub(super) again: Option<Duration>,
    /// Whether something failed that may pass by itself.
    pub(super) failing: bool,
}

impl Found {
    fn ended(&self) -> monitoring::Ended {
        match self.again {
            _ if self.failing => monitoring::Ended::Error,
            Some(_) => monitoring::Ended::RequeueAfter,
            None => monitoring::Ended::Success,
        }
    }
}

impl Windows {
    /// The operands fail, for now or for long enough to tell.
    pub(super) fn operands_failed(&mut self, cause: String) -> Operands {
        match self.operands.failed(Instant::now()) {
            Verdict::Tell => Operands::Failed(cause),
            Verdict::Wait(_) => Operands::Failing,
        }
    }

    /// A part works when what it wants has been written, too; and one that waits for another does not fail.
    fn close(&mut self, found: &Found) {
        if matches!(
            found.operands,
            None | Some(Operands::Progressing(_) | Operands::Waiting)
        ) {
            self.operands.worked();
        }
        for (outcome, window) in [
            (&found.cloud_config, &mut self.cloud_config),
            (&found.trusted_ca, &mut self.trusted_ca),
        ] {
            if let Some(Outcome::Fine | Outcome::Remarkable(_)) = outcome {
                window.worked();
            }
        }
    }
}

impl Operator {
    /// Nothing is read or written yet. `changed` wakes it up.
    pub fn new(settings: Settings, hands: Hands, changed: Arc<Notify>) -> Self {
        Self {
            watches: Watches::new(hands.eyes.clone(), changed.clone()),
            engine: Engine::new(hands.client.clone()),
            files: Files::read(&settings),
            looked: Instant::now(),
            settings,
            hands,
            changed,
            pulse: Pulse::default(),
            needed: BTreeSet::new(),
            missing: BTreeSet::new(),
            warnings: BTreeSet::new(),
            left: Vec::new(),
            remark: None,
            kubernetes: None,
            leftovers: None,
            gates: None,
            windows: Windows {
                cloud_config: Window::new(PARTS_FAIL),
                trusted_ca: Window::new(PARTS_FAIL).forgetting(CA_FORGETS),
                operands: Window::new(OPERANDS_FAIL),
            },
            patience: Patience::default(),
        }
    }

    /// Whether it is alive: a pass that does not end is not.
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
            // A cluster that never rests must not keep them from being read.
            self.look_at_files();
            let pass = passes.begin();
            // Wherever it is interrupted, the next one goes on from there.
            let Some(found) = stop.run_until_cancelled(Box::pin(self.pass())).await else {
                return;
            };
            self.pulse.success();
            pass.end(found.ended());
            failures = if found.failing { failures + 1 } else { 0 };
            let pause = found.failing.then(|| retry::pause(failures));
            let wait = [found.again, pause, Some(RESYNC)]
                .into_iter()
                .flatten()
                .min()
                .unwrap_or(RESYNC);
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.wait(wait) => {}
            }
        }
    }

    /// Until something changes, or the time has come.
    async fn wait(&mut self, longest: Duration) {
        let until = tokio::time::sleep(longest);
        let mut until = std::pin::pin!(until);
        loop {
            tokio::select! {
                () = self.changed.notified() => return,
                () = &mut until => return,
                () = tokio::time::sleep(FILES.saturating_sub(self.looked.elapsed())) => {
                    if self.look_at_files() {
                        return;
                    }
                }
            }
        }
    }

    /// Reads the operator's own files now and then. Says whether they have changed.
    fn look_at_files(&mut self) -> bool {
        if self.looked.elapsed() < FILES {
            return false;
        }
        self.looked = Instant::now();
        let files = Files::read(&self.settings);
        let changed = files != self.files;
        if changed {
            info!("the operator's own files have changed");
            self.files = files;
        }
        changed
    }

    async fn pass(&mut self) -> Found {
        let mut observed = self.observe().await;
        let mut found = Found::default();
        let desired = self.decide(&observed, &mut found).await;
        let inventory = self.inventory(&observed);
        let keys: Vec<_> = desired.objects.iter().map(|object| object.key().clone()).collect();
        if !self.announce(&mut observed, &keys, &inventory, &mut found).await {
            return found;
        }
        // Where it is not known what should run, what was made to run should.
        let workloads = match desired.prune {
            Prune::Nothing => workloads(&inventory),
            Prune::Unwanted | Prune::All => workloads(&keys),
        };
        let (report, pruned) = self.act(desired, &inventory).await;
        let after = self.learn(&report, &keys, &inventory, pruned);
        self.settle(&after);
        telling::tell(&self.hands.recorder, &report);
        self.judge(&report, &mut found);
        self.windows.close(&found);
        self.examine(&report, &workloads, &mut found).await;
        self.report(&mut observed, &after, &mut found).await;
        self.watches.want(&self.needed).await;
        found
    }

    /// Reads what the watches know, and watches what that makes interesting.
    pub(super) async fn observe(&mut self) -> Observed {
        let mut wanted = observe::always();
        loop {
            self.watches.want_also(wanted.iter().cloned()).await;
            let observed = Observed::of(&self.watches, self.files.clone());
            let maps = observed.config_maps(&self.settings.namespace);
            let inventory = self.inventory(&observed);
            let more: BTreeSet<_> = maps.iter().chain(&inventory).filter_map(Selection::of).collect();
            if more.is_subset(&wanted) {
                self.needed = wanted;
                return observed;
            }
            wanted.extend(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    // operator.md §2.0: what ends without an error ends a failure, and a terminal error neither begins nor ends one.
    #[rstest]
    #[case::as_it_should_be(None, Verdict::Wait(OPERANDS_FAIL))]
    #[case::on_its_way(Some(Operands::Progressing(Vec::new())), Verdict::Wait(OPERANDS_FAIL))]
    #[case::waits_for_another(Some(Operands::Waiting), Verdict::Wait(OPERANDS_FAIL))]
    #[case::fails(Some(Operands::Failing), Verdict::Tell)]
    #[case::terminal(Some(Operands::Failed("x".to_owned())), Verdict::Tell)]
    fn who_waits_does_not_fail(#[case] operands: Option<Operands>, #[case] later: Verdict) {
        let mut windows = windows();
        let start = Instant::now();
        windows.operands.failed(start);
        windows.close(&Found {
            operands,
            ..Found::default()
        });
        assert_eq!(windows.operands.failed(start + OPERANDS_FAIL), later);
    }

    fn windows() -> Windows {
        Windows {
            cloud_config: Window::new(PARTS_FAIL),
            trusted_ca: Window::new(PARTS_FAIL),
            operands: Window::new(OPERANDS_FAIL),
        }
    }

    fn found(cloud_config: Outcome) -> Found {
        Found {
            cloud_config: Some(cloud_config),
            ..Found::default()
        }
    }

    #[rstest]
    #[case::decided_but_not_written(Outcome::Failing, Verdict::Tell)]
    #[case::written(Outcome::Fine, Verdict::Wait(PARTS_FAIL))]
    fn a_part_works_once_it_has_written(#[case] outcome: Outcome, #[case] later: Verdict) {
        let mut windows = windows();
        let start = Instant::now();
        windows.cloud_config.failed(start);
        windows.close(&found(outcome));
        assert_eq!(windows.cloud_config.failed(start + PARTS_FAIL), later);
    }
}
