//! The steps from what is there to what should be. Pure.

use super::{
    desired::{Asked, Mapping},
    step::{SetTargets, Step},
};
use crate::{
    api::{
        ec2::Tag,
        elbv2::{TagsByArn, listeners::Listener, target_groups::TargetGroup},
    },
    load_balancers::tags,
};
use provider_kit::load_balancer::{Completeness, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// A load balancer with everything on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    pub arn: String,
    pub listeners: Vec<Listener>,
    pub groups: Vec<Group>,
    /// Target groups of the Service that no listener uses: a crash left them behind.
    pub loose: Vec<TargetGroup>,
    pub attributes: BTreeMap<String, String>,
    /// `None` if they may not be read.
    pub tags: Option<TagsByArn>,
}

/// A target group that a listener uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "it is AWS's part of it")]
pub struct Group {
    pub group: TargetGroup,
    pub targets: BTreeSet<(String, u16)>,
    /// `None` if they may not be read.
    pub attributes: Option<BTreeMap<String, String>>,
}

/// The steps from what is there to what should be.
pub fn plan(observed: &Observed, asked: &Asked, targets: &BTreeSet<String>, scope: Scope) -> Vec<Step> {
    if scope == Scope::Hosts {
        return observed
            .groups
            .iter()
            .filter_map(|group| set_targets(group, targets))
            .collect();
    }
    // Before a group of the same name is created.
    let loose = observed
        .loose
        .iter()
        .map(|group| Step::DeleteGroup(group.target_group_arn.clone()));
    let mut steps: Vec<Step> = loose.collect();
    for mapping in &asked.mappings {
        match observed.listener(mapping.port) {
            None => steps.push(Step::AddPort(mapping.clone())),
            Some(listener) => steps.extend(port_steps(observed, listener, mapping, asked, targets)),
        }
    }
    for listener in &observed.listeners {
        if asked.mappings.iter().any(|mapping| mapping.port == listener.port) {
            continue;
        }
        steps.push(Step::DeleteListener {
            listener: listener.listener_arn.clone(),
            port: listener.port,
        });
        steps.extend(group_of(listener).map(|arn| Step::DeleteGroup(arn.to_owned())));
    }
    let attributes = differing(&asked.attributes, &observed.attributes);
    if !attributes.is_empty() {
        steps.push(Step::SetAttributes(attributes));
    }
    steps.extend(add_tags(observed, asked, &steps));
    steps
}

/// What is missing of the ports, for a change of hosts.
pub fn completeness(observed: &Observed, asked: &Asked) -> Completeness {
    let is_missing = |mapping: &&Mapping| {
        observed
            .listener(mapping.port)
            .and_then(|listener| observed.group(listener))
            .is_none()
    };
    match asked.mappings.iter().find(is_missing) {
        Some(mapping) => Completeness::Missing(format!("port {}", mapping.port)),
        None => Completeness::Complete,
    }
}

fn port_steps(
    observed: &Observed,
    listener: &Listener,
    mapping: &Mapping,
    asked: &Asked,
    targets: &BTreeSet<String>,
) -> Vec<Step> {
    let current = observed.group(listener);
    let Some(group) = current.filter(|group| fits(&group.group, mapping)) else {
        let replace = Step::ReplaceGroup {
            listener: listener.listener_arn.clone(),
            mapping: mapping.clone(),
        };
        let old = group_of(listener).map(|arn| Step::DeleteGroup(arn.to_owned()));
        return [replace].into_iter().chain(old).collect();
    };
    let mut steps = Vec::new();
    if listener_differs(listener, mapping) {
        steps.push(Step::ModifyListener {
            listener: listener.listener_arn.clone(),
            mapping: mapping.clone(),
            group: group.group.target_group_arn.clone(),
        });
    }
    if check_differs(&group.group, mapping) {
        steps.push(Step::ModifyGroup {
            group: group.group.clone(),
            check: mapping.check_settings(),
        });
    }
    let attributes = match &group.attributes {
        // An attribute that a group does not have cannot be set.
        Some(present) => {
            let mut attributes = differing(&asked.group_attributes, present);
            attributes.retain(|name, _| present.contains_key(name));
            attributes
        }
        None => asked.group_attributes.clone(),
    };
    if !attributes.is_empty() {
        steps.push(Step::SetGroupAttributes {
            group: group.group.clone(),
            attributes,
        });
    }
    steps.extend(set_targets(group, targets));
    steps
}

/// What cannot be changed about a target group.
fn fits(group: &TargetGroup, mapping: &Mapping) -> bool {
    group.port == mapping.node_port
        && group.protocol == mapping.target_protocol
        && group
            .health_check_protocol
            .eq_ignore_ascii_case(&mapping.check.protocol)
        && group.health_check_interval_seconds == mapping.check.interval
}

fn listener_differs(listener: &Listener, mapping: &Mapping) -> bool {
    let tls_differs = mapping.tls.as_ref().is_some_and(|tls| {
        let certificate = listener.certificates.first();
        let policy = tls.policy.as_ref();
        certificate.is_none_or(|one| one.certificate_arn != tls.certificate)
            || policy.is_some_and(|policy| listener.ssl_policy.as_ref() != Some(policy))
    });
    listener.protocol != mapping.protocol || tls_differs
}

fn check_differs(group: &TargetGroup, mapping: &Mapping) -> bool {
    let check = &mapping.check;
    let path_differs = check.path.is_some() && check.path != group.health_check_path;
    let timeout_differs = check
        .timeout
        .is_some_and(|timeout| timeout != group.health_check_timeout_seconds);
    group.health_check_port != check.port
        || group.healthy_threshold_count != check.healthy
        || group.unhealthy_threshold_count != check.unhealthy
        || path_differs
        || timeout_differs
}

fn set_targets(group: &Group, wanted: &BTreeSet<String>) -> Option<Step> {
    let step = SetTargets {
        group: group.group.target_group_arn.clone(),
        port: group.group.port,
        wanted: wanted.clone(),
        present: Some(group.targets.clone()),
    };
    let (gone, new) = step.changes(&group.targets);
    (!gone.is_empty() || !new.is_empty()).then_some(Step::SetTargets(step))
}

/// Tags on what is there and stays; what is created has its tags from the start.
fn add_tags(observed: &Observed, asked: &Asked, steps: &[Step]) -> Option<Step> {
    let known = observed.tags.as_ref()?;
    let is_deleted = |arn: &str| {
        steps.iter().any(|step| match step {
            Step::DeleteGroup(deleted) => deleted == arn,
            Step::DeleteListener { listener, .. } => listener == arn,
            _ => false,
        })
    };
    let groups = observed
        .groups
        .iter()
        .map(|group| group.group.target_group_arn.as_str());
    let listeners = observed.listeners.iter();
    let listeners = listeners.map(|listener| listener.listener_arn.as_str());
    let arns = [observed.arn.as_str()].into_iter().chain(groups).chain(listeners);
    let lacks = |arn: &&str| {
        let lacks = |tags: &Vec<Tag>| !tags::missing(&asked.tags, tags).is_empty();
        !is_deleted(arn) && known.get(*arn).is_some_and(lacks)
    };
    let arns: Vec<String> = arns.filter(lacks).map(str::to_owned).collect();
    (!arns.is_empty()).then(|| Step::AddTags {
        arns,
        tags: asked.tags.clone(),
    })
}

fn differing(wanted: &BTreeMap<String, String>, present: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let differs = |(name, value): &(&String, &String)| present.get(*name).map_or("", String::as_str) != value.as_str();
    let all = wanted.iter().filter(differs);
    all.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The target group that a listener forwards to.
fn group_of(listener: &Listener) -> Option<&str> {
    listener
        .default_actions
        .iter()
        .find_map(|action| action.target_group_arn.as_deref())
}

impl Observed {
    fn listener(&self, port: u16) -> Option<&Listener> {
        self.listeners.iter().find(|listener| listener.port == port)
    }

    fn group(&self, listener: &Listener) -> Option<&Group> {
        let arn = group_of(listener)?;
        self.groups.iter().find(|group| group.group.target_group_arn == arn)
    }
}

#[cfg(test)]
mod tests;
