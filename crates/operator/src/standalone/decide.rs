//! Decides purely about a manager, from its spec, from what was observed in the cluster and from the operator's own files.

use super::{
    Context, Error, Monitoring, Settings, check, names, owned,
    provider::{self, Changes, ClusterName, Provider},
    resources,
    status::{Cause, Message},
};
use crate::{
    Key, Lookup, Object, Unread, certificates,
    events::Event,
    monitoring,
    operands::kinds,
    platforms::{
        Images, Sources,
        config_hash::{self, Need},
    },
};
use jiff::Timestamp;
use kube::ResourceExt;
use operator_api::{CloudControllerManager, cloud_controller_manager::ManagementState};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The default name of a cluster.
const DEFAULT_NAME: &str = "kubernetes";
/// The reason of the condition of a manager whose spec is not valid.
const INVALID: &str = "InvalidSpec";

/// What exists in the cluster for a manager, complete before anything is decided. What could not be read is an error, never a guess.
pub(super) struct Observed<'a> {
    pub(super) manager: &'a CloudControllerManager,
    /// Why it cannot have the scope of its spec.
    pub(super) refused: Option<&'a Cause>,
    /// The content of the file with the operator's own image.
    pub(super) images: Result<String, Unread>,
    /// Every object that a decision reads.
    pub(super) objects: BTreeMap<Key, Lookup>,
    pub(super) now: Timestamp,
}

/// What to do with a manager.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The operator changes nothing.
    Unmanaged,
    /// All its objects are deleted.
    Remove,
    /// It is not installed, for this reason; existing Pods continue to run.
    Refuse(Cause),
    /// Its objects are written.
    Apply,
}

/// What should exist in the cluster for a manager.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) action: Action,
    /// The objects, without those of [`certificate`](Self::certificate).
    pub(super) objects: Vec<Object>,
    /// The serving certificate of the manager, if it is installed.
    pub(super) certificate: Option<certificates::Names>,
    /// The objects that may be deleted if they are not desired.
    pub(super) prune: Vec<Key>,
    /// Facts that are reported once.
    pub(super) events: BTreeSet<Event>,
    /// What a roll-out waits for, each one sentence.
    pub(super) remarks: Vec<String>,
    /// The objects that this decision depends on.
    pub(super) reads: BTreeSet<Key>,
}

impl Decision {
    fn new(action: Action) -> Self {
        Self {
            action,
            objects: Vec::new(),
            certificate: None,
            prune: Vec::new(),
            events: BTreeSet::new(),
            remarks: Vec::new(),
            reads: BTreeSet::new(),
        }
    }

    /// Installs nothing, for this reason.
    pub(super) fn refuse(&mut self, problem: Cause) {
        self.action = Action::Refuse(problem);
        self.objects.clear();
        self.certificate = None;
        self.prune.clear();
        self.remarks.clear();
    }
}

/// The objects of a manager, according to its status.
pub(super) fn inventory(manager: &CloudControllerManager) -> Vec<Key> {
    let related = manager.status.iter().flat_map(|status| &status.related_objects);
    related.filter_map(kinds::key).collect()
}

/// Decides.
pub(super) fn decide(observed: &Observed<'_>, settings: &Settings) -> Decision {
    let manager = observed.manager;
    let mut decision = match manager.spec.management_state {
        ManagementState::Unmanaged => Decision::new(Action::Unmanaged),
        ManagementState::Removed => Decision {
            prune: inventory(manager),
            ..Decision::new(Action::Remove)
        },
        ManagementState::Managed => Decision::new(Action::Apply),
    };
    if decision.action == Action::Apply {
        match decision.render(observed, settings) {
            Ok(objects) => {
                decision.objects = objects;
                decision.prune = inventory(manager);
            }
            Err(problem) => decision.refuse(problem),
        }
    }
    if decision.action != Action::Remove {
        // Its Pods are counted in any case.
        let deployment = names::deployment(&manager.name_any(), &settings.namespace);
        decision.reads.insert(deployment);
    }
    decision.reads.extend(decision.prune.iter().cloned());
    decision
}

/// All problems of the spec of a manager.
fn problems(manager: &CloudControllerManager, settings: &Settings) -> Vec<String> {
    let taken = check::taken(&manager.name_any(), &settings.reserved);
    let problems = check::problems(manager, &settings.providers, &settings.flags);
    taken.into_iter().chain(problems).collect()
}

impl Decision {
    fn render(&mut self, observed: &Observed<'_>, settings: &Settings) -> Result<Vec<Object>, Cause> {
        let manager = observed.manager;
        let problems = problems(manager, settings);
        if let Some(refused) = observed.refused {
            return Err(refused.clone().with(&problems));
        }
        if !problems.is_empty() {
            return Err(Cause::Terminal((INVALID, problems.join("; "))));
        }
        let image = image(manager, &observed.images, settings).map_err(Cause::Terminal)?;
        let context = Context {
            namespace: &settings.namespace,
            image: &image,
            providers: &settings.providers,
            flags: &settings.flags,
        };
        let certificates = names::certificates(&manager.name_any(), &settings.namespace);
        let mut objects = resources(manager, &context).map_err(|error| invalid(&error))?;
        if uses_default_name(manager, &settings.providers) {
            self.events.insert(Event::DefaultClusterName {
                manager: manager.name_any(),
            });
        }
        if settings.monitoring == Monitoring::Served {
            objects.extend(monitored(manager, &certificates, &settings.monitor_labels)?);
        }
        self.reads.extend(objects.iter().map(|object| object.key().clone()));
        self.reads.insert(certificates.bundle());
        let sources = self.sources(&objects, &observed.objects, &settings.namespace)?;
        for key in [certificates.ca_secret(), certificates.serving_secret()] {
            self.reads.insert(key.clone());
            if let Some(Lookup::Unknown(reason)) = observed.objects.get(&key) {
                return Err(Cause::unread(format!("cannot read {key}: {reason}")));
            }
        }
        self.certificate = Some(certificates);
        if !follows(manager, &settings.providers) {
            for object in &mut objects {
                let mut value = object.clone().into_value();
                config_hash::put(&mut value, &sources, &[]);
                *object = super::valid(value)?;
            }
        }
        Ok(objects)
    }

    /// The objects that the Pods read. An object that cannot be read is not missing: Pods would be rolled for that.
    fn sources(
        &mut self,
        objects: &[Object],
        observed: &BTreeMap<Key, Lookup>,
        namespace: &str,
    ) -> Result<Sources, Cause> {
        let mut sources = Sources::default();
        let mut unread = None;
        let mut missing = BTreeSet::new();
        for object in objects {
            for reference in config_hash::references(object.value()) {
                let key = reference.key(namespace);
                self.reads.insert(key.clone());
                match observed.get(&key) {
                    Some(Lookup::Found(value)) => add(&mut sources, &key, value)?,
                    Some(Lookup::Absent) if reference.need == Need::Required => {
                        missing.insert(key.to_string());
                        let workload = object.key().clone();
                        self.events.insert(Event::Missing { workload, reference });
                    }
                    Some(Lookup::Absent) => {}
                    Some(Lookup::Unknown(reason)) => unread = Some(format!("cannot read {key}: {reason}")),
                    None => unread = Some(format!("{key} has not been read yet")),
                }
            }
        }
        if !missing.is_empty() {
            let missing = missing.into_iter().collect::<Vec<_>>().join(", ");
            self.remarks.push(format!("Pods wait for {missing}: create it"));
        }
        unread.map_or(Ok(sources), |reason| Err(Cause::unread(reason)))
    }
}

/// Whether the objects of this manager in the cloud have the default name of a cluster.
fn uses_default_name(manager: &CloudControllerManager, providers: &[Provider]) -> bool {
    let name = manager.spec.cluster_name.as_deref();
    let provider = provider::find(providers, &manager.spec.provider);
    provider.is_some_and(|provider| provider.needs.cluster_name == ClusterName::Owns)
        && name.is_none_or(|name| name == DEFAULT_NAME)
}

fn add(sources: &mut Sources, key: &Key, value: &serde_json::Value) -> Result<(), Cause> {
    let added = match key.kind.as_str() {
        "Secret" => serde_json::from_value(value.clone()).map(|secret| sources.add_secret(&secret)),
        _ => serde_json::from_value(value.clone()).map(|map| sources.add_config_map(&map)),
    };
    added.map_err(|error| Cause::unread(format!("{key} is not valid: {error}")))
}

fn image(
    manager: &CloudControllerManager,
    images: &Result<String, Unread>,
    settings: &Settings,
) -> Result<String, Message> {
    if let Some(image) = &manager.spec.image {
        return Ok(image.clone());
    }
    let text = images.as_ref().map_err(|unread| ("NoImage", unread.0.clone()))?;
    let images = Images::parse(text).map_err(|error| ("NoImage", runtime::logging::chain(&error).to_string()))?;
    images.own().map(str::to_owned).ok_or_else(|| {
        let file = &settings.images;
        let problem = format!("{file} has no cloudControllerManagerOperator: add it, or set spec.image");
        ("NoImage", problem)
    })
}

fn invalid(error: &Error) -> Cause {
    Cause::Terminal(match error {
        Error::Spec(_) => (INVALID, error.to_string()),
        Error::Manifest(_) => ("InvalidManifest", error.to_string()),
    })
}

/// The objects for Prometheus: how it finds the manager's metrics, which certificates it trusts, and its alerts.
fn monitored(
    manager: &CloudControllerManager,
    certificates: &certificates::Names,
    labels: &BTreeMap<String, String>,
) -> Result<Vec<Object>, Cause> {
    let objects = monitoring::operand(&certificates.namespace, &certificates.service)
        .map_err(|error| Cause::Terminal(("InvalidManifest", runtime::logging::chain(&error).to_string())))?;
    let objects = objects.into_iter().map(|object| {
        let mut value = object.into_value();
        if value["kind"] == "ServiceMonitor" {
            value["spec"]["selector"] = json!({ "matchLabels": names::selector(&manager.name_any()) });
            let bundle = &mut value["spec"]["endpoints"][0]["tlsConfig"]["ca"]["configMap"]["name"];
            *bundle = json!(certificates.bundle().name);
        }
        let mut object = owned(value, manager)?.into_value();
        for (label, value) in labels.iter().chain(&manager.spec.monitoring.labels) {
            object["metadata"]["labels"][label] = json!(value);
        }
        super::valid(object)
    });
    objects.collect()
}

/// Whether the Pods reload a changed configuration. If they do not, a change rolls them.
fn follows(manager: &CloudControllerManager, providers: &[Provider]) -> bool {
    let provider = provider::find(providers, &manager.spec.provider);
    provider.is_some_and(|provider| provider.needs.changes == Changes::Followed)
}

#[cfg(test)]
mod tests;
