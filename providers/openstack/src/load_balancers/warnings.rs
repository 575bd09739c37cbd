//! What the user should know about what was asked for and cannot be had. Pure.

use super::{Pass, create::is_own, features::is_ovn, names, ownership::Identity, tree};
use crate::api::octavia::LoadBalancer;
use cloud::{IpFamily, Notes, Protocol, Spec, TrafficPolicy};
use std::net::IpAddr;

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
    if let Some(ip) = pass.spec.ip.as_deref().filter(|ip| is_own(pass) && lacks(balancer, ip)) {
        notes.warn(
            "LoadBalancerIPIgnored",
            format!(
                "Service {service} asks for loadBalancerIP {ip}, and load balancer {} has the address {}, which Octavia cannot \
                 change: to get another one, make the Service anew",
                balancer.id, balancer.vip_address
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

/// Whether a load balancer is known to have other addresses than this one.
fn lacks(balancer: &LoadBalancer, ip: &str) -> bool {
    let more = balancer
        .additional_vips
        .iter()
        .filter_map(|vip| vip.ip_address.as_deref());
    let mut all = std::iter::once(balancer.vip_address.as_str()).chain(more);
    let is = |address: &str| match (address.parse::<IpAddr>(), ip.parse::<IpAddr>()) {
        (Ok(address), Ok(ip)) => address == ip,
        _ => address == ip,
    };
    !ip.is_empty() && !balancer.vip_address.is_empty() && !all.any(is)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::octavia::AdditionalVip;
    use rstest::rstest;

    #[rstest]
    #[case::asked_for("10.0.0.9", None, "10.0.0.9", false)]
    #[case::another("10.0.0.9", None, "10.0.0.8", true)]
    #[case::written_otherwise("2001:db8::9", None, "2001:db8:0::9", false)]
    #[case::the_second_one("2001:db8::9", Some("10.0.0.9"), "10.0.0.9", false)]
    #[case::not_asked_for("10.0.0.9", None, "", false)]
    #[case::not_known("", None, "10.0.0.9", false)]
    fn lacks_an_address(
        #[case] first: &str,
        #[case] second: Option<&str>,
        #[case] asked: &str,
        #[case] expected: bool,
    ) {
        let balancer = LoadBalancer {
            vip_address: first.into(),
            additional_vips: Vec::from_iter(second.map(|address| AdditionalVip {
                subnet_id: String::new(),
                ip_address: Some(address.into()),
            })),
            ..LoadBalancer::default()
        };
        assert_eq!(lacks(&balancer, asked), expected);
    }
}
