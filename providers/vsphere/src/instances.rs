//! The virtual machines behind nodes.
//!
//! A node is found by the BIOS UUID in its provider ID, or else by the one that its kubelet reports, or else by its name. A machine is missing
//! only if every vCenter has answered that it does not have it: one that does not answer leaves its nodes alone.

mod addresses;
mod guest_info;
mod machine;
mod os;
mod uuid;
mod zones;

pub use machine::Machine;
pub use uuid::BiosUuid;

use crate::{config::Deletion, connection::Connection, vcenter::VCenter};
use async_trait::async_trait;
use cloud::{Answer, Detail, Error, Instance, NodeRef, Result};
use provider_kit::{concurrently, live_config::Current};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};
use zones::Places;

/// The virtual machines behind nodes.
pub struct Instances {
    connection: Current<Connection>,
    /// Labels of every node.
    labels: BTreeMap<String, String>,
}

/// A machine, and the number of its vCenter.
#[derive(Clone)]
struct Hit {
    vcenter: usize,
    machine: Machine,
}

/// What all vCenters answered.
struct Answers {
    hits: HashMap<BiosUuid, Vec<Hit>>,
    /// Of each vCenter: why it did not answer, if it did not.
    failures: Vec<Option<Error>>,
}

impl Instances {
    /// Machines that are read through this connection; every node gets these labels.
    pub fn new(connection: Current<Connection>, labels: BTreeMap<String, String>) -> Self {
        Self { connection, labels }
    }

    fn answer(
        &self,
        connection: &Connection,
        node: &NodeRef,
        hit: Option<Hit>,
        places: &[Result<Places>],
        detail: Detail,
    ) -> Result<Answer> {
        let Some(Hit { vcenter, machine }) = hit else {
            return match connection.deletion {
                Deletion::Allowed => Ok(Answer::Missing),
                Deletion::Skipped => Err(Error::unusable(
                    format!("node {}", node.name),
                    "no vCenter has its virtual machine; SKIP_NODE_DELETION is set, so its Node is kept",
                )),
            };
        };
        let alive = Instance {
            provider_id: machine.uuid().and_then(BiosUuid::provider_id),
            power: machine.power(),
            ..Instance::default()
        };
        if detail == Detail::Liveness {
            return Ok(Answer::Found(Box::new(alive)));
        }
        if alive.provider_id.is_none() {
            return Ok(Answer::NotYet);
        }
        let families = &connection.vcenters[vcenter].api.config.families;
        let addresses = machine.addresses(&connection.networks, families)?;
        let place = match (&connection.zones, places.get(vcenter)) {
            (Some(categories), Some(places)) => {
                let place = places
                    .as_ref()
                    .map_err(Clone::clone)?
                    .get(machine.reference())
                    .cloned()
                    .flatten();
                Some(place.ok_or_else(|| zones::missing(&machine, categories))?)
            }
            _ => None,
        };
        let (zone, region) = place.map_or((None, None), |place| (Some(place.zone), Some(place.region)));
        Ok(Answer::Found(Box::new(Instance {
            instance_type: Some(machine.instance_type()),
            addresses,
            zone,
            region,
            labels: self.labels.clone(),
            ..alive
        })))
    }
}

#[async_trait]
impl cloud::Instances for Instances {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        let connection = self.connection.load();
        let paths = match detail {
            Detail::Liveness => machine::FEW,
            Detail::Full => machine::ALL,
        };
        let hits = find(&connection, nodes, paths).await;
        let places = match detail {
            Detail::Liveness => Vec::new(),
            Detail::Full => places(&connection, &hits).await,
        };
        let answers = nodes.iter().zip(hits);
        answers
            .map(|(node, hit)| self.answer(&connection, node, hit?, &places, detail))
            .collect()
    }

    fn found_by(&self) -> &'static str {
        "system UUID or the host name of the guest"
    }
}

/// The machine of each node; `None` if every vCenter answered that there is none.
async fn find(connection: &Connection, nodes: &[NodeRef], paths: &[&str]) -> Vec<Result<Option<Hit>>> {
    let uuids: Vec<Result<Option<BiosUuid>>> = nodes.iter().map(uuid_of).collect();
    let wanted: BTreeSet<BiosUuid> = uuids.iter().flatten().flatten().copied().collect();
    let answers = ask(&connection.vcenters, &wanted, paths).await;
    let found = nodes.iter().zip(uuids).map(|(node, uuid)| async {
        match (answers.machine_of(node, uuid?)?, &node.provider_id) {
            (None, None) => by_name(connection, node, &answers.failures, paths).await,
            (found, _) => Ok(found),
        }
    });
    concurrently(found.collect::<Vec<_>>()).await
}

/// The UUID that a node is known by, if there is one.
fn uuid_of(node: &NodeRef) -> Result<Option<BiosUuid>> {
    match &node.provider_id {
        Some(id) => BiosUuid::of(id).map(Some),
        None => Ok(node.system_uuid.as_deref().and_then(BiosUuid::parse)),
    }
}

/// Asks the vCenters that are known to have these machines, and all of them for the others.
async fn ask(vcenters: &[Arc<VCenter>], wanted: &BTreeSet<BiosUuid>, paths: &[&str]) -> Answers {
    let mut answers = Answers {
        hits: HashMap::new(),
        failures: vec![None; vcenters.len()],
    };
    let known = vcenters.iter().map(|vcenter| vcenter.known(wanted, paths));
    for (vcenter, known) in concurrently(known).await.into_iter().enumerate() {
        match known {
            Ok(known) => {
                for (uuid, machine) in known {
                    answers.hits.entry(uuid).or_default().push(Hit { vcenter, machine });
                }
            }
            Err(error) => answers.failures[vcenter] = Some(error.of_batch()),
        }
    }
    let unknown: BTreeSet<BiosUuid> = wanted
        .iter()
        .filter(|uuid| !answers.hits.contains_key(uuid))
        .copied()
        .collect();
    if unknown.is_empty() {
        return answers;
    }
    let searched = vcenters.iter().zip(&answers.failures).enumerate();
    let searched = searched.filter(|(_, (_, failure))| failure.is_none());
    let unknown = &unknown;
    let searched = searched.map(|(number, (vcenter, _))| async move { (number, vcenter.search(unknown, paths).await) });
    for (vcenter, found) in concurrently(searched.collect::<Vec<_>>()).await {
        match found {
            Ok(found) => {
                for (uuid, machines) in found {
                    let hits = machines.into_iter().map(|machine| Hit { vcenter, machine });
                    answers.hits.entry(uuid).or_default().extend(hits);
                }
            }
            Err(error) => answers.failures[vcenter] = Some(error.of_batch()),
        }
    }
    answers
}

impl Answers {
    fn machine_of(&self, node: &NodeRef, uuid: Option<BiosUuid>) -> Result<Option<Hit>> {
        let Some(uuid) = uuid else { return Ok(None) };
        match self.hits.get(&uuid) {
            Some(hits) => one_of(node, hits, uuid).map(Some),
            None => doubt(&self.failures).map(|()| None),
        }
    }
}

/// A vCenter that did not answer may have the machine.
fn doubt(failures: &[Option<Error>]) -> Result<()> {
    failures
        .iter()
        .flatten()
        .next()
        .map_or(Ok(()), |error| Err(error.clone()))
}

/// The machine of a node among those with its UUID. A clone has the same one until it is started.
fn one_of(node: &NodeRef, hits: &[Hit], uuid: BiosUuid) -> Result<Hit> {
    let machines: Vec<&Hit> = hits.iter().filter(|hit| !hit.machine.is_template()).collect();
    let named: Vec<&&Hit> = machines
        .iter()
        .filter(|hit| hit.machine.host_name().eq_ignore_ascii_case(&node.name))
        .collect();
    match (&machines[..], &named[..]) {
        ([one], _) => Ok((*one).clone()),
        ([_, ..], [one]) => Ok((**one).clone()),
        ([], _) => Err(Error::unusable(
            format!("BIOS UUID {uuid}"),
            format!("only a template has it: {}", list(hits.iter())),
        )),
        _ => Err(Error::unusable(
            format!("BIOS UUID {uuid}"),
            format!(
                "several virtual machines have it: {}; give each its own `uuid.bios`",
                list(machines.into_iter())
            ),
        )),
    }
}

/// The machine whose guest has the name of a node.
async fn by_name(
    connection: &Connection,
    node: &NodeRef,
    failures: &[Option<Error>],
    paths: &[&str],
) -> Result<Option<Hit>> {
    let mut hits = Vec::new();
    let mut failures = failures.to_vec();
    for (vcenter, api) in connection.vcenters.iter().enumerate() {
        if failures[vcenter].is_some() {
            continue;
        }
        match api.search_name(&node.name, paths).await {
            Ok(machines) => hits.extend(machines.into_iter().map(|machine| Hit { vcenter, machine })),
            Err(error) => failures[vcenter] = Some(error),
        }
    }
    match &hits[..] {
        [] => doubt(&failures).map(|()| None),
        [one] => Ok(Some(one.clone())),
        several => Err(Error::unusable(
            format!("node {}", node.name),
            format!(
                "several virtual machines have this host name: {}; a provider ID or the system UUID of the kubelet decides",
                list(several.iter())
            ),
        )),
    }
}

fn list<'a>(hits: impl Iterator<Item = &'a Hit>) -> String {
    let mut names: Vec<String> = hits.map(|hit| hit.machine.what()).collect();
    names.sort_unstable();
    names.join(", ")
}

/// The places of all machines, by vCenter; empty if nodes have none.
async fn places(connection: &Connection, hits: &[Result<Option<Hit>>]) -> Vec<Result<Places>> {
    let Some(categories) = &connection.zones else {
        return Vec::new();
    };
    let of = |(number, vcenter): (usize, &Arc<VCenter>)| {
        let hits = hits.iter().flatten().flatten().filter(|hit| hit.vcenter == number);
        let machines: Vec<&Machine> = hits.map(|hit| &hit.machine).collect();
        let vcenter = Arc::clone(vcenter);
        async move {
            if machines.is_empty() {
                return Ok(Places::new());
            }
            zones::find(&vcenter.api, &vcenter.names, categories, &machines).await
        }
    };
    concurrently(connection.vcenters.iter().enumerate().map(of)).await
}
