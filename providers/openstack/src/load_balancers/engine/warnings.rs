//! Warnings about requests of a Service that are not fulfilled. Pure.

use super::create::is_own;
use crate::{
    api::octavia::LoadBalancer,
    load_balancers::{
        balancer::{desired::Inputs, tree},
        features::is_ovn,
        names,
        ownership::Relation,
    },
};
use cloud::{IpFamily, Notes, Protocol, Spec, TrafficPolicy};
use std::net::IpAddr;

/// Warns about settings that Octavia ignores, or that this load balancer cannot get any more.
pub(super) fn warn(inputs: &Inputs<'_>, balancer: &LoadBalancer, relation: &Relation, notes: &mut Notes) {
    kept(inputs.spec, balancer, relation, notes);
    let service = format!("{}/{}", inputs.spec.service.namespace, inputs.spec.service.name);
    let defaults = &inputs.config.load_balancer;
    let by_groups = is_ovn(&defaults.lb_provider) && defaults.manage_security_groups;
    let restricted = inputs.spec.source_ranges.iter().any(|range| range.prefix_len() > 0);
    if restricted && !inputs.features.source_ranges && !by_groups {
        notes.warn(
            "LoadBalancerSourceRangesIgnored",
            format!("LoadBalancerSourceRanges are ignored for Service {service} because Octavia provider does not support it"),
        );
    }
    if inputs.settings.availability_zone.is_some() && !inputs.features.zones {
        notes.warn(
            "LoadBalancerAvailabilityZonesIgnored",
            format!(
                "LoadBalancer Availability Zones aren't supported. Please, upgrade Octavia API to version 2.14 or later \
                 (Ussuri release) to use them for Service {service}"
            ),
        );
    }
    if let Some(family) = skipped(&inputs.spec.families, &tree::families(balancer)) {
        notes.warn(
            "LoadBalancerSecondFamilySkipped",
            format!(
                "Load balancer {} of Service {service} has no {} address: it was created without one, Octavia is older than 2.26, or \
                 its network has no subnet of that family. Octavia cannot add one to an existing load balancer: recreate the Service to get it",
                balancer.id,
                match family {
                    IpFamily::V4 => "IPv4",
                    IpFamily::V6 => "IPv6",
                }
            ),
        );
    }
    if let Some(ip) = inputs
        .spec
        .ip
        .as_deref()
        .filter(|ip| is_own(inputs) && lacks(balancer, ip))
    {
        notes.warn(
            "LoadBalancerIPIgnored",
            format!(
                "Service {service} asks for loadBalancerIP {ip}, and load balancer {} has the address {}, which Octavia cannot \
                 change: recreate the Service to get another one",
                balancer.id, balancer.vip_address
            ),
        );
    }
    if loses_traffic(inputs) {
        notes.warn(
            "LoadBalancerHealthMonitorMissing",
            format!(
                "Service {service} has externalTrafficPolicy Local and its load balancer does not check which nodes have pods: \
                 traffic to nodes without one is lost. Set loadbalancer.openstack.org/enable-health-monitor"
            ),
        );
    }
}

/// Warns about a load balancer that is kept when the Service is deleted, because it was created for another one of the same name.
pub(super) fn kept(spec: &Spec, balancer: &LoadBalancer, relation: &Relation, notes: &mut Notes) {
    if let Some(uid) = relation.other_owner() {
        notes.warn(
            "LoadBalancerOfAnother",
            format!(
                "Load balancer {} of Service {}/{} was created for another Service of that name and is kept when this one is deleted: if \
                 the other one does not exist any more, remove the tag {} from the load balancer, otherwise use another load balancer",
                balancer.id,
                spec.service.namespace,
                spec.service.name,
                names::uid_tag(uid)
            ),
        );
    }
}

/// The second requested family, if the load balancer does not have it.
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

/// Warns about a requested address that is not used, because the current one is kept.
pub(super) fn ignored_address(spec: &Spec, ip: &str, there: &[String], notes: &mut Notes) {
    notes.warn(
        "LoadBalancerIPIgnored",
        format!(
            "Service {}/{} asks for loadBalancerIP {ip}, and keeps its floating IP {}. To get the other one, \
             detach it, or remove loadBalancerIP and set it again",
            spec.service.namespace,
            spec.service.name,
            there.join(", ")
        ),
    );
}

/// With the policy `Local`, nodes without pods drop what they get; only a monitor keeps the load balancer from sending it.
fn loses_traffic(inputs: &Inputs<'_>) -> bool {
    let can = |protocol| match protocol {
        Protocol::Udp => inputs.features.http_monitors_on_udp,
        Protocol::Tcp | Protocol::Sctp => inputs.features.http_monitors,
    };
    let possible = inputs.spec.ports.iter().any(|port| can(port.protocol));
    matches!(inputs.spec.traffic, TrafficPolicy::Local { .. }) && inputs.settings.monitor.is_none() && possible
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
