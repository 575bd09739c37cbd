//! A machine on the wire and in the configuration file.

use crate::{
    Readiness,
    wire::{Address, each, id, id_text, instances::Power, mirror, text},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// [`crate::Machine`]. What is not given is typical for a new machine and stays as it is for an old one; an empty text
/// or list is nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Machine {
    pub(crate) name: Option<String>,
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    addresses: Option<Vec<Address>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    power: Option<Power>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    readiness: Option<WireReadiness>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WireReadiness {
    Known,
    NotYet,
    Unmanaged,
}

mirror!(WireReadiness, Readiness, Known, NotYet, Unmanaged);

impl Machine {
    /// Writes what is given into a machine; the name stays.
    pub(crate) fn apply(self, machine: &mut crate::Machine) {
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
        if provider_id.is_some() {
            machine.provider_id = id(provider_id);
        }
        for (given, kept) in [
            (instance_type, &mut machine.instance_type),
            (zone, &mut machine.zone),
            (region, &mut machine.region),
        ] {
            if given.is_some() {
                *kept = text(given);
            }
        }
        machine.addresses = addresses.map_or_else(|| std::mem::take(&mut machine.addresses), each);
        machine.labels = labels.unwrap_or_else(|| std::mem::take(&mut machine.labels));
        machine.power = power.map_or(machine.power, Into::into);
        machine.readiness = readiness.map_or(machine.readiness, Into::into);
    }
}

impl From<crate::Machine> for Machine {
    fn from(machine: crate::Machine) -> Self {
        let crate::Machine {
            name,
            provider_id,
            instance_type,
            zone,
            region,
            addresses,
            labels,
            power,
            readiness,
        } = machine;
        Self {
            name: Some(name),
            provider_id: id_text(provider_id),
            instance_type,
            zone,
            region,
            addresses: Some(each(addresses)),
            labels: Some(labels),
            power: Some(power.into()),
            readiness: Some(readiness.into()),
        }
    }
}
