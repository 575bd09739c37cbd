//! The machines of a memory cloud. Pure.

use cloud::{Address, AddressKind, Answer, Detail, Error, Instance, NodeRef, Power, ProviderId, ProviderIds, Result};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    net::Ipv4Addr,
};

/// The scheme of the provider IDs of this cloud.
pub(crate) const PREFIX: &str = "memory://";

/// The address that a kubelet is configured to use; it must be among those of its machine.
pub(crate) const PROVIDED_IP: &str = "alpha.kubernetes.io/provided-node-ip";

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Its name; nodes are looked up by it.
    pub name: String,
    /// Its provider ID, any text. The cloud assigns one (`memory://<id>`) if it is `None` on creation.
    pub provider_id: Option<ProviderId>,
    /// Its type.
    pub instance_type: Option<String>,
    /// Its zone.
    pub zone: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// Labels for its node.
    pub labels: BTreeMap<String, String>,
    /// Whether it runs.
    pub power: Power,
    /// How it is described.
    pub readiness: Readiness,
}

/// How a machine is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Readiness {
    /// As [`Answer::Found`].
    Known,
    /// As [`Answer::NotYet`].
    NotYet,
    /// As [`Answer::Unmanaged`].
    Unmanaged,
}

impl Machine {
    /// A running machine of which nothing but the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            provider_id: None,
            instance_type: None,
            zone: None,
            region: None,
            addresses: Vec::new(),
            labels: BTreeMap::new(),
            power: Power::On,
            readiness: Readiness::Known,
        }
    }

    /// A running machine with a type, a zone, a region, a host name and an internal IP that depend on its name.
    pub fn typical(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::named(&name)
            .instance_type("memory.small")
            .zone("memory-1a")
            .region("memory-1")
            .address(AddressKind::Hostname, &name)
            .address(AddressKind::InternalIP, internal_ip(&name, 0).to_string())
    }

    /// With this provider ID.
    #[must_use]
    pub fn provider_id(mut self, id: impl Into<String>) -> Self {
        self.provider_id = ProviderId::parse(id);
        self
    }

    /// Of this type.
    #[must_use]
    pub fn instance_type(mut self, kind: impl Into<String>) -> Self {
        self.instance_type = Some(kind.into());
        self
    }

    /// In this zone.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// In this region.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// With one more address.
    #[must_use]
    pub fn address(mut self, kind: AddressKind, address: impl Into<String>) -> Self {
        self.addresses.push(Address::new(kind, address));
        self
    }

    /// With one more label for its node.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// On or off.
    #[must_use]
    pub fn power(mut self, power: Power) -> Self {
        self.power = power;
        self
    }

    /// Described as [`Answer::NotYet`].
    #[must_use]
    pub fn not_yet(mut self) -> Self {
        self.readiness = Readiness::NotYet;
        self
    }

    /// The node of this machine, as a controller describes it.
    pub fn node(&self) -> NodeRef {
        NodeRef {
            provider_id: self.provider_id.clone(),
            ..NodeRef::named(&self.name)
        }
    }

    fn answer(&self, detail: Detail) -> Answer {
        match (self.readiness, detail) {
            (Readiness::NotYet, _) => Answer::NotYet,
            (Readiness::Unmanaged, _) => Answer::Unmanaged,
            (Readiness::Known, Detail::Liveness) => Answer::Found(Box::new(Instance {
                provider_id: self.provider_id.clone(),
                power: self.power,
                ..Instance::default()
            })),
            (Readiness::Known, Detail::Full) => Answer::Found(Box::new(self.instance())),
        }
    }

    fn instance(&self) -> Instance {
        let Self {
            name: _,
            provider_id,
            instance_type,
            zone,
            region,
            addresses,
            labels,
            power,
            readiness: _,
        } = self.clone();
        Instance {
            provider_id,
            instance_type,
            addresses,
            zone,
            region,
            labels,
            power,
        }
    }
}

/// All machines.
#[derive(Debug, Default)]
pub struct Machines {
    by_name: BTreeMap<String, Machine>,
    /// Names of deleted machines, which are not recreated.
    deleted: HashSet<String>,
    created: u64,
}

impl Machines {
    /// All machines, by name.
    pub fn all(&self) -> impl Iterator<Item = &Machine> {
        self.by_name.values()
    }

    /// The machine of this name.
    pub fn find(&self, name: &str) -> Option<&Machine> {
        self.by_name.get(name)
    }

    /// The machine of this name, to change it.
    pub fn find_mut(&mut self, name: &str) -> Option<&mut Machine> {
        self.by_name.get_mut(name)
    }

    pub(crate) fn create(&mut self, mut machine: Machine, ids: ProviderIds) -> NodeRef {
        self.created += 1;
        if ids == ProviderIds::Given && machine.provider_id.is_none() {
            machine.provider_id = ProviderId::parse(format!("{PREFIX}i-{:08x}", self.created));
        }
        self.deleted.remove(&machine.name);
        let node = machine.node();
        self.by_name.insert(machine.name.clone(), machine);
        node
    }

    /// A typical machine whose internal IP no other machine has.
    pub fn typical(&self, name: &str) -> Machine {
        let mut machine = Machine::typical(name);
        for attempt in 0.. {
            let ip = internal_ip(name, attempt).to_string();
            if self
                .all()
                .filter(|other| other.name != name)
                .all(|other| other.addresses.iter().all(|a| a.address != ip))
            {
                machine.addresses[1].address = ip;
                break;
            }
        }
        machine
    }

    /// Deletes a machine, and returns it.
    pub fn delete(&mut self, name: &str) -> Option<Machine> {
        let machine = self.by_name.remove(name)?;
        self.deleted.insert(name.to_owned());
        Some(machine)
    }

    /// One answer a node, in the order of the nodes.
    pub(crate) fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        let by_id: HashMap<_, _> = self
            .all()
            .filter_map(|machine| Some((machine.provider_id.as_ref()?, machine)))
            .collect();
        let find = |node: &NodeRef| match &node.provider_id {
            None => Ok(self.find(&node.name)),
            Some(id) => match by_id.get(id) {
                None if !is_ours(id) => Err(foreign(id)),
                found => Ok(found.copied()),
            },
        };
        let answer = |machine: Option<&Machine>| machine.map_or(Answer::Missing, |machine| machine.answer(detail));
        nodes.iter().map(|node| find(node).map(answer)).collect()
    }

    /// Creates a machine for this node, if it has none and never had one that was deleted.
    pub(crate) fn auto_create(&mut self, node: &NodeRef) {
        let foreign = node.provider_id.as_ref().is_some_and(|id| !is_ours(id));
        if foreign || self.find(&node.name).is_some() || self.deleted.contains(&node.name) {
            return;
        }
        let mut machine = self.typical(&node.name);
        machine.provider_id = node
            .provider_id
            .clone()
            .or_else(|| ProviderId::parse(format!("{PREFIX}{}", node.name)));
        if let Some(ips) = node.annotations.get(PROVIDED_IP) {
            machine.addresses.truncate(1);
            machine.addresses.extend(
                ips.split(',')
                    .map(|ip| Address::new(AddressKind::InternalIP, ip.trim())),
            );
        }
        self.create(machine, ProviderIds::Given);
    }
}

fn is_ours(id: &ProviderId) -> bool {
    id.as_str()
        .strip_prefix(PREFIX)
        .is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
}

/// Not [`Answer::Missing`]: the machine may exist in another cloud.
fn foreign(id: &ProviderId) -> Error {
    Error::invalid("spec.providerID", format!("{id} does not have the form {PREFIX}<id>"))
}

/// An address in `10.0.0.0/8` that depends on nothing but the name and the attempt (FNV-1a).
fn internal_ip(name: &str, attempt: u32) -> Ipv4Addr {
    let hash = name
        .bytes()
        .chain(attempt.to_le_bytes())
        .fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
    let host = (hash ^ (hash >> 24)) & 0x00ff_ffff;
    Ipv4Addr::from(0x0a00_0000 | host.clamp(1, 0x00ff_fffe))
}

#[cfg(test)]
mod tests;
