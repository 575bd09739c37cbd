//! Who may connect to a load balancer.

use super::spec::Invalid;
use crate::ip::without_leading_zeros;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use k8s_openapi::api::core::v1::Service;
use std::{collections::BTreeSet, net::Ipv4Addr, net::Ipv6Addr};

/// The annotation that names the source ranges of Services that do not name them in their spec.
pub const ANNOTATION: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// The networks that may connect, each once, in order; never empty.
///
/// `spec.loadBalancerSourceRanges` counts before the annotation. With neither, everybody may connect, by each of the
/// Service's IP families.
///
/// # Errors
/// If one of them is no CIDR.
pub fn of(service: &Service) -> Result<Vec<IpNet>, Invalid> {
    let spec = service.spec.as_ref();
    let listed = spec
        .and_then(|spec| spec.load_balancer_source_ranges.as_deref())
        .unwrap_or_default();
    if !listed.is_empty() {
        return parse("spec.loadBalancerSourceRanges", listed.iter().map(String::as_str));
    }
    match annotation(service) {
        Some(ranges) => parse(&format!("annotation {ANNOTATION}"), ranges.split(',')),
        None => Ok(everybody(
            spec.and_then(|spec| spec.ip_families.as_deref()).unwrap_or_default(),
        )),
    }
}

/// Whether everybody may connect, by one IP family at least.
#[must_use]
pub fn allow_all(ranges: &[IpNet]) -> bool {
    ranges.iter().any(|range| range.prefix_len() == 0)
}

fn annotation(service: &Service) -> Option<&str> {
    let value = service.metadata.annotations.as_ref()?.get(ANNOTATION)?.trim();
    (!value.is_empty()).then_some(value)
}

/// Everybody, by each of these IP families.
pub(super) fn everybody(families: &[String]) -> Vec<IpNet> {
    let v4 = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0));
    let v6 = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0));
    let has = |family: &str| families.iter().any(|one| one == family);
    match (has("IPv4"), has("IPv6")) {
        (_, false) => vec![v4],
        (false, true) => vec![v6],
        (true, true) => vec![v4, v6],
    }
}

fn parse<'a>(field: &str, items: impl Iterator<Item = &'a str>) -> Result<Vec<IpNet>, Invalid> {
    let one = |item: &str| {
        let range = without_leading_zeros(item.trim()).parse::<IpNet>();
        range.map(|range| range.trunc()).map_err(|_| {
            Invalid::new(
                field,
                format!("{item:?} is not an IP range; write ranges like 10.0.0.0/24 or 2001:db8::/64"),
            )
        })
    };
    let ranges: BTreeSet<IpNet> = items.map(one).collect::<Result<_, _>>()?;
    Ok(ranges.into_iter().collect())
}

#[cfg(test)]
mod tests;
