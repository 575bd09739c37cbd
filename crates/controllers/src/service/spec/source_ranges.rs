//! The networks from which clients may connect to a load balancer.

use super::Invalid;
use crate::ip;
use cloud::RangesFrom;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use k8s_openapi::api::core::v1::Service;
use std::{collections::BTreeSet, net::Ipv4Addr, net::Ipv6Addr};

/// The annotation with the source ranges of Services without `spec.loadBalancerSourceRanges`.
pub const ANNOTATION: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// The source ranges of a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRanges {
    /// The networks from which clients may connect, sorted, each once.
    pub nets: Vec<IpNet>,
    /// Where they come from.
    pub from: RangesFrom,
    /// Entries that are not CIDRs.
    pub bad: Vec<String>,
}

impl SourceRanges {
    /// The same, if all entries are CIDRs.
    ///
    /// # Errors
    /// If an entry is not a CIDR.
    pub fn checked(self) -> Result<Self, Invalid> {
        let Some(item) = self.bad.first() else {
            return Ok(self);
        };
        let field = match self.from {
            RangesFrom::Annotation => format!("annotation {ANNOTATION}"),
            RangesFrom::Spec | RangesFrom::Default => "spec.loadBalancerSourceRanges".to_owned(),
        };
        let reason = format!("{item:?} is not an IP range; write ranges like 10.0.0.0/24 or 2001:db8::/64");
        Err(Invalid::new(field, reason))
    }
}

/// The source ranges of a Service.
///
/// `spec.loadBalancerSourceRanges` takes precedence over the annotation. Without both, clients may connect from everywhere, by
/// each of the Service's IP families.
#[must_use]
pub fn of(service: &Service) -> SourceRanges {
    let spec = service.spec.as_ref();
    let listed = spec
        .and_then(|spec| spec.load_balancer_source_ranges.as_deref())
        .unwrap_or_default();
    if !listed.is_empty() {
        return parse(RangesFrom::Spec, listed.iter().map(String::as_str));
    }
    match annotation(service) {
        Some(ranges) => parse(RangesFrom::Annotation, ranges.split(',')),
        None => everywhere(spec.and_then(|spec| spec.ip_families.as_deref()).unwrap_or_default()),
    }
}

/// Whether clients may connect from everywhere, by at least one IP family.
#[must_use]
pub fn allow_all(ranges: &[IpNet]) -> bool {
    ranges.iter().any(|range| range.prefix_len() == 0)
}

fn annotation(service: &Service) -> Option<&str> {
    let value = service.metadata.annotations.as_ref()?.get(ANNOTATION)?.trim();
    (!value.is_empty()).then_some(value)
}

/// Everywhere, by each of these IP families.
pub(super) fn everywhere(families: &[String]) -> SourceRanges {
    let v4 = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0));
    let v6 = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0));
    let has = |family: &str| families.iter().any(|one| one == family);
    let nets = match (has("IPv4"), has("IPv6")) {
        (_, false) => vec![v4],
        (false, true) => vec![v6],
        (true, true) => vec![v4, v6],
    };
    SourceRanges {
        nets,
        from: RangesFrom::Default,
        bad: Vec::new(),
    }
}

fn parse<'a>(from: RangesFrom, items: impl Iterator<Item = &'a str>) -> SourceRanges {
    let (mut nets, mut bad) = (BTreeSet::new(), Vec::new());
    for item in items {
        match ip::parse_range(item.trim()) {
            Some(range) => drop(nets.insert(range)),
            None => bad.push(item.to_owned()),
        }
    }
    SourceRanges {
        nets: nets.into_iter().collect(),
        from,
        bad,
    }
}

#[cfg(test)]
mod tests;
