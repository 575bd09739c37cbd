//! What has to be written so that a Node says what the cloud says. Pure.

use super::stuck::Stuck;
use crate::nodes::{
    self, addresses, conditions,
    labels::{self, Changes, Ignored},
    patch, taints,
};
use cloud::{Answer, Instance, ProviderId, ProviderIds};
use k8s_openapi::api::core::v1::{Node, NodeAddress};
use kube::api::Patch;
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// What is to be done about one Node.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Nothing.
    Keep,
    /// Nothing now; the cloud asks to be asked later.
    Later,
    /// Nothing can be done; this is why.
    Stuck(Stuck),
    /// This is to be written.
    Write(Writes),
}

/// What is to be written to one Node. A part that is right already is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Writes {
    /// All of `status.addresses`.
    pub addresses: Option<Vec<NodeAddress>>,
    /// The condition that said why the Node was not initialised.
    pub trouble: Trouble,
    /// `spec.providerID`.
    pub provider_id: Option<ProviderId>,
    /// Labels.
    pub labels: Changes,
    /// Positions of the taints that go.
    pub taints: Vec<usize>,
    /// Labels that the cloud asked for in vain.
    pub ignored: Vec<Ignored>,
}

/// What becomes of the condition that says why a Node is not initialised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trouble {
    /// It stays as it is, or is not there.
    #[default]
    Keep,
    /// It goes.
    Over,
}

/// What the cloud's word counts for.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Whether a Node needs a provider ID.
    pub provider_ids: ProviderIds,
    /// What becomes of labels once a Node is initialised.
    pub labels: Labels,
    /// The labels of its own that the cloud last said for this Node, if it was asked before.
    pub before: Option<&'a BTreeMap<String, String>>,
}

/// What becomes of labels once a Node is initialised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Labels {
    /// They follow the cloud.
    #[default]
    Follow,
    /// They stay as they are.
    Stay,
}

/// Decides what has to be written so that the Node says what the cloud says.
#[must_use]
pub fn plan(node: &Node, answer: &cloud::Result<Answer>, rules: Rules<'_>) -> Plan {
    let settled = !taints::is_uninitialized(node);
    let writes = match answer {
        Err(error) => return Plan::Stuck(error.into()),
        Ok(Answer::NotYet) => return Plan::Later,
        Ok(Answer::Unmanaged) => Ok(unmanaged(node)),
        Ok(Answer::Missing) if settled => return Plan::Keep,
        Ok(Answer::Missing) => return Plan::Stuck(Stuck::unknown(node)),
        Ok(Answer::Found(machine)) if settled => refresh(node, machine, rules),
        Ok(Answer::Found(machine)) => initialize(node, machine, rules),
    };
    match writes {
        Ok(writes) if writes.is_empty() => Plan::Keep,
        Ok(writes) => Plan::Write(writes),
        Err(stuck) => Plan::Stuck(stuck),
    }
}

/// Decides the same for the periodic look, which leaves Nodes that are not initialised to the queue.
#[must_use]
pub fn update(node: &Node, answer: &cloud::Result<Answer>, rules: Rules<'_>) -> Plan {
    if taints::is_uninitialized(node) {
        Plan::Keep
    } else {
        plan(node, answer, rules)
    }
}

/// Decides what has to be written so that the new names of labels say what the old names say.
#[must_use]
pub fn aliases(node: &Node) -> Plan {
    let labels = labels::aliases(node);
    if labels.is_empty() {
        Plan::Keep
    } else {
        Plan::Write(Writes {
            labels,
            ..Writes::default()
        })
    }
}

fn initialize(node: &Node, machine: &Instance, rules: Rules<'_>) -> Result<Writes, Stuck> {
    let provider_id = match (nodes::provider_id(node), &machine.provider_id) {
        (Some(_), _) => None,
        (None, Some(id)) => Some(id.clone()),
        (None, None) if rules.provider_ids == ProviderIds::None => None,
        (None, None) => return Err(Stuck::NoProviderId),
    };
    let (labels, ignored) = labels::changes(node, machine, rules.before);
    Ok(Writes {
        addresses: changed_addresses(node, machine)?,
        provider_id,
        labels,
        ignored,
        ..unmanaged(node)
    })
}

/// What is to be written if the cloud says nothing about the machine.
fn unmanaged(node: &Node) -> Writes {
    Writes {
        trouble: trouble(node),
        taints: taints::positions_of_key(taints::of(node), taints::UNINITIALIZED),
        ..Writes::default()
    }
}

fn refresh(node: &Node, machine: &Instance, rules: Rules<'_>) -> Result<Writes, Stuck> {
    let addresses = if machine.addresses.is_empty() {
        None
    } else {
        changed_addresses(node, machine)?
    };
    let (labels, ignored) = match rules.labels {
        Labels::Follow => labels::changes(node, machine, rules.before),
        Labels::Stay => Default::default(),
    };
    Ok(Writes {
        addresses,
        trouble: trouble(node),
        labels,
        ignored,
        ..Writes::default()
    })
}

fn changed_addresses(node: &Node, machine: &Instance) -> Result<Option<Vec<NodeAddress>>, Stuck> {
    let wanted = addresses::wanted(node, &machine.addresses)?;
    Ok(wanted.filter(|wanted| addresses::differ(addresses::of(node), wanted)))
}

fn trouble(node: &Node) -> Trouble {
    let there = conditions::find(node, conditions::CLOUD_PROVIDER_INITIALIZED);
    there.map_or(Trouble::Keep, |_| Trouble::Over)
}

impl Writes {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            addresses,
            trouble,
            provider_id,
            labels,
            taints,
            ignored: _,
        } = self;
        let status = addresses.is_none() && *trouble == Trouble::Keep;
        status && provider_id.is_none() && labels.is_empty() && taints.is_empty()
    }

    /// The patch of `nodes/status`, if one is needed.
    #[must_use]
    pub fn status_patch(&self, node: &Node) -> Option<Patch<Value>> {
        if self.addresses.is_none() && self.trouble == Trouble::Keep {
            return None;
        }
        let mut patch = patch::Status::of(node);
        if let Some(addresses) = &self.addresses {
            patch = patch.addresses(addresses);
        }
        // Also one that was written a moment ago, and that the watch has not brought yet.
        if self.trouble == Trouble::Over || !self.taints.is_empty() {
            patch = patch.without_condition(conditions::CLOUD_PROVIDER_INITIALIZED);
        }
        Some(patch.build())
    }

    /// The patch of `nodes`, if one is needed: all of it happens or nothing, so the taint goes with the rest.
    #[must_use]
    pub fn node_patch(&self, node: &Node) -> Option<Patch<Value>> {
        if self.provider_id.is_none() && self.labels.is_empty() && self.taints.is_empty() {
            return None;
        }
        let mut patch = patch::Spec::of(node).labels(&self.labels).without_taints(&self.taints);
        if let Some(id) = &self.provider_id {
            patch = patch.provider_id(id.as_str());
        }
        Some(patch.build())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("keep"),
            Self::Later => f.write_str("ask again later"),
            Self::Stuck(stuck) => write!(f, "stuck: {stuck}"),
            Self::Write(writes) => writes.fmt(f),
        }
    }
}

impl fmt::Display for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(addresses) = &self.addresses {
            let addresses: Vec<_> = addresses
                .iter()
                .map(|at| format!("{} {}", at.type_, at.address))
                .collect();
            parts.push(format!("addresses [{}]", addresses.join(", ")));
        }
        parts.extend((self.trouble == Trouble::Over).then(|| "-condition".to_owned()));
        parts.extend(self.provider_id.iter().map(|id| format!("id {id}")));
        parts.extend(self.labels.iter().map(|(key, value)| match value {
            Some(value) => format!("+{key}={value}"),
            None => format!("-{key}"),
        }));
        parts.extend((!self.taints.is_empty()).then(|| "-taint".to_owned()));
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests;
