//! Reads the cluster.

use super::{
    Settings,
    decide::{Decision, decide},
    inventory::{candidates, names_operands},
    observed::{Observed, OwnFiles, Read, typed},
    operator::Operator,
};
use crate::{
    Key, Unread,
    cache::{Cache, Resource, Selection},
    operands::{Class, Failure},
    status,
};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use operator_api::{ClusterOperator, Infrastructure};
use serde::de::DeserializeOwned;
use std::{collections::BTreeSet, fs, path::Path};

const CONFIG: &str = "config.openshift.io/v1";
/// How many objects are read at a time.
const CONCURRENCY: usize = 8;

/// An object of which a cluster has one.
#[derive(Clone, Copy)]
struct Singleton {
    kind: &'static str,
    plural: &'static str,
    name: &'static str,
}

impl Singleton {
    const fn new(kind: &'static str, plural: &'static str) -> Self {
        let name = "cluster";
        Self { kind, plural, name }
    }

    fn key(self) -> Key {
        Key::of_cluster(CONFIG, self.kind, self.name)
    }

    fn selection(self) -> Selection {
        Selection::one(&Resource::new(CONFIG, self.kind, self.plural), None, self.name)
    }

    fn read<T: DeserializeOwned>(self, cache: &Cache) -> Read<T> {
        typed(&self.key(), cache.find(&self.key()))
    }
}

const INFRASTRUCTURE: Singleton = Singleton::new("Infrastructure", "infrastructures");
const NETWORK: Singleton = Singleton::new("Network", "networks");
const PROXY: Singleton = Singleton::new("Proxy", "proxies");
const FEATURE_GATE: Singleton = Singleton::new("FeatureGate", "featuregates");
const API_SERVER: Singleton = Singleton::new("APIServer", "apiservers");
const CLUSTER_VERSION: Singleton = Singleton {
    name: "version",
    ..Singleton::new("ClusterVersion", "clusterversions")
};
const CLUSTER_OPERATOR: Singleton = Singleton {
    name: status::NAME,
    ..Singleton::new("ClusterOperator", "clusteroperators")
};
const SINGLETONS: [Singleton; 7] = [
    INFRASTRUCTURE,
    NETWORK,
    PROXY,
    FEATURE_GATE,
    API_SERVER,
    CLUSTER_VERSION,
    CLUSTER_OPERATOR,
];

/// The key of our `ClusterOperator`.
pub(super) fn cluster_operator() -> Key {
    CLUSTER_OPERATOR.key()
}

/// The watches of the Infrastructure and of our `ClusterOperator`.
pub(super) fn platform_selections() -> [Selection; 2] {
    [INFRASTRUCTURE.selection(), CLUSTER_OPERATOR.selection()]
}

/// The Infrastructure and our `ClusterOperator`.
pub(super) fn read_platform(cache: &Cache) -> Result<(Option<Infrastructure>, Option<ClusterOperator>), Unread> {
    Ok((INFRASTRUCTURE.read(cache)?, CLUSTER_OPERATOR.read(cache)?))
}

impl OwnFiles {
    pub(super) fn read(settings: &Settings) -> Self {
        let text = |path: &Path| {
            fs::read_to_string(path).map_err(|error| Unread(format!("cannot read {}: {error}", path.display())))
        };
        Self {
            images: text(&settings.images),
            system_bundle: text(&settings.system_bundle),
        }
    }
}

impl Operator {
    /// Observes and decides. The objects that a decision reads depend on what it finds, so this is repeated until all of them were observed;
    /// usually they are those of the last pass.
    pub(super) async fn observe(&mut self) -> (Observed, Decision) {
        loop {
            let selections = self.reads.iter().filter_map(Selection::of);
            let singletons = SINGLETONS.into_iter().map(Singleton::selection);
            self.cache.want_also(selections.chain(singletons)).await;
            let observed = self.snapshot().await;
            let decision = decide(&observed, &self.settings);
            let reads: BTreeSet<_> = decision.reads.iter().cloned().chain(observed.inventory()).collect();
            let is_complete = reads.is_subset(&self.reads);
            if is_complete {
                self.reads = reads;
                return (observed, decision);
            }
            self.reads.extend(reads);
        }
    }

    /// Stops the watches that the last decision does not need.
    pub(super) async fn forget_others(&mut self) {
        let selections = self.reads.iter().filter_map(Selection::of);
        let singletons = SINGLETONS.into_iter().map(Singleton::selection);
        let all = selections.chain(singletons).collect();
        self.cache.want(&all).await;
    }

    async fn snapshot(&mut self) -> Observed {
        let cache = &self.cache;
        let mut observed = Observed {
            infrastructure: INFRASTRUCTURE.read(cache),
            network: NETWORK.read(cache),
            proxy: PROXY.read(cache),
            feature_gate: FEATURE_GATE.read(cache),
            api_server: API_SERVER.read(cache),
            cluster_version: CLUSTER_VERSION.read(cache),
            cluster_operator: CLUSTER_OPERATOR.read(cache),
            files: self.files.clone(),
            objects: self.reads.iter().map(|key| (key.clone(), cache.find(key))).collect(),
            unlisted: Ok(Vec::new()),
            now: Timestamp::now(),
        };
        if self.settings.duties.has_operands() {
            observed.unlisted = self.unlisted(&observed).await;
        }
        observed
    }

    /// Searches the operands of any platform by name if none are listed: once, and whenever the list is lost. The Go operator does
    /// not list its operands.
    async fn unlisted(&mut self, observed: &Observed) -> Result<Vec<Key>, Unread> {
        let known = self.unlisted.clone();
        let Ok(operator) = &observed.cluster_operator else {
            return Ok(known.unwrap_or_default());
        };
        match known {
            Some(known) if operator.is_some() || names_operands(&observed.inventory()) => return Ok(known),
            None if names_operands(&observed.inventory()) => return Ok(Vec::new()),
            _ => {}
        }
        let engine = &self.engine;
        let searches = candidates(&self.settings.namespace).into_iter().map(|key| async move {
            match engine.is_operand(&key).await {
                Ok(is_operand) => Ok(is_operand.then_some(key)),
                // An object that may not be read may not be deleted either.
                Err(failure) if matches!(failure.class, Class::Refused | Class::Unserved) => Ok(None),
                Err(failure) => Err(failure),
            }
        });
        let found = stream::iter(searches).buffer_unordered(CONCURRENCY);
        let found: Result<Vec<_>, Failure> = found.try_collect().await;
        let found: Vec<_> = found
            .map_err(|failure| Unread(failure.to_string()))?
            .into_iter()
            .flatten()
            .collect();
        self.unlisted = Some(found.clone());
        Ok(found)
    }
}
