//! The instances behind the hosts of Services.

use super::settings;
use crate::{
    api::{Api, ec2::instances::Instance},
    instances::{by_ids, instance_id},
};
use cloud::{Host, Result, Spec};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::Mutex, time::Instant};
use tracing::debug;

/// The security groups of an instance, which are all that is used of it, rarely change.
const LIFETIME: Duration = Duration::from_mins(10);

/// Instances, by their IDs, and when they were read.
type Known = HashMap<String, (Instant, Arc<Instance>)>;

/// The instances behind hosts.
pub struct Hosts {
    api: Arc<Api>,
    /// Held during a read, so that Services that get the same new node read it once.
    known: Mutex<Known>,
}

impl Hosts {
    /// Instances that are read through this API.
    pub fn new(api: Arc<Api>) -> Self {
        Self {
            api,
            known: Mutex::default(),
        }
    }

    /// The instances that get the traffic of a Service, sorted by ID. Those that do not exist any more are left out.
    ///
    /// # Errors
    /// As EC2 answers: an instance is left out only if EC2 says that it does not exist.
    pub async fn instances(&self, spec: &Spec) -> Result<Vec<Arc<Instance>>> {
        let ids = ids(spec);
        let mut known = self.known.lock().await;
        known.retain(|_, (read, _)| read.elapsed() < LIFETIME);
        let unknown: BTreeSet<&str> = ids.iter().copied().filter(|id| !known.contains_key(*id)).collect();
        if !unknown.is_empty() {
            for (id, found) in by_ids(&self.api, unknown).await {
                let alive = found?.filter(|instance| instance.instance_state.name != "terminated");
                if let Some(instance) = alive {
                    known.insert(id, (Instant::now(), Arc::new(instance)));
                } else {
                    debug!(id, "instance does not exist");
                }
            }
        }
        let found = ids.iter().filter_map(|id| known.get(*id));
        Ok(found.map(|(_, instance)| Arc::clone(instance)).collect())
    }

    /// Reads instances again when they are next needed: AWS refused one of them.
    pub async fn forget(&self) {
        self.known.lock().await.clear();
    }
}

/// The IDs of the instances of a Service's hosts.
pub fn ids(spec: &Spec) -> BTreeSet<&str> {
    let hosts = settings::targets(spec).into_iter();
    hosts.filter_map(|host| id(host)).collect()
}

fn id(host: &Host) -> Option<&str> {
    let provider_id = host.provider_id.as_ref()?.as_str();
    let id = instance_id(provider_id).ok().flatten();
    if id.is_none() {
        debug!(node = host.name, provider_id, "the node is not on an EC2 instance");
    }
    id
}
