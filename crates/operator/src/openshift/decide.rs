//! What should be in the cluster, decided from what is.

use super::{
    Problem,
    observe::{self, Observed},
    operands::{self, Plan, Wanted},
    pass::{Found, Operator},
    sync,
};
use crate::{
    Key, Object, certificates, cloud_config,
    platforms::{Platform, Sources, config_hash},
    status::{self, CLOUD_CONFIG, Operands, Outcome, TRUSTED_CA, Verdict, Window},
    telling,
    watching::{Lookup, Selection},
};
use operator_api::cluster_operator::Condition;
use serde_json::Value;
use std::{collections::BTreeSet, time::Instant};
use tracing::warn;

/// What should be in the cluster.
pub(super) struct Desired {
    pub(super) objects: Vec<Object>,
    pub(super) prune: Prune,
}

/// What may be removed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prune {
    /// What is not wanted any more.
    Unwanted,
    /// All operands, in the safe order.
    All,
    /// Nothing: it is not known what is wanted.
    Nothing,
}

impl Operator {
    /// What should be there. Where that is not known nothing is touched.
    pub(super) async fn decide(&mut self, observed: &Observed, found: &mut Found) -> Desired {
        if let Ok(gates) = operands::enabled(observed, &self.settings.release) {
            let before = self.gates.as_deref();
            telling::gates(&self.hands.recorder, &self.settings.namespace, before, &gates);
            self.gates = Some(gates);
        }
        let mut objects = if self.settings.duties.has_sync() {
            self.sync(observed, found)
        } else {
            Vec::new()
        };
        if let Ok(Some(infrastructure)) = &observed.infrastructure
            && operands::are_unwanted(infrastructure).is_ok_and(|unwanted| unwanted)
        {
            // It is for operands, and goes with them.
            let cloud_conf = Key::config_map(&self.settings.namespace, cloud_config::NAME);
            objects.retain(|object| *object.key() != cloud_conf);
        }
        if !self.settings.duties.has_operands() {
            return Desired {
                objects,
                prune: Prune::Nothing,
            };
        }
        match self.operands(observed, &objects, found).await {
            Ok(mut desired) => {
                desired.objects.splice(0..0, objects);
                desired
            }
            Err(problem) => {
                self.operands_failed(problem, found);
                Desired {
                    objects,
                    prune: Prune::Nothing,
                }
            }
        }
    }

    pub(super) fn sync(&mut self, observed: &Observed, found: &mut Found) -> Vec<Object> {
        let map = |key: Option<Key>| key.map_or(Ok(None), |key| observe::find_config_map(&self.watches, &key));
        let namespace = &self.settings.namespace;
        let world = sync::World {
            namespace,
            infrastructure: by_ref(&observed.infrastructure),
            network: by_ref(&observed.network),
            gates: operands::enabled(observed, &self.settings.release),
            managed: map(Some(Key::config_map(
                cloud_config::MANAGED_NAMESPACE,
                cloud_config::MANAGED_NAME,
            ))),
            referenced: map(observed.referenced()),
            current: map(Some(Key::config_map(namespace, cloud_config::NAME))),
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
            &mut found.unread,
        ));
        found.trusted_ca = Some(part(
            trusted,
            &mut self.windows.trusted_ca,
            &mut objects,
            &mut found.unread,
        ));
        found.failing |= !found.unread.is_empty();
        objects
    }

    pub(super) async fn operands(
        &mut self,
        observed: &Observed,
        synced: &[Object],
        found: &mut Found,
    ) -> Result<Desired, Problem> {
        let settings = &self.settings;
        let nothing = |prune| Desired {
            objects: Vec::new(),
            prune,
        };
        let plan = operands::plan(observed, &settings.namespace, &settings.release, settings.tls.as_ref());
        // Before there is anything to do, so that an installation does not wait for it.
        self.search(observed).await?;
        self.heed_annotation(observed, found).await;
        // To take something away no configuration is needed.
        match plan {
            Ok(Plan::Remove) => {
                self.hands.metrics.certificates(status::NAME, None);
                // What fails beside it fails all the same.
                match self.may_provision(observed, found) {
                    Ok(true) => {}
                    Ok(false) => found.operands = Some(Operands::Waiting),
                    Err(problem) => self.operands_failed(problem, found),
                }
                return Ok(nothing(Prune::All));
            }
            Ok(Plan::Leave) => return Ok(nothing(Prune::Nothing)),
            Ok(Plan::Want(_)) | Err(_) => {}
        }
        if !self.may_provision(observed, found)? {
            found.operands = Some(Operands::Waiting);
            return Ok(nothing(Prune::Nothing));
        }
        let Plan::Want(wanted) = plan? else {
            return Ok(nothing(Prune::Nothing));
        };
        let warnings = wanted.warnings.iter().cloned().collect();
        for warning in BTreeSet::difference(&warnings, &self.warnings) {
            warn!("{warning}");
        }
        self.warnings = warnings;
        let mut objects = self.rendered(&wanted, synced).await?;
        objects.extend(self.certificates(&wanted, &objects)?);
        Ok(Desired {
            objects,
            prune: Prune::Unwanted,
        })
    }

    /// Operands wait for the configuration they are to read.
    pub(super) fn may_provision(&self, observed: &Observed, found: &Found) -> Result<bool, Problem> {
        if self.settings.duties.has_sync() {
            return found.may_provision();
        }
        let operator = observed.cluster_operator.clone().map_err(Problem::Transient)?;
        let conditions = operator.map(|operator| operator.status.conditions).unwrap_or_default();
        gate(&conditions)
    }

    /// The objects of the operands, with a hash of what their Pods read.
    pub(super) async fn rendered(&mut self, wanted: &Wanted, synced: &[Object]) -> Result<Vec<Object>, Problem> {
        let first = wanted.objects(Sources::default())?;
        let mut references: BTreeSet<Key> = first
            .iter()
            .flat_map(|object| config_hash::references(object.value()))
            .map(|reference| reference.key(&self.settings.namespace))
            .collect();
        references.extend(hashed(wanted.platform, &self.settings.namespace));
        if first.iter().any(serves) {
            let secrets = [certificates::CA_SECRET, certificates::SERVING_SECRET];
            references.extend(secrets.map(|name| Key::secret(&self.settings.namespace, name)));
        }
        let keys = references.iter().chain(first.iter().map(Object::key));
        let selections: BTreeSet<_> = keys.filter_map(Selection::of).collect();
        self.watches.want_also(selections.iter().cloned()).await;
        self.needed.extend(selections);
        let sources = self.sources(&references, synced)?;
        let mut absent = BTreeSet::new();
        for object in &first {
            for missing in config_hash::missing(object.value(), &sources) {
                if !self.missing.contains(&missing) {
                    warn!(workload = %object.key(), %missing, "Pods will not start before this is there");
                    telling::missing(&self.hands.recorder, object.key(), &missing);
                }
                absent.insert(missing);
            }
        }
        self.missing = absent;
        wanted.objects(sources)
    }

    /// What Pods read: as it is, and where this pass writes it, as it will be.
    pub(super) fn sources(&self, references: &BTreeSet<Key>, synced: &[Object]) -> Result<Sources, Problem> {
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
    pub(super) fn certificates(&self, wanted: &Wanted, objects: &[Object]) -> Result<Vec<Object>, Problem> {
        let service = objects.iter().find(|object| object.key().kind == "Service");
        let Some(service) = service.filter(|_| objects.iter().any(serves)) else {
            // What was issued before is nobody's any more: that it expires must not wake anybody up.
            self.hands.metrics.certificates(status::NAME, None);
            return Ok(Vec::new());
        };
        let namespace = &wanted.setting.namespace;
        let live = |name: &str| match self.watches.find(&Key::secret(namespace, name)) {
            Lookup::Found(secret) => Ok(Some(secret)),
            Lookup::Absent => Ok(None),
            Lookup::Unknown(reason) => Err(Problem::Transient(reason)),
        };
        let (ca, serving) = (live(certificates::CA_SECRET)?, live(certificates::SERVING_SECRET)?);
        let names = certificates::Names {
            service: service.key().name.clone(),
            namespace: namespace.clone(),
            prefix: String::new(),
        };
        let live = certificates::Live {
            ca: ca.as_deref(),
            serving: serving.as_deref(),
        };
        let issued = certificates::desired(jiff::Timestamp::now(), live, &names);
        let issued = issued.map_err(|error| Problem::Transient(runtime::logging::chain(&error).to_string()))?;
        self.hands.metrics.certificates(status::NAME, Some(&issued));
        Ok(issued.objects())
    }

    pub(super) fn operands_failed(&mut self, problem: Problem, found: &mut Found) {
        found.operands = Some(match problem {
            Problem::Terminal(cause) => Operands::Failed(cause),
            Problem::Transient(cause) => {
                warn!(%cause, "cannot install");
                found.failing = true;
                found.unread.push(cause.clone());
                found.obstacles.push(cause.clone());
                self.windows.operands_failed(cause)
            }
        });
    }
}

impl Found {
    /// Whether the parts that make the configuration work, as far as it is known.
    pub(super) fn may_provision(&self) -> Result<bool, Problem> {
        let parts = [(CLOUD_CONFIG, &self.cloud_config), (TRUSTED_CA, &self.trusted_ca)];
        let failed = parts.iter().filter_map(|(part, outcome)| match outcome {
            Some(Outcome::Failed(cause)) => Some(format!("{}: {cause}", part.degraded)),
            _ => None,
        });
        let failed: Vec<_> = failed.collect();
        if !failed.is_empty() {
            return Err(Problem::Transient(failed.join("; ")));
        }
        Ok(parts.iter().all(|(_, outcome)| **outcome != Some(Outcome::Failing)))
    }
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
        .map(|name| Key::secret(namespace, name))
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
    unread: &mut Vec<String>,
) -> Outcome {
    match decided {
        Ok(decided) => {
            objects.extend(decided.objects);
            match decided.remarks.as_slice() {
                [] => Outcome::Fine,
                remarks => Outcome::Remarkable(remarks.join("; ")),
            }
        }
        Err(Problem::Terminal(cause)) => Outcome::Failed(cause),
        Err(Problem::Transient(cause)) => {
            warn!(%cause, "cannot sync");
            unread.push(cause.clone());
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
