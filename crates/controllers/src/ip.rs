//! IP addresses and ranges, parsed as Kubernetes does: leading zeros are allowed, and `010.0.0.1` is `10.0.0.1`.

use ipnet::IpNet;
use std::net::IpAddr;

/// Parses an address.
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    without_leading_zeros(text).parse().ok()
}

/// Parses a range; its host bits are cleared.
pub(crate) fn parse_range(text: &str) -> Option<IpNet> {
    let range: Option<IpNet> = without_leading_zeros(text).parse().ok();
    range.map(|range| range.trunc())
}

fn without_leading_zeros(text: &str) -> String {
    if text.contains(':') {
        return text.to_owned();
    }
    let octet = |part: &str| match part.trim_start_matches('0') {
        rest if rest.len() == part.len() => part.to_owned(),
        rest if rest.starts_with(|c: char| c.is_ascii_digit()) => rest.to_owned(),
        rest => format!("0{rest}"),
    };
    text.split('.').map(octet).collect::<Vec<_>>().join(".")
}
