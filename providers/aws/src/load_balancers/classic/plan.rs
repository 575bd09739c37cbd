//! The steps from what is there to what should be. Pure.

use super::{
    desired::{Asked, Proxy},
    step::Step,
};
use crate::{
    api::{
        ec2::Tag,
        elb::{AccessLog, ClassicAttributes, ClassicLoadBalancer, ConnectionDraining, Listener, NewPolicy},
    },
    load_balancers::{names, tags},
};
use provider_kit::load_balancer::{Completeness, Scope};
use std::collections::BTreeSet;

/// A load balancer with everything on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    pub lb: ClassicLoadBalancer,
    pub attributes: ClassicAttributes,
    /// `None` if they may not be read.
    pub tags: Option<Vec<Tag>>,
}

/// The steps from what is there to what should be.
pub fn plan(observed: &Observed, asked: &Asked, instances: &BTreeSet<String>, scope: Scope) -> Vec<Step> {
    let instances = set_instances(&observed.lb, instances);
    if scope == Scope::Hosts {
        return instances.into_iter().collect();
    }
    let mut steps = subnets(&observed.lb, &asked.subnets);
    let (kept, listener_steps) = listeners(&observed.lb, &asked.listeners);
    steps.extend(listener_steps);
    steps.extend(proxy(&observed.lb, asked));
    steps.extend(tls(&observed.lb, asked, &kept));
    if attributes_differ(&asked.attributes, &observed.attributes) {
        steps.push(Step::SetAttributes(asked.attributes.clone()));
    }
    if let Some(check) = asked
        .check
        .as_ref()
        .filter(|check| observed.lb.health_check.as_ref() != Some(check))
    {
        steps.push(Step::ConfigureCheck(check.clone()));
    }
    let missing = observed.tags.as_ref().map(|known| tags::missing(&asked.tags, known));
    steps.extend(missing.filter(|tags| !tags.is_empty()).map(Step::AddTags));
    steps.extend(instances);
    steps
}

/// What is missing of the ports, for a change of hosts.
pub fn completeness(observed: &Observed, asked: &Asked) -> Completeness {
    let ports = observed.lb.listener_descriptions.iter();
    let ports: BTreeSet<u16> = ports.map(|one| one.listener.load_balancer_port).collect();
    let missing = asked
        .listeners
        .iter()
        .find(|listener| !ports.contains(&listener.load_balancer_port));
    match missing {
        Some(listener) => Completeness::Missing(format!("port {}", listener.load_balancer_port)),
        None => Completeness::Complete,
    }
}

/// Removals first: a load balancer has at most one subnet of a zone.
fn subnets(lb: &ClassicLoadBalancer, wanted: &[String]) -> Vec<Step> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let surplus: Vec<String> = lb.subnets.iter().filter(|id| !wanted.contains(id)).cloned().collect();
    let missing: Vec<String> = wanted.iter().filter(|id| !lb.subnets.contains(id)).cloned().collect();
    let mut steps = Vec::new();
    if !surplus.is_empty() {
        steps.push(Step::DetachSubnets(surplus));
    }
    if !missing.is_empty() {
        steps.push(Step::AttachSubnets(missing));
    }
    steps
}

/// The ports of listeners that stay, and the steps for the others.
fn listeners(lb: &ClassicLoadBalancer, wanted: &[Listener]) -> (BTreeSet<u16>, Vec<Step>) {
    let present: Vec<&Listener> = lb.listener_descriptions.iter().map(|one| &one.listener).collect();
    let is_wanted = |one: &Listener| wanted.iter().any(|other| same(one, other));
    let surplus = present.iter().filter(|one| !is_wanted(one));
    let surplus: Vec<u16> = surplus.map(|one| one.load_balancer_port).collect();
    let missing = wanted
        .iter()
        .filter(|one| !present.iter().any(|other| same(one, other)));
    let missing: Vec<Listener> = missing.cloned().collect();
    let kept = present
        .iter()
        .filter(|one| is_wanted(one))
        .map(|one| one.load_balancer_port);
    let kept = kept.collect();
    let mut steps = Vec::new();
    if !surplus.is_empty() {
        steps.push(Step::DeleteListeners(surplus));
    }
    if !missing.is_empty() {
        steps.push(Step::CreateListeners(missing));
    }
    (kept, steps)
}

fn same(one: &Listener, other: &Listener) -> bool {
    let certificate = |listener: &Listener| listener.ssl_certificate_id.clone().unwrap_or_default();
    one.load_balancer_port == other.load_balancer_port
        && one.instance_port == other.instance_port
        && one.protocol.eq_ignore_ascii_case(&other.protocol)
        && one.instance_protocol.eq_ignore_ascii_case(&other.instance_protocol)
        && certificate(one).eq_ignore_ascii_case(&certificate(other))
}

/// Each port of the instances has the policy, or none has.
fn proxy(lb: &ClassicLoadBalancer, asked: &Asked) -> Vec<Step> {
    let policy = names::PROXY_POLICY;
    let uses = |port: u16| {
        let backend = lb
            .backend_server_descriptions
            .iter()
            .find(|one| one.instance_port == port);
        backend.is_some_and(|one| one.policy_names.iter().any(|name| name == policy))
    };
    let wanted: BTreeSet<u16> = match asked.proxy {
        Proxy::On => asked.listeners.iter().map(|listener| listener.instance_port).collect(),
        Proxy::Off => BTreeSet::new(),
    };
    let mut steps = Vec::new();
    if !wanted.is_empty() && !lb.policies.other_policies.iter().any(|name| name == policy) {
        steps.push(Step::CreatePolicy(NewPolicy {
            name: policy.to_owned(),
            kind: "ProxyProtocolPolicyType",
            attribute: ("ProxyProtocol", "true".to_owned()),
        }));
    }
    let on = wanted.iter().copied().filter(|port| !uses(*port));
    steps.extend(on.map(|port| Step::SetProxy { port, proxy: Proxy::On }));
    let present = lb.backend_server_descriptions.iter().map(|one| one.instance_port);
    let off = present.filter(|port| uses(*port) && !wanted.contains(port));
    steps.extend(off.map(|port| Step::SetProxy {
        port,
        proxy: Proxy::Off,
    }));
    steps
}

/// Listeners that are recreated lose their policies.
fn tls(lb: &ClassicLoadBalancer, asked: &Asked, kept: &BTreeSet<u16>) -> Vec<Step> {
    let Some(predefined) = &asked.tls_policy else {
        return Vec::new();
    };
    let policy = names::tls_policy(predefined);
    let uses = |port: u16| {
        let listener = lb
            .listener_descriptions
            .iter()
            .find(|one| one.listener.load_balancer_port == port);
        kept.contains(&port) && listener.is_some_and(|one| one.policy_names.contains(&policy))
    };
    let is_tls = |listener: &&Listener| matches!(listener.protocol.as_str(), "ssl" | "https");
    let ports = asked
        .listeners
        .iter()
        .filter(is_tls)
        .map(|listener| listener.load_balancer_port);
    let ports: Vec<u16> = ports.filter(|port| !uses(*port)).collect();
    let mut steps = Vec::new();
    if !ports.is_empty() && !lb.policies.other_policies.contains(&policy) {
        steps.push(Step::CreatePolicy(NewPolicy {
            name: policy.clone(),
            kind: "SSLNegotiationPolicyType",
            attribute: ("Reference-Security-Policy", predefined.clone()),
        }));
    }
    let set = |port| Step::SetTlsPolicy {
        port,
        policy: policy.clone(),
    };
    steps.extend(ports.into_iter().map(set));
    steps
}

/// How often AWS writes access logs, in minutes, if it is not told.
const EMIT_INTERVAL: i64 = 60;

/// What is not set does not count, except for the settings of access logs that are written: those are AWS's defaults then.
fn attributes_differ(wanted: &ClassicAttributes, present: &ClassicAttributes) -> bool {
    fn given<T: PartialEq>(wanted: Option<&T>, present: Option<&T>) -> bool {
        wanted.is_some() && wanted != present
    }
    let logs = |wanted: &AccessLog, present: &AccessLog| {
        let interval = |log: &AccessLog| log.emit_interval.unwrap_or(EMIT_INTERVAL);
        let prefix = |log: &AccessLog| log.s3_bucket_prefix.clone().unwrap_or_default();
        let settings = if wanted.enabled {
            interval(wanted) != interval(present) || prefix(wanted) != prefix(present)
        } else {
            given(wanted.emit_interval.as_ref(), present.emit_interval.as_ref())
                || given(wanted.s3_bucket_prefix.as_ref(), present.s3_bucket_prefix.as_ref())
        };
        let bucket = given(wanted.s3_bucket_name.as_ref(), present.s3_bucket_name.as_ref());
        wanted.enabled != present.enabled || bucket || settings
    };
    let draining = |wanted: &ConnectionDraining, present: &ConnectionDraining| {
        wanted.enabled != present.enabled || given(wanted.timeout.as_ref(), present.timeout.as_ref())
    };
    logs(&wanted.access_log, &present.access_log)
        || draining(&wanted.connection_draining, &present.connection_draining)
        || wanted.connection_settings != present.connection_settings
        || wanted.cross_zone_load_balancing != present.cross_zone_load_balancing
}

fn set_instances(lb: &ClassicLoadBalancer, wanted: &BTreeSet<String>) -> Option<Step> {
    let present: BTreeSet<String> = lb.instances.iter().map(|one| one.instance_id.clone()).collect();
    (present != *wanted).then(|| Step::SetInstances {
        wanted: wanted.clone(),
        present: Some(present),
    })
}

#[cfg(test)]
mod tests;
