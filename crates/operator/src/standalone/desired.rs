//! The objects of a manager: from its spec, from what is in the cluster, and from the operator's own files.

use super::{
    Context, Error, check, names, observe, own,
    pass::{Monitoring, Operator},
    provider::{self, Changes, Provider},
    resources,
    status::{Problem, Said},
};
use crate::{
    Key, Object, certificates, monitoring,
    platforms::{
        Images, Sources,
        config_hash::{self, Need},
    },
    telling,
    watching::{Lookup, Watches},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use operator_api::CloudControllerManager;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tracing::warn;

/// The reason of the condition of a manager that asks for what cannot be.
const INVALID: &str = "InvalidSpec";

impl Operator {
    /// The objects of a manager, with its certificate. What they are made from is watched from now on.
    pub(super) async fn desired(&mut self, manager: &CloudControllerManager) -> Result<Vec<Object>, Problem> {
        let name = manager.name_any();
        if let Some(taken) = check::taken(&name, &self.reserved) {
            return Err(Problem::Terminal((INVALID, taken)));
        }
        let image = self.image(manager).map_err(Problem::Terminal)?;
        let context = Context {
            namespace: &self.namespace,
            image: &image,
            providers: &self.providers,
        };
        let certificates = names::certificates(&name, &self.namespace);
        let mut objects = resources(manager, &context).map_err(|error| invalid(&error))?;
        if self.monitoring == Monitoring::Served {
            objects.extend(monitored(manager, &certificates)?);
        }
        let read = read(&objects, &self.namespace);
        let mut keys: BTreeSet<Key> = objects.iter().map(|object| object.key().clone()).collect();
        keys.extend([
            certificates.ca_secret(),
            certificates.serving_secret(),
            certificates.bundle(),
        ]);
        keys.extend(read.iter().cloned());
        self.watch(&name, &keys).await;
        objects.extend(self.issued(manager, &certificates)?);
        if follows(manager, &self.providers) {
            return Ok(objects);
        }
        hashed(objects, &sources(&self.watches, &read)?)
    }

    /// Tells what the Pods of these objects cannot start without and is not there, once for as long as it is not.
    pub(super) fn tell_missing(&mut self, name: &str, objects: &[Object]) {
        let told = std::mem::take(&mut self.care(name).missing);
        let mut absent = BTreeSet::new();
        for object in objects {
            for reference in config_hash::references(object.value()) {
                let needed = reference.need == Need::Required;
                if !needed || self.watches.find(&reference.key(&self.namespace)) != Lookup::Absent {
                    continue;
                }
                if !told.contains(&reference) {
                    warn!(workload = %object.key(), missing = %reference, "Pods will not start before this is there");
                    telling::missing(&self.hands.recorder, object.key(), &reference);
                }
                absent.insert(reference);
            }
        }
        self.care(name).missing = absent;
    }

    fn image(&self, manager: &CloudControllerManager) -> Result<String, Said> {
        if let Some(image) = &manager.spec.image {
            return Ok(image.clone());
        }
        let text = self.images.as_ref().map_err(|problem| ("NoImage", problem.clone()))?;
        let images = Images::parse(text).map_err(|error| ("NoImage", runtime::logging::chain(&error).to_string()))?;
        images.own().map(str::to_owned).ok_or_else(|| {
            let file = self.file.display();
            let what = format!("{file} has no cloudControllerManagerOperator: add it, or give spec.image");
            ("NoImage", what)
        })
    }

    /// The certificate of the secure port: what is there if it will do, a new one otherwise.
    fn issued(&self, manager: &CloudControllerManager, names: &certificates::Names) -> Result<Vec<Object>, Problem> {
        let unknown = |reason| Problem::Transient(("CannotRead", reason));
        let find = |key: &Key| observe::find::<Value>(&self.watches, key).map_err(unknown);
        let (ca, serving) = (find(&names.ca_secret())?, find(&names.serving_secret())?);
        let live = certificates::Live {
            ca: ca.as_ref(),
            serving: serving.as_ref(),
        };
        let issued = certificates::desired(jiff::Timestamp::now(), live, names)
            .map_err(|error| Problem::Transient(("NoCertificate", runtime::logging::chain(&error).to_string())))?;
        self.hands.metrics.certificates(&manager.name_any(), Some(&issued));
        let objects = issued.objects().into_iter().map(Object::into_value);
        objects.map(|object| owned(object, manager)).collect()
    }
}

fn invalid(error: &Error) -> Problem {
    Problem::Terminal(match error {
        Error::Spec(_) => (INVALID, error.to_string()),
        Error::Manifest(_) => ("InvalidManifest", error.to_string()),
    })
}

/// It goes with its manager, like everything else.
fn owned(mut object: Value, manager: &CloudControllerManager) -> Result<Object, Problem> {
    own(&mut object, manager);
    made(object)
}

fn made(object: Value) -> Result<Object, Problem> {
    Object::new(object).map_err(|error| Problem::Terminal(("InvalidManifest", error.to_string())))
}

/// What tells Prometheus where the manager's metrics are, whom to trust, and when to complain.
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

/// What the Pods read.
fn read(objects: &[Object], namespace: &str) -> BTreeSet<Key> {
    let references = objects
        .iter()
        .flat_map(|object| config_hash::references(object.value()));
    references.map(|reference| reference.key(namespace)).collect()
}

/// Whether the Pods look again at what they read. Where they do not, a change has to roll them.
fn follows(manager: &CloudControllerManager, providers: &[Provider]) -> bool {
    let provider = provider::find(providers, &manager.spec.provider);
    provider.is_some_and(|provider| provider.needs.changes == Changes::Followed)
}

/// What Pods read. Something that could not be read is not missing: Pods would be rolled for that.
fn sources(watches: &Watches, keys: &BTreeSet<Key>) -> Result<Sources, Problem> {
    let unknown = |reason| Problem::Transient(("CannotRead", reason));
    let mut sources = Sources::default();
    for key in keys {
        if key.kind == "Secret" {
            if let Some(secret) = observe::find::<Secret>(watches, key).map_err(unknown)? {
                sources.add_secret(&secret);
            }
        } else if let Some(map) = observe::find::<ConfigMap>(watches, key).map_err(unknown)? {
            sources.add_config_map(&map);
        }
    }
    Ok(sources)
}

fn hashed(objects: Vec<Object>, sources: &Sources) -> Result<Vec<Object>, Problem> {
    let hashed = objects.into_iter().map(|object| {
        let mut value = object.into_value();
        config_hash::put(&mut value, sources, &[]);
        made(value)
    });
    hashed.collect()
}
