//! The EC2 instances and Fargate machines behind nodes.
//!
//! Nodes are found in batches: by the ID in their provider ID or their name, or else by their name, which is then the private DNS name of
//! the instance. An instance is missing only if EC2 says so.

mod addresses;
mod key;
mod lookup;

pub use addresses::parsed;
pub use key::{Key, instance_id};
pub use lookup::by_ids;

use crate::{
    api::{Api, ec2::instances::Instance, ec2::interfaces::Interface},
    fargate,
    topology::Topology,
};
use async_trait::async_trait;
use cloud::{Answer, Detail, Error, NodeRef, Power, ProviderId, Result};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The label with the ID of the zone.
pub const ZONE_ID: &str = "topology.k8s.aws/zone-id";

/// The machines behind nodes.
pub struct Instances {
    api: Arc<Api>,
    topology: Topology,
}

/// The machine behind a node.
enum Machine {
    Instance(Box<Instance>),
    Fargate(Box<Interface>),
}

impl Instances {
    /// Machines that are read through this API.
    pub fn new(api: &Arc<Api>) -> Self {
        Self {
            api: Arc::clone(api),
            topology: Topology::default(),
        }
    }

    async fn find(&self, nodes: &[NodeRef]) -> Vec<Result<Option<Machine>>> {
        let keys: Vec<Result<Key<'_>>> = nodes.iter().map(Key::of).collect();
        let given = || keys.iter().flatten();
        let ids = given().filter_map(|key| match key {
            Key::Instance(id) => Some(*id),
            _ => None,
        });
        let fargate = given().filter_map(|key| match key {
            Key::Fargate(address) => Some(address.as_str()),
            _ => None,
        });
        let named = nodes
            .iter()
            .zip(&keys)
            .filter(|(_, key)| matches!(key, Ok(Key::Name(_))));
        let (by_id, by_name, interfaces) = futures::join!(
            lookup::by_ids(&self.api, ids.collect()),
            lookup::by_names(&self.api, named.map(|(node, _)| node).collect()),
            fargate::find(&self.api, fargate.collect()),
        );
        let instance = |found: Option<&Result<Option<Instance>>>| match found {
            Some(Ok(found)) => Ok(found.clone().map(|found| Machine::Instance(Box::new(found)))),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::unavailable("DescribeInstances", "the node was not looked for")),
        };
        let machine = |key: Result<Key<'_>>| match key? {
            Key::Instance(id) => instance(by_id.get(id)),
            Key::Name(name) => instance(by_name.get(name)),
            Key::Fargate(address) => match interfaces.get(&address) {
                Some(found) => Ok(found.clone()?.map(|found| Machine::Fargate(Box::new(found)))),
                None => Err(Error::unavailable(
                    "DescribeNetworkInterfaces",
                    "the node was not looked for",
                )),
            },
        };
        keys.into_iter().map(machine).collect()
    }

    /// The labels that need calls of their own, by instance ID; for machines of which they are known, or not wanted, there are none.
    async fn labels(&self, found: &[(&NodeRef, &Instance)]) -> HashMap<String, Result<BTreeMap<String, String>>> {
        let zones = found.iter().filter(|(node, _)| !node.labels.contains_key(ZONE_ID));
        let zones = zones.map(|(_, instance)| instance.placement.availability_zone.as_str());
        let zones = zones.filter(|zone| !zone.is_empty()).collect();
        let (zones, topology) = futures::join!(self.api.zones(&zones), self.topology.labels(&self.api, found));
        let of = |(node, instance): &(&NodeRef, &Instance)| {
            let zone = &instance.placement.availability_zone;
            let mut labels = topology
                .get(&instance.instance_id)
                .cloned()
                .unwrap_or(Ok(BTreeMap::new()))?;
            if !node.labels.contains_key(ZONE_ID) && !zone.is_empty() {
                let known = zones.as_ref().map_err(|error| error.clone().of_batch())?;
                let zone = known.get(zone).ok_or_else(|| {
                    Error::unavailable(
                        "DescribeAvailabilityZones",
                        format!("EC2 does not show the zone {zone}"),
                    )
                })?;
                labels.insert(ZONE_ID.to_owned(), zone.zone_id.clone());
            }
            Ok(labels)
        };
        found.iter().map(|one| (one.1.instance_id.clone(), of(one))).collect()
    }

    async fn full(&self, nodes: &[NodeRef], found: Vec<Result<Option<Machine>>>) -> Vec<Result<Answer>> {
        let instances: Vec<(&NodeRef, &Instance)> = nodes
            .iter()
            .zip(&found)
            .filter_map(|(node, found)| match found {
                Ok(Some(Machine::Instance(instance))) => Some((node, &**instance)),
                _ => None,
            })
            .collect();
        let labels = self.labels(&instances).await;
        let region = self.api.region().await;
        let families = &self.api.config.families;
        let answer = |(node, found): (&NodeRef, &Result<Option<Machine>>)| {
            let region = region.as_ref().map_err(|error| (*error).clone())?.to_string();
            let described = match found.as_ref().map_err(Clone::clone)? {
                None => return Ok(Answer::Missing),
                Some(Machine::Fargate(interface)) => fargate::describe(interface, families)?,
                Some(Machine::Instance(instance)) => cloud::Instance {
                    instance_type: Some(instance.instance_type.clone()).filter(|kind| !kind.is_empty()),
                    addresses: addresses::of(instance, families)?,
                    zone: Some(instance.placement.availability_zone.clone()).filter(|zone| !zone.is_empty()),
                    labels: labels
                        .get(&instance.instance_id)
                        .cloned()
                        .unwrap_or(Ok(BTreeMap::new()))?,
                    ..alive(instance)
                },
            };
            Ok(Answer::Found(Box::new(cloud::Instance {
                // A Node keeps the ID that it was given, if that is short or names another zone.
                provider_id: node.provider_id.clone().or(described.provider_id),
                region: Some(region),
                ..described
            })))
        };
        nodes.iter().zip(&found).map(answer).collect()
    }
}

#[async_trait]
impl cloud::Instances for Instances {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        let found = self.find(nodes).await;
        let answer = |found: Result<Option<Machine>>| {
            Ok(match found? {
                Some(Machine::Instance(instance)) if !is_terminated(&instance) => {
                    Answer::Found(Box::new(alive(&instance)))
                }
                Some(Machine::Fargate(_)) => Answer::Found(Box::new(cloud::Instance {
                    power: Power::On,
                    ..cloud::Instance::default()
                })),
                Some(Machine::Instance(_)) | None => Answer::Missing,
            })
        };
        match detail {
            Detail::Liveness => found.into_iter().map(answer).collect(),
            // As in the Go program, a terminated instance is described for as long as EC2 shows it.
            Detail::Full => self.full(nodes, found).await,
        }
    }

    fn found_by(&self) -> &'static str {
        "the cluster's tag, and an address of the Node or the private DNS name"
    }
}

/// What is known of every instance.
fn alive(instance: &Instance) -> cloud::Instance {
    let (zone, id) = (&instance.placement.availability_zone, &instance.instance_id);
    cloud::Instance {
        provider_id: ProviderId::parse(format!("aws:///{zone}/{id}")),
        power: match instance.instance_state.name.as_str() {
            "stopped" => Power::Off,
            _ => Power::On,
        },
        ..cloud::Instance::default()
    }
}

/// EC2 shows a terminated instance for an hour.
fn is_terminated(instance: &Instance) -> bool {
    matches!(instance.instance_state.name.as_str(), "" | "terminated")
}
