//! Decides purely what should exist in the cluster, from what was observed.

use super::{
    Problem, Settings, annotation,
    inventory::Prune,
    observed::Observed,
    operands::{self, OperandPlan, Wanted},
    sync,
};
use crate::{
    Key, Lookup, Object, certificates, cloud_config,
    events::Event,
    operands::owners,
    platforms::{Sources, config_hash},
    status::{CLOUD_CONFIG, TRUSTED_CA},
};
use operator_api::cluster_operator::Condition;
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};

/// Within this time the process that writes `cloud-conf` corrects an edit of it.
const CORRECTED: Duration = Duration::from_mins(1);

/// What should exist in the cluster.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// The cloud configuration and the certificates, as far as this process writes them.
    pub(super) config: Vec<Object>,
    /// The operands, without the objects of [`certificate`](Self::certificate).
    pub(super) objects: Vec<Object>,
    /// The serving certificate of the operands, if they need one.
    pub(super) certificate: Option<certificates::Names>,
    /// What may be deleted.
    pub(super) prune: Prune,
    /// Facts that are reported once.
    pub(super) events: BTreeSet<Event>,
    /// Informational messages for the status.
    pub(super) remarks: Vec<String>,
    /// The result for the cloud configuration, if this process writes it: its warnings, or why it is not known.
    pub(super) cloud_config: Option<Result<Vec<String>, Problem>>,
    /// The same for the trusted certificates.
    pub(super) trusted_ca: Option<Result<Vec<String>, Problem>>,
    /// Why operands are not installed, if this process installs them.
    pub(super) blocked: Option<Blocked>,
    /// The objects that this decision depends on.
    pub(super) reads: BTreeSet<Key>,
}

/// Why operands are not installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Blocked {
    /// Their configuration cannot be decided by this process.
    ByConfig,
    /// Another process has not written their configuration yet; the wait ends after this time, if there is a limit.
    ByOtherProcess(Option<Duration>),
    /// Another reason.
    By(Problem),
}

impl Decision {
    /// All objects to write, except the certificate.
    pub(super) fn all(&self) -> impl Iterator<Item = &Object> {
        self.config.iter().chain(&self.objects)
    }

    /// Installs no operands, for this reason.
    pub(super) fn block(&mut self, blocked: Blocked) {
        self.objects.clear();
        self.certificate = None;
        self.prune = Prune::Nothing;
        self.blocked = Some(blocked);
    }
}

/// Decides. If it is not known what should exist in the cluster, nothing is changed.
pub(super) fn decide(observed: &Observed, settings: &Settings) -> Decision {
    let mut decision = Decision {
        reads: observed.config_maps(&settings.namespace).into_iter().collect(),
        ..Decision::default()
    };
    if let Ok(enabled) = operands::enabled(observed, &settings.release) {
        let namespace = settings.namespace.clone();
        decision.events.insert(Event::Gates { namespace, enabled });
    }
    let plan = operands::plan(observed, settings);
    let synced = sync::decide(observed, settings);
    if settings.duties.has_sync() {
        decision.add_config(&synced, &plan, settings);
    }
    if settings.duties.has_operands() {
        decision.add_operands(plan, &synced, observed, settings);
    }
    decision
}

impl Decision {
    /// Whether the operands have to wait for their configuration.
    fn blocked(&mut self, observed: &Observed, synced: &sync::Synced, settings: &Settings) -> Option<Blocked> {
        if settings.duties.has_sync() {
            let is_decided = synced.cloud_config.is_ok() && synced.trusted_ca.is_ok();
            return (!is_decided).then_some(Blocked::ByConfig);
        }
        let operator = match &observed.cluster_operator {
            Ok(operator) => operator.as_ref(),
            Err(reason) => return Some(Blocked::By(Problem::transient(reason))),
        };
        let conditions = operator.map(|operator| operator.status.conditions.as_slice());
        match of_other_process(conditions.unwrap_or_default()) {
            Ok(true) => {}
            Ok(false) => return Some(Blocked::ByOtherProcess(None)),
            Err(problem) => return Some(Blocked::By(problem)),
        }
        match CloudConf::of(observed, synced, settings) {
            CloudConf::AsDesired => None,
            CloudConf::Edited(left) => Some(Blocked::ByOtherProcess(Some(left))),
            CloudConf::Different => {
                let key = Key::config_map(&settings.namespace, cloud_config::NAME);
                self.remarks.push(format!(
                    "{key} differs from what this operator would write, and the process that writes it keeps it so: it is used as it is"
                ));
                None
            }
        }
    }

    fn add_config(&mut self, synced: &sync::Synced, plan: &Result<OperandPlan, Problem>, settings: &Settings) {
        let warnings = |part: &Result<sync::Decided, Problem>| Some(part.clone().map(|decided| decided.warnings));
        self.cloud_config = warnings(&synced.cloud_config);
        self.trusted_ca = warnings(&synced.trusted_ca);
        self.config = synced.objects().cloned().collect();
        if matches!(plan, Ok(OperandPlan::Remove)) {
            // It belongs to the operands, and is deleted with them.
            let cloud_conf = Key::config_map(&settings.namespace, cloud_config::NAME);
            self.config.retain(|object| *object.key() != cloud_conf);
        }
    }

    fn add_operands(
        &mut self,
        plan: Result<OperandPlan, Problem>,
        synced: &sync::Synced,
        observed: &Observed,
        settings: &Settings,
    ) {
        if let Err(reason) = &observed.unlisted {
            return self.block(Blocked::By(Problem::transient(reason)));
        }
        if let Ok(Some(infrastructure)) = &observed.infrastructure
            && let Some(remark) = annotation::remark(infrastructure)
        {
            self.events.insert(Event::Annotation(remark.clone()));
            self.remarks.push(remark);
        }
        let blocked = self.blocked(observed, synced, settings);
        match (plan, blocked) {
            (Ok(OperandPlan::Unknown), _) => {}
            // Operands can be deleted without a configuration. Its failures are reported nevertheless.
            (Ok(OperandPlan::Remove), blocked) => {
                self.prune = Prune::All;
                self.blocked = blocked;
            }
            (_, Some(blocked)) => self.block(blocked),
            (Err(problem), None) => self.block(Blocked::By(problem)),
            (Ok(OperandPlan::Install(wanted)), None) => {
                let written = if settings.duties.has_sync() {
                    synced.objects().collect()
                } else {
                    Vec::new()
                };
                match self.render(&wanted, &written, observed, settings) {
                    Ok(()) => self.prune = Prune::Unwanted,
                    Err(problem) => self.block(Blocked::By(problem)),
                }
            }
        }
    }

    /// Renders the objects of the operands, with a hash of what their Pods read.
    fn render(
        &mut self,
        wanted: &Wanted,
        written: &[&Object],
        observed: &Observed,
        settings: &Settings,
    ) -> Result<(), Problem> {
        let namespace = &settings.namespace;
        let sources = sources(observed, written, namespace)?;
        let objects = wanted.objects(sources.clone())?;
        let references = objects
            .iter()
            .flat_map(|object| config_hash::references(object.value()));
        let hashed = wanted.platform.hashed_secrets.iter();
        let mut read: BTreeSet<Key> = references.map(|reference| reference.key(namespace)).collect();
        read.extend(hashed.map(|name| Key::secret(namespace, name)));
        self.certificate = certificate(&objects, namespace);
        let secrets = self
            .certificate
            .iter()
            .flat_map(|names| [names.ca_secret(), names.serving_secret()]);
        read.extend(secrets);
        self.reads.extend(objects.iter().map(|object| object.key().clone()));
        self.reads
            .extend(self.certificate.iter().map(certificates::Names::bundle));
        self.reads.extend(read.iter().cloned());
        let is_written = |key: &Key| written.iter().any(|object| object.key() == key);
        for key in read.iter().filter(|key| !is_written(key)) {
            if let Lookup::Unknown(reason) = observed.lookup(key) {
                return Err(Problem::Transient(format!("cannot read {key}: {reason}")));
            }
        }
        for object in &objects {
            let missing = config_hash::missing(object.value(), &sources).into_iter();
            let workload = object.key().clone();
            self.events.extend(missing.map(|reference| Event::Missing {
                workload: workload.clone(),
                reference,
            }));
        }
        self.events.extend(wanted.warnings.iter().cloned().map(Event::Tls));
        self.objects = objects;
        Ok(())
    }
}

/// Whether `cloud-conf` has the content that this operator would write.
enum CloudConf {
    AsDesired,
    /// The process that writes it reverts the edit within this time. Pods that are rolled now would be rolled again then.
    Edited(Duration),
    /// The process that writes it has had enough time: it desires another content.
    Different,
}

impl CloudConf {
    fn of(observed: &Observed, synced: &sync::Synced, settings: &Settings) -> Self {
        let key = Key::config_map(&settings.namespace, cloud_config::NAME);
        let desired = synced.objects().find(|object| *object.key() == key);
        let (Some(desired), Lookup::Found(live)) = (desired, observed.lookup(&key)) else {
            return Self::AsDesired;
        };
        if cloud_config::has_same_meaning(desired.value(), &live) {
            return Self::AsDesired;
        }
        let since = owners::last_write(&live).map(|written| observed.now.duration_since(written).unsigned_abs());
        let left = since.and_then(|since| CORRECTED.checked_sub(since));
        left.filter(|left| !left.is_zero())
            .map_or(Self::Different, Self::Edited)
    }
}

/// Whether another process has written the configuration, according to its conditions.
fn of_other_process(conditions: &[Condition]) -> Result<bool, Problem> {
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

/// The `ConfigMaps` and Secrets of the namespace: the existing ones, and those that this pass writes.
fn sources(observed: &Observed, written: &[&Object], namespace: &str) -> Result<Sources, Problem> {
    let mut sources = Sources::default();
    let invalid = |key: &Key, error: &serde_json::Error| Problem::Transient(format!("{key} is not valid: {error}"));
    let existing = observed.objects.iter().filter_map(|(key, lookup)| match lookup {
        Lookup::Found(value) => Some((key, &**value)),
        Lookup::Absent | Lookup::Unknown(_) => None,
    });
    let written = written.iter().map(|object| (object.key(), object.value()));
    let all = existing.chain(written);
    for (key, value) in all.filter(|(key, _)| key.namespace.as_deref() == Some(namespace)) {
        let added = match key.kind.as_str() {
            "ConfigMap" => serde_json::from_value(value.clone()).map(|map| sources.add_config_map(&map)),
            "Secret" => serde_json::from_value(value.clone()).map(|secret| sources.add_secret(&secret)),
            _ => Ok(()),
        };
        added.map_err(|error| invalid(key, &error))?;
    }
    Ok(sources)
}

/// The certificate of the secure port, if the operand is our own manager.
fn certificate(objects: &[Object], namespace: &str) -> Option<certificates::Names> {
    let service = objects.iter().find(|object| object.key().kind == "Service")?;
    objects.iter().any(serves).then(|| certificates::Names {
        service: service.key().name.clone(),
        namespace: namespace.to_owned(),
        prefix: String::new(),
    })
}

/// Whether a workload serves with the certificate that the operator issues.
fn serves(object: &Object) -> bool {
    let volumes = object.value().pointer("/spec/template/spec/volumes");
    let mut volumes = volumes.and_then(Value::as_array).into_iter().flatten();
    volumes.any(|volume| volume["secret"]["secretName"] == certificates::SERVING_SECRET)
}

#[cfg(test)]
mod tests;
