//! One pass after the other over all managers: read, decide, act, report.

use super::{
    Context, names, owner, provider, resources, scope,
    status::{Found, Said, State, failed, next},
};
use crate::{
    Key, Object, certificates,
    monitoring::{self, Truth},
    operands::{Engine, Report, kinds},
    platforms::{Images, Sources, config_hash},
    rollout::{Judgement, Patience, Workload},
    run::Hands,
    status::Operands,
    telling,
    watching::{Lookup, Resource, Selection, Watches},
};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use operator_api::{CloudControllerManager, cloud_controller_manager::ManagementState};
use runtime::{client::explain, health::Pulse};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::warn;

const API: &str = "outrigger.dev/v1alpha1";
/// Everything is looked at again after this time; certificates are renewed then, too.
const RESYNC: Duration = Duration::from_mins(10);
/// While something is being removed it is looked at again this soon.
const SOON: Duration = Duration::from_secs(2);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(2);
/// A pass that takes longer than this hangs.
const HANGS: Duration = Duration::from_mins(5);

/// The operator on any Kubernetes.
pub struct Operator {
    namespace: String,
    images: PathBuf,
    hands: Hands,
    watches: Watches,
    engine: Engine,
    changed: Arc<Notify>,
    pulse: Pulse,
    patience: BTreeMap<String, Patience>,
    monitoring: Monitoring,
}

/// Whether the cluster has the kinds by which Prometheus is told what to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitoring {
    /// It has.
    Served,
    /// It has not.
    Absent,
}

impl Operator {
    /// Nothing is read or written yet. Managers run in `namespace`; `images` is the file with the operator's own image.
    pub fn new(namespace: String, images: PathBuf, hands: Hands, monitoring: Monitoring) -> Self {
        let changed = Arc::new(Notify::new());
        Self {
            watches: Watches::new(hands.eyes.clone(), changed.clone()),
            engine: Engine::new(hands.client.clone()),
            namespace,
            images,
            hands,
            changed,
            pulse: Pulse::default(),
            patience: BTreeMap::new(),
            monitoring,
        }
    }

    /// Whether it is alive: a pass that does not end is not.
    pub fn liveness(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        let pulse = self.pulse.clone();
        move || pulse.stuck(HANGS)
    }

    /// Works until it is told to stop.
    pub async fn run(&mut self, stop: &CancellationToken) {
        loop {
            self.pulse.begin();
            let again = self.pass().await;
            self.pulse.success();
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed.notified() => {}
                () = tokio::time::sleep(again.unwrap_or(RESYNC)) => {}
            }
        }
    }

    async fn pass(&mut self) -> Option<Duration> {
        let kind = Resource::new(API, "CloudControllerManager", "cloudcontrollermanagers");
        self.watches.want_also([Selection::all(&kind)]).await;
        let managers: Vec<CloudControllerManager> =
            self.watches.all(&kind).iter().filter_map(|value| read(value)).collect();
        let is_there = |name: &String| managers.iter().any(|manager| manager.name_any() == *name);
        for name in self.patience.keys().filter(|name| !is_there(name)) {
            for condition in ["Available", "Progressing", "Degraded"] {
                self.hands.metrics.condition(name, condition, Truth::Unknown);
            }
        }
        self.patience.retain(|name, _| is_there(name));
        let overlaps = scope::overlaps(&managers);
        let mut again: Option<Duration> = None;
        for manager in managers
            .iter()
            .filter(|manager| manager.metadata.deletion_timestamp.is_none())
        {
            let name = manager.name_any();
            let refused: Vec<_> = overlaps.iter().filter(|overlap| overlap.refused == name).collect();
            let sentence = refused
                .iter()
                .map(|overlap| overlap.sentence.as_str())
                .collect::<Vec<_>>()
                .join("; ");
            let found = self.one(manager, &sentence).await;
            let reported = self.report(manager, &found).await;
            let next = [found.again, (!reported).then_some(PAUSE), again];
            again = next.into_iter().flatten().min();
        }
        again
    }

    async fn one(&mut self, manager: &CloudControllerManager, refused: &str) -> Found {
        let inventory = inventory(manager);
        match manager.spec.management_state {
            ManagementState::Unmanaged => Found {
                state: State::Unmanaged,
                inventory,
                ..Found::default()
            },
            ManagementState::Removed => self.removed(&inventory).await,
            ManagementState::Managed if !refused.is_empty() => failed(scope::OVERLAP, refused.to_owned(), inventory),
            ManagementState::Managed => match self.desired(manager).await {
                Ok(objects) => self.managed(manager, objects, inventory).await,
                Err((reason, why)) => Found {
                    again: Some(PAUSE),
                    ..failed(reason, why, inventory)
                },
            },
        }
    }

    async fn removed(&mut self, inventory: &[Key]) -> Found {
        self.watch(inventory).await;
        let report = self.engine.remove_all(inventory, &self.watches).await;
        telling::tell(&self.hands.recorder, &report);
        let failures: Vec<_> = report.failures().map(ToString::to_string).collect();
        let pending: Vec<_> = report.pending().map(|(key, why)| format!("{key}: {why}")).collect();
        let said = |reason, sentences: Vec<String>| (!sentences.is_empty()).then(|| (reason, sentences.join("; ")));
        let again = if failures.is_empty() { SOON } else { PAUSE };
        Found {
            state: State::Removed,
            again: (!report.is_complete()).then_some(again),
            progressing: said("Removing", pending),
            degraded: said("RemovalFailed", failures),
            inventory: report.inventory(),
        }
    }

    /// The objects of a manager, with its certificate; or a reason and a sentence.
    async fn desired(&mut self, manager: &CloudControllerManager) -> Result<Vec<Object>, (&'static str, String)> {
        let text = std::fs::read_to_string(&self.images);
        let text = text.map_err(|error| ("NoImage", format!("cannot read {}: {error}", self.images.display())))?;
        let images = Images::parse(&text).map_err(|error| ("NoImage", runtime::logging::chain(&error).to_string()))?;
        let image = manager.spec.image.as_deref().or(images.own());
        let image = image.ok_or_else(|| {
            let file = self.images.display();
            (
                "NoImage",
                format!("{file} has no cloudControllerManagerOperator: add it, or give spec.image"),
            )
        })?;
        let context = Context {
            namespace: &self.namespace,
            image,
        };
        let mut objects = resources(manager, &context).map_err(|error| ("InvalidSpec", error.to_string()))?;
        let name = manager.name_any();
        let secrets = [certificates::CA_SECRET, certificates::SERVING_SECRET];
        let secrets = secrets.map(|secret| Key::secret(&self.namespace, &prefixed(&name, secret)));
        let keys: Vec<_> = objects
            .iter()
            .map(|object| object.key().clone())
            .chain(secrets.clone())
            .collect();
        self.watch(&keys).await;
        objects.extend(self.certificate(manager, &secrets)?);
        let follows = provider::find(&manager.spec.provider).map(|provider| provider.changes);
        if follows != Some(provider::Changes::Followed) {
            objects = self.hashed(objects).await?;
        }
        if self.monitoring == Monitoring::Served {
            objects.extend(monitored(manager, &self.namespace)?);
        }
        Ok(objects)
    }

    fn certificate(
        &self,
        manager: &CloudControllerManager,
        secrets: &[Key; 2],
    ) -> Result<Vec<Object>, (&'static str, String)> {
        let name = manager.name_any();
        let live = |key: &Key| match self.watches.find(key) {
            Lookup::Found(secret) => Ok(Some(secret)),
            Lookup::Absent => Ok(None),
            Lookup::Unknown(reason) => Err(("CannotRead", format!("cannot read {key}: {reason}"))),
        };
        let (ca, serving) = (live(&secrets[0])?, live(&secrets[1])?);
        let service = certificates::Names {
            service: names::full(&name),
            namespace: self.namespace.clone(),
        };
        let live = certificates::Live {
            ca: ca.as_deref(),
            serving: serving.as_deref(),
        };
        let issued = certificates::desired(jiff::Timestamp::now(), live, &service);
        let issued = issued.map_err(|error| ("NoCertificate", runtime::logging::chain(&error).to_string()))?;
        let renamed = issued.objects().into_iter().filter_map(|object| {
            let own = prefixed(&name, &object.key().name);
            let mut value = object.into_value();
            value["metadata"]["name"] = own.into();
            // It goes with its manager, like everything else.
            value["metadata"]["labels"] = json!(names::labels(manager, &name));
            value["metadata"]["ownerReferences"] = json!(owner(manager).into_iter().collect::<Vec<_>>());
            Object::new(value).ok()
        });
        Ok(renamed.collect())
    }

    /// A program that reads its configuration only once: a change has to roll its Pods.
    async fn hashed(&mut self, objects: Vec<Object>) -> Result<Vec<Object>, (&'static str, String)> {
        let references: BTreeSet<Key> = objects
            .iter()
            .flat_map(|object| config_hash::references(object.value()))
            .map(|reference| reference.key(&self.namespace))
            .collect();
        let keys: Vec<_> = references.iter().cloned().collect();
        self.watch(&keys).await;
        let mut sources = Sources::default();
        for key in &keys {
            let Lookup::Found(value) = self.watches.find(key) else {
                continue;
            };
            if key.kind == "Secret" {
                sources.add_secret(&read(&value).unwrap_or_default());
            } else {
                sources.add_config_map(&read(&value).unwrap_or_default());
            }
        }
        let hashed = objects.into_iter().filter_map(|object| {
            let mut value = object.into_value();
            config_hash::put(&mut value, &sources, &[]);
            Object::new(value).ok()
        });
        Ok(hashed.collect())
    }

    async fn watch(&mut self, keys: &[Key]) {
        self.watches.want_also(keys.iter().filter_map(Selection::of)).await;
    }

    async fn managed(&mut self, manager: &CloudControllerManager, objects: Vec<Object>, inventory: Vec<Key>) -> Found {
        let mut all: Vec<_> = objects
            .iter()
            .map(|object| object.key().clone())
            .chain(inventory.clone())
            .collect();
        all.sort();
        all.dedup();
        if all.iter().any(|key| !inventory.contains(key)) {
            // What is about to be made is written down before it is made.
            let announced = Found {
                progressing: Some(("Installing", "objects are being written".to_owned())),
                inventory: all.clone(),
                ..Found::default()
            };
            if !self.report(manager, &announced).await {
                return Found {
                    again: Some(PAUSE),
                    ..failed("CannotReport", "the status cannot be written".to_owned(), inventory)
                };
            }
        }
        let report = self.engine.converge(objects, &inventory, &self.watches).await;
        telling::tell(&self.hands.recorder, &report);
        self.watches.learn(&report);
        self.judged(manager, &report).await
    }

    async fn judged(&mut self, manager: &CloudControllerManager, report: &Report) -> Found {
        let failures: Vec<_> = report.failures().map(ToString::to_string).collect();
        if !failures.is_empty() {
            return Found {
                again: Some(PAUSE),
                ..failed("SyncingFailed", failures.join("; "), report.inventory())
            };
        }
        let is_there = |key: &Key| key.kind == "Deployment" && report.object(key).is_some();
        let deployments = report.outcomes().filter(|(key, _)| is_there(key));
        let workloads = deployments.map(|(key, _)| Workload::of(report, key)).collect();
        let patience = self.patience.entry(manager.name_any()).or_default();
        let judging = patience.examine(&self.hands.eyes, &self.namespace, workloads);
        let Judgement { operands, again } = judging.await;
        let (mut progressing, mut degraded) = (None, None);
        match operands {
            Operands::Progressing(waiting) => progressing = Some(("RollingOut", waiting.join("; "))),
            Operands::Down(why) | Operands::Failed(why) | Operands::Outage(why) => degraded = Some(("PodsFail", why)),
            Operands::Done | Operands::Waiting | Operands::Failing => {}
        }
        Found {
            state: State::Managed,
            progressing,
            degraded,
            inventory: report.inventory(),
            again,
        }
    }

    /// The manager's Deployment, if there is one.
    fn deployment(&self, manager: &CloudControllerManager) -> Option<Arc<Value>> {
        let key = Key::namespaced(
            "apps/v1",
            "Deployment",
            &self.namespace,
            &names::full(&manager.name_any()),
        );
        match self.watches.find(&key) {
            Lookup::Found(deployment) => Some(deployment),
            Lookup::Absent | Lookup::Unknown(_) => None,
        }
    }

    /// Writes the status where it is not what it should be. Says whether it is now.
    async fn report(&self, manager: &CloudControllerManager, found: &Found) -> bool {
        let before = manager.status.clone().unwrap_or_default();
        let after = next(manager, &before, found, self.deployment(manager).as_deref());
        for condition in &after.conditions {
            let truth = Truth::of(&condition.status);
            self.hands
                .metrics
                .condition(&manager.name_any(), &condition.type_, truth);
        }
        if after == before {
            return true;
        }
        let api: Api<CloudControllerManager> = Api::all(self.hands.client.clone());
        // Lists are replaced as a whole, and what is not there any more is removed.
        let mut status = json!(after);
        for field in ["conditions", "relatedObjects", "version"] {
            if status.get(field).is_none() {
                status[field] = Value::Null;
            }
        }
        let patch = Patch::Merge(json!({ "status": status }));
        let params = PatchParams {
            field_manager: Some(crate::operands::MANAGER.to_owned()),
            ..PatchParams::default()
        };
        match api.patch_status(&manager.name_any(), &params, &patch).await {
            Ok(written) => {
                if let Ok(value) = serde_json::to_value(&written) {
                    let key = Key::of_cluster(API, "CloudControllerManager", &manager.name_any());
                    self.watches.saw(&key, &Arc::new(value));
                }
                true
            }
            Err(kube::Error::Api(status)) if status.code == 404 => true,
            Err(error) => {
                warn!(manager = manager.name_any(), reason = %explain(&error), "cannot write the status");
                false
            }
        }
    }
}

/// What tells Prometheus where the manager's metrics are, whom to trust, and when to complain.
fn monitored(manager: &CloudControllerManager, namespace: &str) -> Result<Vec<Object>, Said> {
    let name = manager.name_any();
    let wrong = |error: String| ("Monitoring", error);
    let objects = monitoring::operand(namespace, &names::full(&name)).map_err(|error| wrong(error.to_string()))?;
    let owned = objects.into_iter().map(|object| {
        let mut value = object.into_value();
        value["metadata"]["labels"] = json!(names::labels(manager, &name));
        value["metadata"]["ownerReferences"] = json!(super::owner(manager).into_iter().collect::<Vec<_>>());
        if value["kind"] == "ServiceMonitor" {
            value["spec"]["selector"] = json!({ "matchLabels": names::selector(&name) });
            let bundle = &mut value["spec"]["endpoints"][0]["tlsConfig"]["ca"]["configMap"]["name"];
            *bundle = json!(prefixed(&name, certificates::BUNDLE));
        }
        Object::new(value).map_err(|error| wrong(error.to_string()))
    });
    owned.collect()
}

fn inventory(manager: &CloudControllerManager) -> Vec<Key> {
    let related = manager.status.iter().flat_map(|status| &status.related_objects);
    related.filter_map(kinds::key).collect()
}

/// Each manager has an authority of its own, in objects of its own.
fn prefixed(manager: &str, name: &str) -> String {
    format!("{manager}-{name}")
}

fn read<T: for<'a> Deserialize<'a>>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}
