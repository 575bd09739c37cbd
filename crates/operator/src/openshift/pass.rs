//! One pass after the other: read, decide, act, report.

use super::{
    Problem, Settings,
    observe::{self, Files, Observed},
    operands::{self, Plan, Wanted},
    report, sync,
};
use crate::{
    Key, Object, certificates, cloud_config,
    monitoring::Truth,
    operands::{Engine, Report},
    platforms::{Platform, Sources, config_hash},
    rollout::{self, Judgement, Patience, Workload},
    run::Hands,
    status::{self, CLOUD_CONFIG, Operands, Outcome, TRUSTED_CA, Verdict, Window},
    telling,
    watching::{Lookup, Selection, Watches},
};
use k8s_openapi::{api::core::v1::ObjectReference, jiff::Timestamp};
use operator_api::cluster_operator::{Condition, Status};
use runtime::{client::explain, events::Kind, health::Pulse};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How long the parts may fail before anybody is told.
const OPERANDS_FAIL: Duration = Duration::from_secs(150);
const PARTS_FAIL: Duration = Duration::from_mins(2);
/// How often the operator's own files are looked at.
const FILES: Duration = Duration::from_secs(5);
/// Everything is looked at again after this time, whether or not something has changed.
const RESYNC: Duration = Duration::from_mins(10);
/// The pause after the first failure; each further one doubles it.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A pass that takes longer than this hangs.
const HANGS: Duration = Duration::from_mins(5);
/// While something is being removed, or rolled out and nobody tells, it is looked at again this soon.
const SOON: Duration = Duration::from_secs(2);

/// The operator on `OpenShift`.
pub struct Operator {
    settings: Settings,
    hands: Hands,
    watches: Watches,
    engine: Engine,
    changed: Arc<Notify>,
    pulse: Pulse,
    files: Files,
    windows: Windows,
    patience: Patience,
}

/// Since when the parts fail.
struct Windows {
    cloud_config: Window,
    trusted_ca: Window,
    operands: Window,
}

/// What a pass has found out about its parts.
#[derive(Default)]
struct Found {
    cloud_config: Option<Outcome>,
    trusted_ca: Option<Outcome>,
    operands: Option<Operands>,
    /// When to look again although nothing changes.
    again: Option<Duration>,
    /// Whether something failed that may pass by itself.
    failing: bool,
}

/// What should be in the cluster.
struct Desired {
    objects: Vec<Object>,
    /// Those of the operands that run Pods.
    workloads: Vec<Key>,
    prune: Prune,
}

/// What may be removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prune {
    /// What is not wanted any more.
    Unwanted,
    /// All operands, in the safe order.
    All,
    /// Nothing: it is not known what is wanted.
    Nothing,
}

impl Operator {
    /// Nothing is read or written yet. `changed` wakes it up.
    pub fn new(settings: Settings, hands: Hands, changed: Arc<Notify>) -> Self {
        Self {
            watches: Watches::new(hands.eyes.clone(), changed.clone()),
            engine: Engine::new(hands.client.clone()),
            files: Files::read(&settings),
            settings,
            hands,
            changed,
            pulse: Pulse::default(),
            windows: Windows {
                cloud_config: Window::new(PARTS_FAIL),
                trusted_ca: Window::new(PARTS_FAIL),
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
        let mut failures = 0;
        loop {
            self.pulse.begin();
            let found = self.pass().await;
            self.pulse.success();
            failures = if found.failing { failures + 1 } else { 0 };
            let pause = found.failing.then(|| pause(failures));
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
                () = tokio::time::sleep(FILES) => {
                    let files = Files::read(&self.settings);
                    if files != self.files {
                        info!("the operator's own files have changed");
                        self.files = files;
                        return;
                    }
                }
            }
        }
    }

    /// What would be changed, as `kubectl diff` prints it.
    ///
    /// # Errors
    /// Why nobody can say.
    pub async fn preview(&mut self) -> Result<String, String> {
        let (observed, mut found) = (self.observe().await, Found::default());
        let desired = self.decide(&observed, &mut found).await;
        for outcome in [&found.cloud_config, &found.trusted_ca].into_iter().flatten() {
            if let Outcome::Failed(cause) = outcome {
                return Err(cause.clone());
            }
        }
        if let Some(Operands::Failed(cause)) = &found.operands {
            return Err(cause.clone());
        }
        let Some(desired) = desired else {
            return Err("not everything could be read that is needed to say; try again".to_owned());
        };
        let inventory = match desired.prune {
            Prune::Nothing => Vec::new(),
            Prune::All | Prune::Unwanted => inventory(&observed),
        };
        let preview = self.engine.preview(&desired.objects, &inventory).await;
        match preview.failures.first() {
            Some(failure) => Err(failure.to_string()),
            None => Ok(preview.text),
        }
    }

    async fn pass(&mut self) -> Found {
        let mut observed = self.observe().await;
        let mut found = Found::default();
        let desired = self.decide(&observed, &mut found).await;
        let inventory = inventory(&observed);
        let mut after = inventory.clone();
        if let Some(desired) = desired {
            let keys: Vec<_> = desired.objects.iter().map(|object| object.key().clone()).collect();
            if !self.announce(&mut observed, &keys, &inventory, &mut found).await {
                return found;
            }
            let workloads = desired.workloads.clone();
            let (report, ours) = self.act(desired, &inventory).await;
            after = self.learn(&report, &keys, &inventory, ours);
            telling::tell(&self.hands.recorder, &report);
            self.judge(&report, &workloads, &mut found).await;
        }
        self.report(&mut observed, &after, &mut found).await;
        found
    }

    /// Reads what the watches know, and watches what that makes interesting.
    async fn observe(&mut self) -> Observed {
        let mut wanted = observe::always();
        loop {
            self.watches.want(&self.kept(&wanted)).await;
            let observed = Observed::of(&self.watches, self.files.clone());
            let maps = observed.config_maps(&self.settings.namespace);
            let inventory = inventory(&observed);
            let more: BTreeSet<_> = maps.iter().chain(&inventory).filter_map(observe::selection).collect();
            if more.is_subset(&wanted) {
                return observed;
            }
            wanted.extend(more);
        }
    }

    /// What is watched already stays watched until a pass has decided.
    fn kept(&self, wanted: &BTreeSet<Selection>) -> BTreeSet<Selection> {
        self.watches.selections().chain(wanted).cloned().collect()
    }

    /// What should be there. `None` if it is not known, and then nothing is touched.
    async fn decide(&mut self, observed: &Observed, found: &mut Found) -> Option<Desired> {
        let objects = if self.settings.duties.has_sync() {
            self.sync(observed, found)
        } else {
            Vec::new()
        };
        if !self.settings.duties.has_operands() {
            return Some(Desired {
                objects,
                workloads: Vec::new(),
                prune: Prune::Nothing,
            });
        }
        match self.operands(observed, &objects, found).await {
            Ok(mut desired) => {
                desired.objects.splice(0..0, objects);
                Some(desired)
            }
            Err(problem) => {
                self.operands_failed(problem, found);
                Some(Desired {
                    objects,
                    workloads: Vec::new(),
                    prune: Prune::Nothing,
                })
            }
        }
    }

    fn sync(&mut self, observed: &Observed, found: &mut Found) -> Vec<Object> {
        let map = |key: Option<Key>| key.map_or(Ok(None), |key| observe::find_config_map(&self.watches, &key));
        let namespace = &self.settings.namespace;
        let world = sync::World {
            namespace,
            infrastructure: by_ref(&observed.infrastructure),
            network: by_ref(&observed.network),
            gates: operands::enabled(observed, &self.settings.release),
            managed: map(Some(observe::config_map(
                cloud_config::MANAGED_NAMESPACE,
                cloud_config::MANAGED_NAME,
            ))),
            referenced: map(observed.referenced()),
            current: map(Some(observe::config_map(namespace, cloud_config::NAME))),
            proxy: by_ref(&observed.proxy),
            proxy_ca: map(observed.proxy_ca()),
            system_bundle: &observed.files.system_bundle,
        };
        let config = sync::cloud_config(&world);
        let cloud_conf = config.as_ref().ok().and_then(|decided| decided.cloud_conf.clone());
        let trusted = sync::trusted_ca(&world, cloud_conf.as_ref(), jiff::Timestamp::now());
        let mut objects = Vec::new();
        found.cloud_config = Some(part(
            config,
            &mut self.windows.cloud_config,
            &mut objects,
            &mut found.failing,
        ));
        found.trusted_ca = Some(part(
            trusted,
            &mut self.windows.trusted_ca,
            &mut objects,
            &mut found.failing,
        ));
        objects
    }

    async fn operands(
        &mut self,
        observed: &Observed,
        synced: &[Object],
        found: &mut Found,
    ) -> Result<Desired, Problem> {
        if !self.may_provision(observed, found)? {
            found.operands = Some(Operands::Waiting);
            return Ok(Desired {
                objects: Vec::new(),
                workloads: Vec::new(),
                prune: Prune::Nothing,
            });
        }
        let settings = &self.settings;
        let plan = operands::plan(observed, &settings.namespace, &settings.release, settings.tls.as_ref())?;
        let wanted = match plan {
            Plan::Want(wanted) => wanted,
            Plan::Remove => {
                return Ok(Desired {
                    objects: Vec::new(),
                    workloads: Vec::new(),
                    prune: Prune::All,
                });
            }
            Plan::Leave => {
                return Ok(Desired {
                    objects: Vec::new(),
                    workloads: Vec::new(),
                    prune: Prune::Nothing,
                });
            }
        };
        let mut objects = self.rendered(&wanted, synced).await?;
        objects.extend(self.certificates(&wanted, &objects)?);
        let runs = |object: &&Object| matches!(object.key().kind.as_str(), "Deployment" | "DaemonSet");
        let workloads = objects.iter().filter(runs).map(|object| object.key().clone()).collect();
        Ok(Desired {
            objects,
            workloads,
            prune: Prune::Unwanted,
        })
    }

    /// Operands wait for the configuration they are to read.
    fn may_provision(&self, observed: &Observed, found: &Found) -> Result<bool, Problem> {
        if self.settings.duties.has_sync() {
            let parts = [(CLOUD_CONFIG, &found.cloud_config), (TRUSTED_CA, &found.trusted_ca)];
            let failed = parts.iter().filter_map(|(part, outcome)| match outcome {
                Some(Outcome::Failed(cause)) => Some(format!("{}: {cause}", part.degraded)),
                _ => None,
            });
            let failed: Vec<_> = failed.collect();
            if !failed.is_empty() {
                return Err(Problem::Transient(failed.join("; ")));
            }
            return Ok(parts.iter().all(|(_, outcome)| **outcome != Some(Outcome::Failing)));
        }
        let operator = observed.cluster_operator.clone().map_err(Problem::Transient)?;
        let conditions = operator.map(|operator| operator.status.conditions).unwrap_or_default();
        gate(&conditions)
    }

    /// The objects of the operands, with a hash of what their Pods read.
    async fn rendered(&mut self, wanted: &Wanted, synced: &[Object]) -> Result<Vec<Object>, Problem> {
        let first = wanted.objects(Sources::default())?;
        let mut references: BTreeSet<Key> = first
            .iter()
            .flat_map(|object| config_hash::references(object.value()))
            .map(|reference| observe::reference(&self.settings.namespace, &reference))
            .collect();
        references.extend(hashed(wanted.platform, &self.settings.namespace));
        if first.iter().any(serves) {
            let secrets = [certificates::CA_SECRET, certificates::SERVING_SECRET];
            references.extend(secrets.map(|name| observe::secret(&self.settings.namespace, name)));
        }
        let keys = references.iter().chain(first.iter().map(Object::key));
        let selections: BTreeSet<_> = keys.filter_map(observe::selection).collect();
        self.watches.want(&self.kept(&selections)).await;
        let sources = self.sources(&references, synced)?;
        for object in &first {
            for missing in config_hash::missing(object.value(), &sources) {
                warn!(workload = %object.key(), %missing, "Pods will not start before this is there");
            }
        }
        wanted.objects(sources)
    }

    /// What Pods read: as it is, and where this pass writes it, as it will be.
    fn sources(&self, references: &BTreeSet<Key>, synced: &[Object]) -> Result<Sources, Problem> {
        let mut sources = Sources::default();
        for key in references {
            if key.kind == "Secret" {
                if let Some(secret) = observe::find_secret(&self.watches, key).map_err(Problem::Transient)? {
                    sources.add_secret(&secret);
                }
            } else if let Some(map) = observe::find_config_map(&self.watches, key).map_err(Problem::Transient)? {
                sources.add_config_map(&map);
            }
        }
        for object in synced.iter().filter(|object| references.contains(object.key())) {
            let map = serde_json::from_value(object.value().clone());
            sources.add_config_map(&map.map_err(|error| Problem::Terminal(error.to_string()))?);
        }
        Ok(sources)
    }

    /// The certificate of the secure port, where our own manager serves one.
    fn certificates(&self, wanted: &Wanted, objects: &[Object]) -> Result<Vec<Object>, Problem> {
        let Some(service) = objects.iter().find(|object| object.key().kind == "Service") else {
            return Ok(Vec::new());
        };
        if !objects.iter().any(serves) {
            return Ok(Vec::new());
        }
        let namespace = &wanted.setting.namespace;
        let live = |name: &str| match self.watches.find(&observe::secret(namespace, name)) {
            Lookup::Found(secret) => Ok(Some(secret)),
            Lookup::Absent => Ok(None),
            Lookup::Unknown(reason) => Err(Problem::Transient(reason)),
        };
        let (ca, serving) = (live(certificates::CA_SECRET)?, live(certificates::SERVING_SECRET)?);
        let names = certificates::Names {
            service: service.key().name.clone(),
            namespace: namespace.clone(),
        };
        let live = certificates::Live {
            ca: ca.as_deref(),
            serving: serving.as_deref(),
        };
        let issued = certificates::desired(jiff::Timestamp::now(), live, &names);
        let issued = issued.map_err(|error| Problem::Transient(runtime::logging::chain(&error).to_string()))?;
        self.hands.metrics.certificates(Some(&issued));
        Ok(issued.objects())
    }

    fn operands_failed(&mut self, problem: Problem, found: &mut Found) {
        found.operands = Some(match problem {
            Problem::Terminal(cause) => Operands::Failed(cause),
            Problem::Transient(cause) => {
                warn!(%cause, "cannot install");
                found.failing = true;
                match self.windows.operands.failed(Instant::now()) {
                    Verdict::Tell => Operands::Failed(cause),
                    Verdict::Wait(_) => Operands::Failing,
                }
            }
        });
    }

    /// What is about to be made is written down before it is made: a process that dies in between leaves nothing behind
    /// that its successor would not know of. Says whether it may go on.
    async fn announce(&mut self, observed: &mut Observed, keys: &[Key], inventory: &[Key], found: &mut Found) -> bool {
        let operands = found.operands.as_ref();
        let news = keys.iter().any(|key| is_inventoried(key) && !inventory.contains(key));
        if !self.settings.duties.has_operands() || !news || operands.is_some() {
            return true;
        }
        let mut announced = Found {
            operands: Some(Operands::Progressing(Vec::new())),
            ..Found::default()
        };
        let mut all = inventory.to_vec();
        all.extend(keys.iter().filter(|key| is_inventoried(key)).cloned());
        all.sort();
        all.dedup();
        self.report(observed, &all, &mut announced).await;
        found.failing |= announced.failing;
        !announced.failing
    }

    async fn act(&self, desired: Desired, inventory: &[Key]) -> (Report, Prune) {
        let ours = match desired.prune {
            Prune::Nothing => Vec::new(),
            Prune::Unwanted | Prune::All => self.prunable(inventory),
        };
        let report = match desired.prune {
            Prune::All => {
                let wanted: BTreeSet<_> = desired.objects.iter().map(Object::key).collect();
                let unwanted: Vec<_> = ours.into_iter().filter(|key| !wanted.contains(key)).collect();
                let mut report = self.engine.converge(desired.objects, &[], &self.watches).await;
                if !unwanted.is_empty() {
                    report.absorb(self.engine.remove_all(&unwanted, &self.watches).await);
                }
                report
            }
            Prune::Unwanted | Prune::Nothing => self.engine.converge(desired.objects, &ours, &self.watches).await,
        };
        (report, desired.prune)
    }

    /// What belongs to another process is not ours to remove.
    fn prunable(&self, inventory: &[Key]) -> Vec<Key> {
        let sync = [
            observe::config_map(&self.settings.namespace, cloud_config::NAME),
            observe::config_map(&self.settings.namespace, crate::trusted_ca::NAME),
        ];
        let ours = |key: &&Key| self.settings.duties.has_sync() || !sync.contains(key);
        inventory.iter().filter(ours).cloned().collect()
    }

    /// Takes note of what was written, and says what is ours now.
    fn learn(&self, report: &Report, keys: &[Key], inventory: &[Key], prune: Prune) -> Vec<Key> {
        for (key, _) in report.outcomes() {
            if let Some(object) = report.object(key) {
                self.watches.saw(key, object);
            }
        }
        let mut after: Vec<_> = report.inventory().into_iter().filter(is_inventoried).collect();
        if prune == Prune::Nothing {
            after.extend(inventory.iter().cloned());
            after.extend(keys.iter().filter(|key| is_inventoried(key)).cloned());
        }
        after.sort();
        after.dedup();
        after
    }

    /// What became of the objects, and how their Pods are.
    async fn judge(&mut self, report: &Report, workloads: &[Key], found: &mut Found) {
        let mut failures: Vec<_> = report.failures().map(ToString::to_string).collect();
        failures.sort();
        failures.dedup();
        if !failures.is_empty() {
            found.failing = true;
            self.failed(report, failures.join("; "), found);
            return;
        }
        if found.operands.is_some() || !self.settings.duties.has_operands() {
            return;
        }
        self.windows.operands.worked();
        let pending: Vec<_> = report.pending().map(|(key, why)| format!("{key}: {why}")).collect();
        if !pending.is_empty() {
            found.operands = Some(Operands::Progressing(pending));
            found.again = Some(SOON);
            return;
        }
        let mut all = Vec::new();
        for key in workloads {
            let live = report.object(key).cloned();
            all.push(Workload {
                key: key.clone(),
                live,
                pods: Vec::new(),
            });
        }
        let mut judgement = self.patience.judge(&all, Instant::now());
        if matches!(judgement.operands, Operands::Down(_) | Operands::Failed(_)) {
            rollout::add_pods(&self.hands.eyes, &self.settings.namespace, &mut all).await;
            judgement = self.patience.judge(&all, Instant::now());
        }
        let Judgement { operands, again } = judgement;
        found.again = again;
        found.operands = Some(operands);
    }

    fn failed(&mut self, report: &Report, cause: String, found: &mut Found) {
        warn!(%cause, "not everything could be written");
        let sync = |failure: &crate::operands::Failure| {
            let maps = [cloud_config::NAME, cloud_config::MANAGED_NAME, crate::trusted_ca::NAME];
            failure.key.kind == "ConfigMap" && maps.contains(&failure.key.name.as_str())
        };
        let (of_sync, of_operands): (Vec<_>, Vec<_>) = report.failures().partition(|failure| sync(failure));
        for failure in of_sync {
            let (outcome, window) = if failure.key.name == crate::trusted_ca::NAME {
                (&mut found.trusted_ca, &mut self.windows.trusted_ca)
            } else {
                (&mut found.cloud_config, &mut self.windows.cloud_config)
            };
            *outcome = Some(match window.failed(Instant::now()) {
                Verdict::Tell => Outcome::Failed(failure.to_string()),
                Verdict::Wait(_) => Outcome::Failing,
            });
        }
        if !self.settings.duties.has_operands() || found.operands.is_some() {
            return;
        }
        if of_operands.is_empty() {
            found.operands = Some(Operands::Waiting);
            return;
        }
        found.operands = Some(match self.windows.operands.failed(Instant::now()) {
            Verdict::Tell => Operands::Failed(cause),
            Verdict::Wait(_) => Operands::Failing,
        });
    }

    /// Writes the status where it is not what it should be.
    async fn report(&mut self, observed: &mut Observed, inventory: &[Key], found: &mut Found) {
        let operator = match &observed.cluster_operator {
            Ok(operator) => operator.as_ref(),
            Err(reason) => {
                warn!(%reason, "cannot report");
                found.failing = true;
                return;
            }
        };
        let before = operator.map(|operator| operator.status.clone()).unwrap_or_default();
        let settings = &self.settings;
        let related = report::related(&settings.operator_namespace, &settings.namespace, inventory);
        let report = status::Report {
            cloud_config: found.cloud_config.clone(),
            trusted_ca: found.trusted_ca.clone(),
            operands: found.operands.clone(),
            related: if settings.duties.has_operands() || before.related_objects.is_empty() {
                related
            } else {
                Vec::new()
            },
            release: settings.release.clone(),
        };
        let after = status::next(&before, &report, Timestamp::now());
        for condition in &after.conditions {
            let truth = Truth::of(&condition.status);
            self.hands.metrics.condition(status::NAME, &condition.type_, truth);
        }
        if operator.is_some() && after == before {
            return;
        }
        match report::write(&self.hands.client, operator, &after).await {
            Ok(written) => {
                self.announce_changes(&before, &after);
                if let Ok(value) = serde_json::to_value(&written) {
                    self.watches.saw(&observe::cluster_operator(), &Arc::new(value));
                }
                observed.cluster_operator = Ok(Some(written));
            }
            Err(error) => {
                warn!(reason = %explain(&error), "cannot write the status of the ClusterOperator");
                found.failing = true;
            }
        }
    }

    /// Events about what has turned for the worse, or begun.
    fn announce_changes(&self, before: &Status, after: &Status) {
        let reference = ObjectReference {
            api_version: Some("config.openshift.io/v1".to_owned()),
            kind: Some("ClusterOperator".to_owned()),
            name: Some(status::NAME.to_owned()),
            ..ObjectReference::default()
        };
        let turned = |type_: &str| {
            let said = |status: &Status| status.conditions.iter().find(|each| each.type_ == type_).cloned();
            let now = said(after).filter(|now| now.status == "True")?;
            (said(before).is_none_or(|then| then.status != now.status || then.message != now.message)).then_some(now)
        };
        if let Some(Condition { message, .. }) = turned("Degraded") {
            self.hands
                .recorder
                .event(reference.clone(), Kind::Warning, "StatusDegraded", message);
        }
        let upgrade = turned("Progressing").filter(|now| now.reason == "SyncingResources");
        if let Some(Condition { message, .. }) = upgrade {
            self.hands
                .recorder
                .event(reference, Kind::Normal, "StatusUpgrade", message);
        }
    }
}

/// What the operator has made, by its own word.
fn inventory(observed: &Observed) -> Vec<Key> {
    let operator = observed.cluster_operator.as_ref().ok().and_then(Option::as_ref);
    operator.map_or_else(Vec::new, |operator| report::inventory(&operator.status))
}

/// What the operator removes when it is not wanted any more: everything but what it writes for others.
fn is_inventoried(key: &Key) -> bool {
    key.namespace.as_deref() != Some(cloud_config::MANAGED_NAMESPACE)
}

/// Whether a workload serves with the certificate that we issue.
fn serves(object: &Object) -> bool {
    let volumes = object
        .value()
        .pointer("/spec/template/spec/volumes")
        .and_then(Value::as_array);
    let secret = |volume: &Value| {
        volume
            .pointer("/secret/secretName")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    volumes
        .into_iter()
        .flatten()
        .any(|volume| secret(volume).as_deref() == Some(certificates::SERVING_SECRET))
}

fn hashed(platform: &Platform, namespace: &str) -> Vec<Key> {
    platform
        .hashed_secrets
        .iter()
        .map(|name| observe::secret(namespace, name))
        .collect()
}

/// What another process says about the configuration: whether operands may be installed.
fn gate(conditions: &[Condition]) -> Result<bool, Problem> {
    let complaints = [CLOUD_CONFIG, TRUSTED_CA].into_iter().filter_map(|part| {
        let complaint = part.complaint(conditions)?;
        Some(format!("{}: {complaint}", part.degraded))
    });
    let mut complaints: Vec<_> = complaints.collect();
    complaints.sort();
    if !complaints.is_empty() {
        return Err(Problem::Transient(complaints.join("; ")));
    }
    Ok(CLOUD_CONFIG.works(conditions) && TRUSTED_CA.works(conditions))
}

/// How a part fares, and what it wants.
fn part(
    decided: Result<sync::Decided, Problem>,
    window: &mut Window,
    objects: &mut Vec<Object>,
    failing: &mut bool,
) -> Outcome {
    match decided {
        Ok(decided) => {
            window.worked();
            objects.extend(decided.objects);
            match decided.remarks.as_slice() {
                [] => Outcome::Fine,
                remarks => Outcome::Remarkable(remarks.join("; ")),
            }
        }
        Err(Problem::Terminal(cause)) => Outcome::Failed(cause),
        Err(Problem::Transient(cause)) => {
            warn!(%cause, "cannot sync");
            *failing = true;
            match window.failed(Instant::now()) {
                Verdict::Tell => Outcome::Failed(cause),
                Verdict::Wait(_) => Outcome::Failing,
            }
        }
    }
}

fn by_ref<T>(read: &Result<Option<T>, String>) -> Result<Option<&T>, String> {
    match read {
        Ok(found) => Ok(found.as_ref()),
        Err(reason) => Err(reason.clone()),
    }
}

fn pause(failures: u32) -> Duration {
    PAUSE
        .saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16)))
        .min(LONGEST_PAUSE)
}
