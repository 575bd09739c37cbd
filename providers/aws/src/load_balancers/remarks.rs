//! What the user should know about what a Service asks for and does not get.

use super::{
    annotations as key,
    settings::{self, Scheme},
};
use crate::{
    api::elbv2::{Address, LoadBalancer, Zone},
    config::{Config, NlbSecurityGroups},
};
use cloud::{Notes, Spec};
use provider_kit::annotations::Annotation;
use std::collections::BTreeSet;

/// The reason of these events.
const REASON: &str = "LoadBalancerSettingIgnored";

/// About a network load balancer.
pub fn network(spec: &Spec, lb: &LoadBalancer, config: &Config, notes: &mut Notes) {
    scheme(spec, &lb.scheme, notes);
    let given = |row: Annotation| row.list(spec).into_iter().collect::<BTreeSet<String>>();
    let zones = &lb.availability_zones;
    let subnets: BTreeSet<String> = zones.iter().map(|zone| zone.subnet_id.clone()).collect();
    let wanted = given(key::SUBNETS);
    // Names cannot be compared without reading the subnets.
    let are_ids = wanted.iter().all(|item| item.starts_with("subnet-"));
    if !wanted.is_empty() && are_ids && wanted != subnets {
        keeps(key::SUBNETS, &subnets, notes);
    }
    addresses(
        key::EIP_ALLOCATIONS,
        spec,
        zones,
        |address| &address.allocation_id,
        notes,
    );
    addresses(
        key::PRIVATE_IPV4_ADDRESSES,
        spec,
        zones,
        |address| &address.private_ipv4_address,
        notes,
    );
    if config.nlb_security_groups != NlbSecurityGroups::Managed && key::SECURITY_GROUPS.is_present(spec) {
        let message = format!(
            "{} has no effect on a network load balancer unless the configuration has NLBSecurityGroupMode=Managed",
            key::SECURITY_GROUPS.key
        );
        notes.warn(REASON, message);
    } else if lb.security_groups.is_empty() && !given(key::SECURITY_GROUPS).is_empty() {
        let message = format!(
            "{} has no effect: a load balancer that was created without security groups cannot get any",
            key::SECURITY_GROUPS.key
        );
        notes.warn(REASON, message);
    }
}

/// About a classic load balancer.
pub fn classic(spec: &Spec, lb_scheme: &str, notes: &mut Notes) {
    scheme(spec, lb_scheme, notes);
    let kind = key::TYPE.text(spec).unwrap_or_default();
    if !matches!(kind, "" | "clb" | "classic" | "elb") {
        let message = format!(
            "{}: {kind:?} is none of nlb, external and nlb-ip, so the load balancer is a classic one",
            key::TYPE.key
        );
        notes.warn(REASON, message);
    }
}

fn scheme(spec: &Spec, current: &str, notes: &mut Notes) {
    let wanted = match settings::scheme(spec) {
        Scheme::Public => "internet-facing",
        Scheme::Internal => "internal",
    };
    if !current.is_empty() && current != wanted {
        keeps(key::INTERNAL, &[current.to_owned()].into(), notes);
    }
}

fn addresses(
    row: Annotation,
    spec: &Spec,
    zones: &[Zone],
    of: impl Fn(&Address) -> &Option<String>,
    notes: &mut Notes,
) {
    let wanted: BTreeSet<String> = row.list(spec).into_iter().collect();
    let current = zones.iter().flat_map(|zone| zone.load_balancer_addresses.iter());
    let current: BTreeSet<String> = current.filter_map(|address| of(address).clone()).collect();
    if !wanted.is_empty() && wanted != current {
        keeps(row, &current, notes);
    }
}

fn keeps(row: Annotation, current: &BTreeSet<String>, notes: &mut Notes) {
    let current: Vec<&str> = current.iter().map(String::as_str).collect();
    let current = if current.is_empty() {
        "none".to_owned()
    } else {
        current.join(",")
    };
    let message = format!(
        "{} counts only when the load balancer is created, which keeps what it has: {current}. Recreate the Service to change it",
        row.key
    );
    notes.warn(REASON, message);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::List,
        load_balancers::fixture::{config, spec},
    };
    use rstest::rstest;

    fn lb() -> LoadBalancer {
        let address = Address {
            allocation_id: Some("eip-1".into()),
            private_ipv4_address: None,
        };
        LoadBalancer {
            scheme: "internet-facing".into(),
            availability_zones: List(vec![Zone {
                subnet_id: "subnet-1".into(),
                load_balancer_addresses: List(vec![address]),
            }]),
            ..LoadBalancer::default()
        }
    }

    #[rstest]
    #[case::nothing(&[], "")]
    #[case::as_it_is(&[(key::INTERNAL, "false"), (key::SUBNETS, "subnet-1"), (key::EIP_ALLOCATIONS, "eip-1")], "")]
    #[case::internal(&[(key::INTERNAL, "true")], "internal")]
    #[case::subnets(&[(key::SUBNETS, "subnet-2")], "subnets")]
    #[case::names_are_not_compared(&[(key::SUBNETS, "web")], "")]
    #[case::elastic_ip(&[(key::EIP_ALLOCATIONS, "eip-2")], "eip-allocations")]
    #[case::private_ip(&[(key::PRIVATE_IPV4_ADDRESSES, "10.0.0.9")], "private-ipv4-addresses")]
    #[case::groups(&[(key::SECURITY_GROUPS, "sg-1")], "security-groups")]
    fn network_load_balancers(#[case] annotations: &[(Annotation, &str)], #[case] expected: &str) {
        let mut spec = spec(&[80]);
        spec.annotations
            .extend(annotations.iter().map(|(row, value)| (row.key.into(), (*value).into())));
        let mut notes = Notes::default();
        network(&spec, &lb(), &config(&[]), &mut notes);
        let prefix = "service.beta.kubernetes.io/aws-load-balancer-";
        let about = |event: &cloud::Event| {
            event
                .message
                .strip_prefix(prefix)
                .unwrap()
                .split(' ')
                .next()
                .unwrap()
                .to_owned()
        };
        let about: Vec<String> = notes.events.iter().map(about).collect();
        assert_eq!(about.join(" "), expected);
    }

    #[rstest]
    #[case::absent(None, 0)]
    #[case::typo(Some("NLB"), 1)]
    fn types(#[case] kind: Option<&str>, #[case] warnings: usize) {
        let mut spec = spec(&[80]);
        if let Some(kind) = kind {
            spec.annotations.insert(key::TYPE.key.into(), kind.into());
        }
        let mut notes = Notes::default();
        classic(&spec, "internet-facing", &mut notes);
        assert_eq!(notes.events.len(), warnings);
    }
}
