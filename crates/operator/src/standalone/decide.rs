//! The objects of a manager, decided purely from its spec, from what is in the cluster and from the operator's own files.

use super::{
    Context, Error, Monitoring, Settings, check, names, owned,
    provider::{self, Changes, Provider},
    resources,
    status::{Message, Problem},
};
use crate::{
    Key, Lookup, Object, certificates,
    events::Event,
    monitoring,
    platforms::{
        Images, Sources,
        config_hash::{self, Need},
    },
};
use kube::ResourceExt;
use operator_api::CloudControllerManager;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The reason of the condition of a manager whose spec is not valid.
const INVALID: &str = "InvalidSpec";

/// What should be in the cluster for a manager.
pub(super) struct Decision {
    /// All objects but those of the serving certificate; or why there are none.
    pub(super) objects: Result<Vec<Object>, Problem>,
    /// What holds, and is reported once.
    pub(super) events: BTreeSet<Event>,
    /// The objects without which the Pods cannot start, and that do not exist.
    pub(super) missing: BTreeSet<Key>,
    /// The objects that this decision depends on.
    pub(super) reads: BTreeSet<Key>,
}

/// Decides. `objects` are those that were observed, and `images` is the file with the operator's own image.
pub(super) fn decide(
    manager: &CloudControllerManager,
    objects: &BTreeMap<Key, Lookup>,
    images: &Result<String, String>,
    settings: &Settings,
) -> Decision {
    let mut decision = Decision {
        objects: Ok(Vec::new()),
        events: BTreeSet::new(),
        missing: BTreeSet::new(),
        reads: BTreeSet::new(),
    };
    decision.objects = decision.render(manager, objects, images, settings);
    decision
}

impl Decision {
    fn render(
        &mut self,
        manager: &CloudControllerManager,
        observed: &BTreeMap<Key, Lookup>,
        images: &Result<String, String>,
        settings: &Settings,
    ) -> Result<Vec<Object>, Problem> {
        let name = manager.name_any();
        if let Some(taken) = check::taken(&name, &settings.reserved) {
            return Err(Problem::Terminal((INVALID, taken)));
        }
        let image = image(manager, images, settings).map_err(Problem::Terminal)?;
        let context = Context {
            namespace: &settings.namespace,
            image: &image,
            providers: &settings.providers,
            flags: &settings.flags,
        };
        let certificates = names::certificates(&name, &settings.namespace);
        let mut objects = resources(manager, &context).map_err(|error| invalid(&error))?;
        if settings.monitoring == Monitoring::Served {
            objects.extend(monitored(manager, &certificates)?);
        }
        self.reads.extend(objects.iter().map(|object| object.key().clone()));
        self.reads.extend([
            certificates.ca_secret(),
            certificates.serving_secret(),
            certificates.bundle(),
        ]);
        let sources = self.sources(&objects, observed, &settings.namespace)?;
        if !follows(manager, &settings.providers) {
            for object in &mut objects {
                let mut value = object.clone().into_value();
                config_hash::put(&mut value, &sources, &[]);
                *object = super::valid(value)?;
            }
        }
        Ok(objects)
    }

    /// What the Pods read. What could not be read is not missing: Pods would be rolled for that.
    fn sources(
        &mut self,
        objects: &[Object],
        observed: &BTreeMap<Key, Lookup>,
        namespace: &str,
    ) -> Result<Sources, Problem> {
        let mut sources = Sources::default();
        let mut unread = None;
        for object in objects {
            for reference in config_hash::references(object.value()) {
                let key = reference.key(namespace);
                self.reads.insert(key.clone());
                match observed.get(&key) {
                    Some(Lookup::Found(value)) => add(&mut sources, &key, value)?,
                    Some(Lookup::Absent) if reference.need == Need::Required => {
                        self.missing.insert(key);
                        let workload = object.key().clone();
                        self.events.insert(Event::Missing { workload, reference });
                    }
                    Some(Lookup::Absent) => {}
                    Some(Lookup::Unknown(reason)) => unread = Some(format!("cannot read {key}: {reason}")),
                    None => unread = Some(format!("{key} has not been read yet")),
                }
            }
        }
        unread.map_or(Ok(sources), |reason| Err(Problem::unread(reason)))
    }
}

fn add(sources: &mut Sources, key: &Key, value: &serde_json::Value) -> Result<(), Problem> {
    let added = match key.kind.as_str() {
        "Secret" => serde_json::from_value(value.clone()).map(|secret| sources.add_secret(&secret)),
        _ => serde_json::from_value(value.clone()).map(|map| sources.add_config_map(&map)),
    };
    added.map_err(|error| Problem::unread(format!("{key} is not valid: {error}")))
}

fn image(
    manager: &CloudControllerManager,
    images: &Result<String, String>,
    settings: &Settings,
) -> Result<String, Message> {
    if let Some(image) = &manager.spec.image {
        return Ok(image.clone());
    }
    let text = images.as_ref().map_err(|problem| ("NoImage", problem.clone()))?;
    let images = Images::parse(text).map_err(|error| ("NoImage", runtime::logging::chain(&error).to_string()))?;
    images.own().map(str::to_owned).ok_or_else(|| {
        let file = settings.images.display();
        let problem = format!("{file} has no cloudControllerManagerOperator: add it, or set spec.image");
        ("NoImage", problem)
    })
}

fn invalid(error: &Error) -> Problem {
    Problem::Terminal(match error {
        Error::Spec(_) => (INVALID, error.to_string()),
        Error::Manifest(_) => ("InvalidManifest", error.to_string()),
    })
}

/// How Prometheus finds the manager's metrics, which certificates it trusts, and when it raises alerts.
fn monitored(manager: &CloudControllerManager, certificates: &certificates::Names) -> Result<Vec<Object>, Problem> {
    let objects = monitoring::operand(&certificates.namespace, &certificates.service)
        .map_err(|error| Problem::Terminal(("InvalidManifest", runtime::logging::chain(&error).to_string())))?;
    let objects = objects.into_iter().map(|object| {
        let mut value = object.into_value();
        if value["kind"] == "ServiceMonitor" {
            value["spec"]["selector"] = json!({ "matchLabels": names::selector(&manager.name_any()) });
            let bundle = &mut value["spec"]["endpoints"][0]["tlsConfig"]["ca"]["configMap"]["name"];
            *bundle = json!(certificates.bundle().name);
        }
        owned(value, manager)
    });
    objects.collect()
}

/// Whether the Pods read a changed configuration again. If they do not, a change rolls them.
fn follows(manager: &CloudControllerManager, providers: &[Provider]) -> bool {
    let provider = provider::find(providers, &manager.spec.provider);
    provider.is_some_and(|provider| provider.needs.changes == Changes::Followed)
}

#[cfg(test)]
mod tests;
