//! `address-sort-order`: which addresses come first. Pure.

use cloud::Address;
use ipnet::IpNet;
use std::{cmp::Reverse, net::IpAddr};

/// Sorts by the first range that contains an address, and within a range by the address. Other addresses follow in their order.
pub fn sort(addresses: &mut [Address], order: &[IpNet]) {
    addresses.sort_by_cached_key(|address| {
        let rank = rank(order, &address.address);
        // Those of no range are all alike, so that they keep their order.
        let within = address.address.parse::<IpAddr>().ok().filter(|_| rank > 0);
        (Reverse(rank), within.map(bytes))
    });
}

/// The more, the earlier: the number of ranges for the first, 1 for the last, 0 for none.
fn rank(order: &[IpNet], address: &str) -> usize {
    let Ok(ip) = address.parse::<IpAddr>() else {
        return 0;
    };
    let first = order.iter().position(|range| range.contains(&ip.to_canonical()));
    first.map_or(0, |first| order.len() - first)
}

fn bytes(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::AddressKind;
    use rstest::rstest;

    fn ranges(text: &str) -> Vec<IpNet> {
        text.split(", ").filter_map(|range| range.parse().ok()).collect()
    }

    // upstream: openstack 28
    #[rstest]
    #[case("first match", "192.168.100.5", 2)]
    #[case("second match", "2001:4800:790e::82a8", 1)]
    #[case("no match", "192.168.101.5", 0)]
    #[case("hostname", "some-host.exam.ple", 0)]
    #[case("empty", "", 0)]
    fn ranks(#[case] what: &str, #[case] address: &str, #[case] expected: usize) {
        let order = ranges("192.168.100.0/24, 2001:4800:790e::/64");
        assert_eq!(rank(&order, address), expected, "{what}");
    }

    const GIVEN: &str = "10.0.0.32 172.16.0.1 2001:4800:780e:510:be76:4eff:fe04:84a8 host.exam.ple 50.56.176.99 \
                         10.0.0.31 50.56.176.35 2001:4800:790e:510:be76:4eff:fe04:82a8";

    // upstream: openstack 29
    #[rstest]
    #[case("invalid CIDR", "10.0.0.0/244", GIVEN)]
    #[case(
        "one v4 CIDR",
        "10.0.0.0/8",
        "10.0.0.31 10.0.0.32 172.16.0.1 2001:4800:780e:510:be76:4eff:fe04:84a8 host.exam.ple 50.56.176.99 \
         50.56.176.35 2001:4800:790e:510:be76:4eff:fe04:82a8"
    )]
    #[case(
        "one v6 CIDR",
        "2001:4800::/32",
        "2001:4800:780e:510:be76:4eff:fe04:84a8 2001:4800:790e:510:be76:4eff:fe04:82a8 10.0.0.32 172.16.0.1 \
         host.exam.ple 50.56.176.99 10.0.0.31 50.56.176.35"
    )]
    #[case(
        "several CIDRs",
        "50.56.176.0/24, 10.0.0.0/8, 2001:4800:790e::/48",
        "50.56.176.35 50.56.176.99 10.0.0.31 10.0.0.32 2001:4800:790e:510:be76:4eff:fe04:82a8 172.16.0.1 \
         2001:4800:780e:510:be76:4eff:fe04:84a8 host.exam.ple"
    )]
    fn sorts(#[case] what: &str, #[case] order: &str, #[case] expected: &str) {
        let mut addresses: Vec<Address> = GIVEN
            .split_whitespace()
            .map(|ip| Address::new(AddressKind::InternalIP, ip))
            .collect();
        sort(&mut addresses, &ranges(order));
        let sorted: Vec<&str> = addresses.iter().map(|address| address.address.as_str()).collect();
        assert_eq!(sorted, expected.split_whitespace().collect::<Vec<_>>(), "{what}");
    }
}
