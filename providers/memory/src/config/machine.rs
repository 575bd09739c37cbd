//! A machine in the configuration file.

use crate::{Machine, Readiness};
use cloud::{AddressKind, ProviderId};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What the file sets of a machine; everything else is typical. An empty text or list is nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: Option<String>,
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    instance_type: Option<String>,
    zone: Option<String>,
    region: Option<String>,
    addresses: Option<Vec<Address>>,
    labels: Option<BTreeMap<String, String>>,
    power: Option<Power>,
    readiness: Option<Readiness>,
}

/// As in the status of a Node.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Address {
    #[serde(rename = "type")]
    kind: AddressKind,
    address: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Power {
    On,
    Off,
    Unknown,
}

impl Entry {
    /// Writes what is set into a machine.
    pub(super) fn apply(self, machine: &mut Machine) {
        let Self {
            name: _,
            provider_id,
            instance_type,
            zone,
            region,
            addresses,
            labels,
            power,
            readiness,
        } = self;
        if let Some(id) = provider_id {
            machine.provider_id = ProviderId::parse(id);
        }
        for (given, kept) in [
            (instance_type, &mut machine.instance_type),
            (zone, &mut machine.zone),
            (region, &mut machine.region),
        ] {
            if given.is_some() {
                *kept = given.filter(|text| !text.is_empty());
            }
        }
        if let Some(given) = addresses {
            let address = |Address { kind, address }| cloud::Address { kind, address };
            machine.addresses = given.into_iter().map(address).collect();
        }
        machine.labels = labels.unwrap_or_default();
        machine.power = match power {
            None => machine.power,
            Some(Power::On) => cloud::Power::On,
            Some(Power::Off) => cloud::Power::Off,
            Some(Power::Unknown) => cloud::Power::Unknown,
        };
        machine.readiness = readiness.unwrap_or(machine.readiness);
    }
}
