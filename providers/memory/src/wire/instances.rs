//! Machines.

use crate::wire::{Address, each, error::Error, id, id_text, mirror};
use cloud::{Instance as CloudInstance, NodeRef, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The body of `/v1/describe`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Describe {
    #[serde(default)]
    pub(crate) detail: HowMuch,
    pub(crate) nodes: Vec<Node>,
}

/// [`cloud::Detail`]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HowMuch {
    Liveness,
    #[default]
    Full,
}

/// [`NodeRef`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    name: String,
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(rename = "systemUUID", default, skip_serializing_if = "Option::is_none")]
    system_uuid: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<Address>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

/// [`cloud::Answer`], or why there is none.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Answer {
    Found { instance: Box<Described> },
    Missing,
    NotYet,
    Unmanaged,
    Error { error: Error },
}

/// [`cloud::Instance`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Described {
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<Address>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    power: Power,
}

/// [`cloud::Power`]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Power {
    On,
    Off,
    Unknown,
}

mirror!(HowMuch, cloud::Detail, Liveness, Full);
mirror!(Power, cloud::Power, On, Off, Unknown);

impl From<NodeRef> for Node {
    fn from(
        NodeRef {
            name,
            provider_id,
            system_uuid,
            addresses,
            labels,
            annotations,
        }: NodeRef,
    ) -> Self {
        Self {
            name,
            provider_id: id_text(provider_id),
            system_uuid,
            addresses: each(addresses),
            labels,
            annotations,
        }
    }
}

impl From<Node> for NodeRef {
    fn from(
        Node {
            name,
            provider_id,
            system_uuid,
            addresses,
            labels,
            annotations,
        }: Node,
    ) -> Self {
        Self {
            name,
            provider_id: id(provider_id),
            system_uuid,
            addresses: each(addresses),
            labels,
            annotations,
        }
    }
}

impl From<Result<cloud::Answer>> for Answer {
    fn from(answer: Result<cloud::Answer>) -> Self {
        match answer {
            Ok(cloud::Answer::Found(instance)) => Self::Found {
                instance: Box::new((*instance).into()),
            },
            Ok(cloud::Answer::Missing) => Self::Missing,
            Ok(cloud::Answer::NotYet) => Self::NotYet,
            Ok(cloud::Answer::Unmanaged) => Self::Unmanaged,
            Err(error) => Self::Error {
                error: Error::of(&error),
            },
        }
    }
}

impl From<Answer> for Result<cloud::Answer> {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Found { instance } => Ok(cloud::Answer::Found(Box::new((*instance).into()))),
            Answer::Missing => Ok(cloud::Answer::Missing),
            Answer::NotYet => Ok(cloud::Answer::NotYet),
            Answer::Unmanaged => Ok(cloud::Answer::Unmanaged),
            Answer::Error { error } => Err(error.into()),
        }
    }
}

impl From<CloudInstance> for Described {
    fn from(instance: CloudInstance) -> Self {
        let CloudInstance {
            provider_id,
            instance_type,
            addresses,
            zone,
            region,
            labels,
            power,
        } = instance;
        let (provider_id, addresses, power) = (id_text(provider_id), each(addresses), power.into());
        Self {
            provider_id,
            instance_type,
            zone,
            region,
            addresses,
            labels,
            power,
        }
    }
}

impl From<Described> for CloudInstance {
    fn from(instance: Described) -> Self {
        let Described {
            provider_id,
            instance_type,
            zone,
            region,
            addresses,
            labels,
            power,
        } = instance;
        let (provider_id, addresses, power) = (id(provider_id), each(addresses), power.into());
        Self {
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
