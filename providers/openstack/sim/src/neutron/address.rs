//! Addresses and where they come from.

use ipnet::IpNet;
use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};
use uuid::Uuid;

/// An address of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fixed {
    pub(crate) subnet: Uuid,
    pub(crate) address: IpAddr,
}

/// The addresses of a subnet that can be given out, and those that are.
#[derive(Debug, Clone)]
pub(super) struct Pool {
    ranges: Vec<(u128, u128)>,
    used: BTreeSet<u128>,
    next: u128,
    v4: bool,
    open: bool,
}

impl Pool {
    /// A pool of these ranges, each with its last address.
    pub(super) fn new(ranges: &[(IpAddr, IpAddr)]) -> Self {
        let ranges: Vec<(u128, u128)> = ranges
            .iter()
            .map(|(first, last)| (number(*first), number(*last)))
            .collect();
        Self {
            next: ranges.first().map_or(0, |range| range.0),
            v4: true,
            open: true,
            used: BTreeSet::new(),
            ranges,
        }
        .family()
    }

    fn family(mut self) -> Self {
        self.v4 = self.ranges.iter().all(|(_, last)| *last <= u128::from(u32::MAX));
        self
    }

    pub(super) fn ranges(&self) -> impl Iterator<Item = (IpAddr, IpAddr)> {
        self.ranges
            .iter()
            .map(|(first, last)| (self.address(*first), self.address(*last)))
    }

    /// Takes any address that is free.
    pub(super) fn take_any(&mut self) -> Option<IpAddr> {
        if !self.open {
            return None;
        }
        let found = self.free_from(self.next).or_else(|| self.free_from(0))?;
        self.used.insert(found);
        self.next = found + 1;
        Some(self.address(found))
    }

    /// Takes this address; `false` if it is taken.
    pub(super) fn take(&mut self, address: IpAddr) -> bool {
        self.used.insert(number(address))
    }

    pub(super) fn give_back(&mut self, address: IpAddr) {
        self.used.remove(&number(address));
    }

    /// Gives out no address any more.
    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// Whether anything is taken.
    pub(super) fn is_used(&self) -> bool {
        !self.used.is_empty()
    }

    fn free_from(&self, from: u128) -> Option<u128> {
        self.ranges.iter().find_map(|(first, last)| {
            let mut candidate = from.max(*first);
            let mut taken = self.used.range(candidate..);
            while candidate <= *last && taken.next() == Some(&candidate) {
                candidate += 1;
            }
            (candidate <= *last).then_some(candidate)
        })
    }

    fn address(&self, number: u128) -> IpAddr {
        match u32::try_from(number) {
            Ok(number) if self.v4 => Ipv4Addr::from(number).into(),
            _ => Ipv6Addr::from(number).into(),
        }
    }
}

/// The ranges that Neutron allocates from a CIDR: all but the network, the broadcast and the gateway.
pub(super) fn ranges(cidr: IpNet, gateway: Option<IpAddr>) -> Vec<(IpAddr, IpAddr)> {
    let (mut first, mut last) = (number(cidr.network()), number(cidr.broadcast()));
    if cidr.prefix_len() + 1 < cidr.max_prefix_len() {
        first += 1;
        last -= u128::from(cidr.addr().is_ipv4());
    }
    let back = |number: u128| match (cidr, u32::try_from(number)) {
        (IpNet::V4(_), Ok(number)) => IpAddr::from(Ipv4Addr::from(number)),
        _ => Ipv6Addr::from(number).into(),
    };
    let split = match gateway.map(number) {
        Some(gateway) if gateway >= first && gateway <= last => vec![(first, gateway - 1), (gateway + 1, last)],
        _ => vec![(first, last)],
    };
    let kept = split.into_iter().filter(|(first, last)| first <= last);
    kept.map(|(first, last)| (back(first), back(last))).collect()
}

/// The gateway that Neutron chooses.
pub(crate) fn gateway(cidr: IpNet) -> IpAddr {
    match cidr {
        IpNet::V4(net) => Ipv4Addr::from(u32::from(net.network()).saturating_add(1)).into(),
        IpNet::V6(net) => net.network().into(),
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::v4("10.20.0.0/24", Some("10.20.0.1"), &["10.20.0.2-10.20.0.254"])]
    #[case::no_gateway("10.21.0.0/30", None, &["10.21.0.1-10.21.0.2"])]
    #[case::gateway_inside("10.0.0.0/29", Some("10.0.0.3"), &["10.0.0.1-10.0.0.2", "10.0.0.4-10.0.0.6"])]
    #[case::v6("fd00:20::/64", Some("fd00:20::"), &["fd00:20::1-fd00:20::ffff:ffff:ffff:ffff"])]
    fn makes_ranges(#[case] cidr: &str, #[case] gateway: Option<&str>, #[case] wanted: &[&str]) {
        let made = ranges(cidr.parse().unwrap(), gateway.map(|text| text.parse().unwrap()));
        let texts: Vec<String> = made.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        assert_eq!(texts, wanted);
    }

    #[test]
    fn gives_out_every_address_once() {
        let mut pool = Pool::new(&ranges("10.0.0.0/29".parse().unwrap(), None));
        assert!(pool.take("10.0.0.2".parse().unwrap()));
        assert!(!pool.take("10.0.0.2".parse().unwrap()));
        let all: Vec<String> = std::iter::from_fn(|| pool.take_any())
            .map(|address| address.to_string())
            .collect();
        assert_eq!(all, ["10.0.0.1", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"]);
        pool.give_back("10.0.0.3".parse().unwrap());
        assert_eq!(
            pool.take_any().map(|address| address.to_string()),
            Some("10.0.0.3".into())
        );
    }
}
