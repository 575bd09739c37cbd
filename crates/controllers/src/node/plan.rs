//! The writes after which a Node matches the cloud. Pure.

use super::Error;
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

/// The decision about one Node.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Write nothing.
    Keep,
    /// Write nothing, and try again later: the cloud does not describe the instance yet.
    Wait,
    /// Write nothing, because of this error.
    Fail(Error),
    /// Write this.
    Write(Writes),
}

/// The changes of one Node. A part that is up to date is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Writes {
    /// All of `status.addresses`.
    pub addresses: Option<Vec<NodeAddress>>,
    /// The condition that reports why the Node is not initialized.
    pub condition: ConditionChange,
    /// `spec.providerID`.
    pub provider_id: Option<ProviderId>,
    /// Labels.
    pub labels: Changes,
    /// Positions of the taints to remove.
    pub taints: Vec<usize>,
    /// Labels of the cloud that are not set.
    pub ignored: Vec<Ignored>,
}

/// The change of the condition that reports why a Node is not initialized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConditionChange {
    /// None, or the Node does not have it.
    #[default]
    Keep,
    /// It is removed.
    Remove,
}

/// How the cloud's answer is applied.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Whether a Node needs a provider ID.
    pub provider_ids: ProviderIds,
    /// What a Node without a provider ID is found by.
    pub found_by: &'static str,
    /// What happens to the labels of initialized Nodes.
    pub labels: Labels,
    /// The provider's labels that were last written to this Node, if any.
    pub before: Option<&'a BTreeMap<String, String>>,
}

/// What happens to the labels of initialized Nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Labels {
    /// They follow the cloud.
    #[default]
    Follow,
    /// They are kept.
    Keep,
}

/// Decides which writes make the Node match the cloud.
#[must_use]
pub fn plan(node: &Node, answer: &cloud::Result<Answer>, rules: Rules<'_>) -> Plan {
    let initialized = !taints::is_uninitialized(node);
    let writes = match answer {
        Err(error) => return Plan::Fail(error.into()),
        Ok(Answer::NotYet) => return Plan::Wait,
        Ok(Answer::Unmanaged) => Ok(unmanaged(node)),
        Ok(Answer::Missing) if initialized => return Plan::Keep,
        Ok(Answer::Missing) => return Plan::Fail(Error::not_found(node, rules.found_by)),
        Ok(Answer::Found(instance)) if initialized => refresh(node, instance, rules),
        Ok(Answer::Found(instance)) => initialize(node, instance, rules),
    };
    match writes {
        Ok(writes) if writes.is_empty() => Plan::Keep,
        Ok(writes) => Plan::Write(writes),
        Err(error) => Plan::Fail(error),
    }
}

/// Decides the same for the periodic refresh, which leaves uninitialized Nodes to the queue.
#[must_use]
pub fn update(node: &Node, answer: &cloud::Result<Answer>, rules: Rules<'_>) -> Plan {
    if taints::is_uninitialized(node) {
        Plan::Keep
    } else {
        plan(node, answer, rules)
    }
}

/// Decides which writes copy the values of deprecated labels to their current names.
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

fn initialize(node: &Node, instance: &Instance, rules: Rules<'_>) -> Result<Writes, Error> {
    let provider_id = match (nodes::provider_id(node), &instance.provider_id) {
        (Some(_), _) => None,
        (None, Some(id)) => Some(id.clone()),
        (None, None) if rules.provider_ids == ProviderIds::None => None,
        (None, None) => return Err(Error::NoProviderId),
    };
    let (labels, ignored) = labels::changes(node, instance, rules.before);
    Ok(Writes {
        addresses: changed_addresses(node, instance)?,
        provider_id,
        labels,
        ignored,
        ..unmanaged(node)
    })
}

/// The writes if the cloud does not manage the instance.
fn unmanaged(node: &Node) -> Writes {
    Writes {
        condition: condition(node),
        taints: taints::positions_of_key(taints::of(node), taints::UNINITIALIZED),
        ..Writes::default()
    }
}

fn refresh(node: &Node, instance: &Instance, rules: Rules<'_>) -> Result<Writes, Error> {
    let addresses = if instance.addresses.is_empty() {
        None
    } else {
        changed_addresses(node, instance)?
    };
    let (labels, ignored) = match rules.labels {
        Labels::Follow => labels::changes(node, instance, rules.before),
        Labels::Keep => Default::default(),
    };
    Ok(Writes {
        addresses,
        condition: condition(node),
        labels,
        ignored,
        ..Writes::default()
    })
}

fn changed_addresses(node: &Node, instance: &Instance) -> Result<Option<Vec<NodeAddress>>, Error> {
    let desired = addresses::desired(node, &instance.addresses)?;
    Ok(desired.filter(|desired| addresses::differ(addresses::of(node), desired)))
}

fn condition(node: &Node) -> ConditionChange {
    let current = conditions::find(node, conditions::CLOUD_PROVIDER_INITIALIZED);
    current.map_or(ConditionChange::Keep, |_| ConditionChange::Remove)
}

impl Writes {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            addresses,
            condition,
            provider_id,
            labels,
            taints,
            ignored: _,
        } = self;
        let status = addresses.is_none() && *condition == ConditionChange::Keep;
        status && provider_id.is_none() && labels.is_empty() && taints.is_empty()
    }

    /// The patch of `nodes/status`, if one is needed.
    #[must_use]
    pub fn status_patch(&self, node: &Node) -> Option<Patch<Value>> {
        if self.addresses.is_none() && self.condition == ConditionChange::Keep {
            return None;
        }
        let mut patch = patch::Status::of(node);
        if let Some(addresses) = &self.addresses {
            patch = patch.addresses(addresses);
        }
        // With the taint always: the condition may have been written just now, and not be in the cache yet.
        if self.condition == ConditionChange::Remove || !self.taints.is_empty() {
            patch = patch.without_condition(conditions::CLOUD_PROVIDER_INITIALIZED);
        }
        Some(patch.build())
    }

    /// The patch of `nodes`, if one is needed. It is applied as a whole, so the taint is removed with the rest.
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
            Self::Wait => f.write_str("wait for the cloud"),
            Self::Fail(error) => write!(f, "fail: {error}"),
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
        parts.extend((self.condition == ConditionChange::Remove).then(|| "-condition".to_owned()));
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
