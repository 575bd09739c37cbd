//! The labels of a node's place in the network: `topology.k8s.aws/network-node-layer-1` and so on.

use crate::api::{Api, ec2::instances::Instance, errors};
use cloud::{Error, NodeRef, Result};
use provider_kit::concurrently;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;
use tracing::warn;

/// How they begin.
pub const LAYER: &str = "topology.k8s.aws/network-node-layer-";

/// How many instances one call takes.
const INSTANCES: usize = 100;

/// How long it is remembered that EC2 knows no topology.
const REMEMBERED: Duration = Duration::from_hours(24);

/// Labels by instance ID.
pub type Labels = HashMap<String, Result<BTreeMap<String, String>>>;

/// The topology of instances, and what EC2 knows none of: regions, instance types and instances, by their names.
#[derive(Default)]
pub struct Topology(Mutex<HashMap<String, Instant>>);

impl Topology {
    /// The labels of those nodes that have none yet. Without an entry there are none.
    pub async fn labels(&self, api: &Api, found: &[(&NodeRef, &Instance)]) -> Labels {
        let Ok(region) = api.region().await else {
            return Labels::new();
        };
        let first = format!("{LAYER}1");
        let unlabelled = found.iter().filter(|(node, _)| !node.labels.contains_key(&first));
        let unlabelled = unlabelled.map(|(_, instance)| *instance);
        let wanted: Vec<&Instance> = unlabelled
            .filter(|instance| self.is_possible(region, instance))
            .collect();
        let chunks = wanted.chunks(INSTANCES).map(|chunk| self.chunk(api, region, chunk));
        concurrently(chunks).await.into_iter().flatten().collect()
    }

    async fn chunk(&self, api: &Api, region: &str, instances: &[&Instance]) -> Labels {
        let ids: Vec<&str> = instances.iter().map(|instance| instance.instance_id.as_str()).collect();
        let is_required = |instance: &Instance| api.config.topology_types.is_match(&instance.instance_type);
        let found = match api.topology(&ids).await {
            Ok(found) => found,
            Err(error) if is_unsupported(&error) => {
                warn!(
                    region,
                    error = error.report(),
                    "EC2 reports no network topology in this region"
                );
                self.remember(region);
                return Labels::new();
            }
            Err(error) => {
                let required = instances.iter().filter(|instance| is_required(instance));
                return required
                    .map(|instance| (instance.instance_id.clone(), Err(error.clone().of_batch())))
                    .collect();
            }
        };
        let labels = found
            .into_iter()
            .map(|one| (one.instance_id, Ok(labels(&one.network_node_set))));
        let labels: Labels = labels.collect();
        for instance in instances
            .iter()
            .filter(|instance| !labels.contains_key(&instance.instance_id))
        {
            // Other instances of a type that has a topology may have one.
            self.remember(if is_required(instance) {
                &instance.instance_id
            } else {
                &instance.instance_type
            });
        }
        labels
    }

    fn is_possible(&self, region: &str, instance: &Instance) -> bool {
        let mut known = self.lock();
        known.retain(|_, until| Instant::now() < *until);
        let names = [region, &instance.instance_type, &instance.instance_id];
        names.iter().all(|name| !name.is_empty() && !known.contains_key(*name))
    }

    fn remember(&self, name: &str) {
        self.lock().insert(name.to_owned(), Instant::now() + REMEMBERED);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn labels(nodes: &[String]) -> BTreeMap<String, String> {
    let layers = nodes.iter().zip(1..);
    layers
        .map(|(node, layer)| (format!("{LAYER}{layer}"), node.clone()))
        .collect()
}

fn is_unsupported(error: &Error) -> bool {
    matches!(
        errors::code(error),
        Some("UnsupportedOperation" | "UnauthorizedOperation" | "InvalidAction")
    )
}
