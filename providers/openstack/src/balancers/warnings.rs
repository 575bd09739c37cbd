//! What the user should know about what was asked for and cannot be had. Pure.

use super::{Pass, features::is_ovn, names, role::Identity, tree};
use crate::api::octavia::LoadBalancer;
use cloud::{IpFamily, Notes, Protocol, Spec, TrafficPolicy};

/// Warns of settings that this Octavia ignores, or this load balancer cannot have any more.
pub(super) fn warn(pass: &Pass<'_>, balancer: &LoadBalancer, identity: &Identity, notes: &mut Notes) {
    stays(pass.spec, balancer, identity, notes);
    let service = format!("{}/{}", pass.spec.service.namespace, pass.spec.service.name);
    let defaults = &pass.config.load_balancer;
    let by_groups = is_ovn(&defaults.lb_provider) && defaults.manage_security_groups;
    let restricted = pass.spec.source_ranges.iter().any(|range| range.prefix_len() > 0);
    if restricted && !pass.features.source_ranges && !by_groups {
        notes.warn(
            "LoadBalancerSourceRangesIgnored",
            format!("LoadBalancerSourceRanges are ignored for Service {service} because Octavia provider does not support it"),
        );
    }
    if pass.settings.availability_zone.is_some() && !pass.features.zones {
        notes.warn(
            "LoadBalancerAvailabilityZonesIgnored",
            format!(
                "LoadBalancer Availability Zones aren't supported. Please, upgrade Octavia API to version 2.14 or later \
                 (Ussuri release) to use them for Service {service}"
            ),
        );
    }
    if let Some(family) = skipped(&pass.spec.families, &tree::families(balancer)) {
        notes.warn(
            "LoadBalancerSecondFamilySkipped",
            format!(
                "Load balancer {} of Service {service} has no {} address: it was made without, Octavia is older than 2.26, or \
                 its network has no subnet of that family. Octavia adds none to one that exists: to get it, make the Service anew",
                balancer.id,
                match family {
                    IpFamily::V4 => "IPv4",
                    IpFamily::V6 => "IPv6",
                }
            ),
        );
    }
    if loses_traffic(pass) {
        notes.warn(
            "LoadBalancerHealthMonitorMissing",
            format!(
                "Service {service} has externalTrafficPolicy Local and its load balancer does not ask the nodes for its pods: \
                 traffic to nodes without one is lost. Set loadbalancer.openstack.org/enable-health-monitor"
            ),
        );
    }
}

/// Warns of a load balancer that stays when the Service goes, as it was made for another one of the same name.
pub(super) fn stays(spec: &Spec, balancer: &LoadBalancer, identity: &Identity, notes: &mut Notes) {
    if let Some(uid) = identity.namesake() {
        notes.warn(
            "LoadBalancerOfAnother",
            format!(
                "Load balancer {} of Service {}/{} was made for another Service of that name and stays when this one goes: if \
                 the other one is gone, remove the tag {} from the load balancer, else give this Service another one",
                balancer.id,
                spec.service.namespace,
                spec.service.name,
                names::uid_tag(uid)
            ),
        );
    }
}

/// The family besides the first one that is asked for and not there.
fn skipped(asked: &[IpFamily], there: &[IpFamily]) -> Option<IpFamily> {
    asked.iter().skip(1).copied().find(|family| !there.contains(family))
}

/// Warns of an address that is asked for and not given, as the one that is there is kept.
pub(super) fn goes_without(spec: &Spec, ip: &str, there: &[String], notes: &mut Notes) {
    notes.warn(
        "LoadBalancerIPIgnored",
        format!(
            "Service {}/{} asks for loadBalancerIP {ip}, and has kept the floating IP {} that it had before. To get another one, \
             detach that, or remove loadBalancerIP and set it again",
            spec.service.namespace,
            spec.service.name,
            there.join(", ")
        ),
    );
}

/// With the policy `Local`, nodes without pods drop what they get; only a monitor keeps the load balancer from sending it.
fn loses_traffic(pass: &Pass<'_>) -> bool {
    let can = |protocol| match protocol {
        Protocol::Udp => pass.features.http_monitors_on_udp,
        Protocol::Tcp | Protocol::Sctp => pass.features.http_monitors,
    };
    let possible = pass.spec.ports.iter().any(|port| can(port.protocol));
    matches!(pass.spec.traffic, TrafficPolicy::Local { .. }) && pass.settings.monitor.is_none() && possible
}
