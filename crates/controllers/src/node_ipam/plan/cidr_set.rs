//! A CIDR divided into equal parts, and which of them are in use.

use ipnet::IpNet;
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// The parts of one CIDR. Uses are counted, because another program may have assigned the same part to two Nodes.
#[derive(Debug, Clone)]
pub struct CidrSet {
    range: IpNet,
    mask: u8,
    taken: BTreeMap<u128, u32>,
    /// Where the search starts: a part that was just released is assigned again last.
    next: u128,
}

impl CidrSet {
    /// All parts are free. `mask` is at least the prefix length of the range, and at most that of an address.
    pub fn new(range: IpNet, mask: u8) -> Self {
        Self {
            range: range.trunc(),
            mask,
            taken: BTreeMap::new(),
            next: 0,
        }
    }

    /// How many parts there are.
    pub fn parts(&self) -> u128 {
        1_u128
            .checked_shl(u32::from(self.mask.saturating_sub(self.range.prefix_len())))
            .unwrap_or(u128::MAX)
    }

    /// How many parts are in use.
    pub fn taken(&self) -> usize {
        self.taken.len()
    }

    /// Takes the next free part; `None` if all are in use.
    pub fn take_next(&mut self) -> Option<IpNet> {
        let parts = self.parts();
        if u128::try_from(self.taken.len()).is_ok_and(|taken| taken >= parts) {
            return None;
        }
        let mut index = self.next;
        while self.taken.contains_key(&index) {
            index = (index + 1) % parts;
        }
        self.taken.insert(index, 1);
        self.next = (index + 1) % parts;
        Some(self.part(index))
    }

    /// Whether the range and this CIDR overlap.
    pub fn overlaps(&self, cidr: &IpNet) -> bool {
        self.range.contains(&cidr.trunc()) || cidr.contains(&self.range)
    }

    /// Takes every part that overlaps with this CIDR.
    pub fn take(&mut self, cidr: &IpNet) {
        for index in self.indexes(cidr) {
            *self.taken.entry(index).or_insert(0) += 1;
        }
    }

    /// Releases every part that overlaps with this CIDR.
    pub fn release(&mut self, cidr: &IpNet) {
        for index in self.indexes(cidr) {
            if let Some(count) = self.taken.get_mut(&index) {
                *count -= 1;
                if *count == 0 {
                    self.taken.remove(&index);
                }
            }
        }
    }

    fn indexes(&self, cidr: &IpNet) -> std::ops::Range<u128> {
        if !self.overlaps(cidr) {
            return 0..0;
        }
        let shift = u32::from(self.range.max_prefix_len() - self.mask);
        let start = number(self.range.network());
        let first = number(cidr.trunc().network())
            .saturating_sub(start)
            .checked_shr(shift)
            .unwrap_or(0);
        let last = number(cidr.broadcast())
            .saturating_sub(start)
            .checked_shr(shift)
            .unwrap_or(0);
        first..(last + 1).min(self.parts())
    }

    fn part(&self, index: u128) -> IpNet {
        let shift = u32::from(self.range.max_prefix_len() - self.mask);
        let address = number(self.range.network()) + index.checked_shl(shift).unwrap_or(0);
        let address = match self.range {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "an address inside an IPv4 range has 32 bits"
            )]
            IpNet::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(address as u32)),
            IpNet::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(address)),
        };
        IpNet::new_assert(address, self.mask)
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    #[test]
    fn assigns_each_part_once() {
        let mut set = CidrSet::new(net("10.0.0.0/22"), 24);
        let all: Vec<_> = std::iter::from_fn(|| set.take_next())
            .map(|cidr| cidr.to_string())
            .collect();
        assert_eq!(all, ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24"]);
        set.release(&net("10.0.1.0/24"));
        assert_eq!(set.take_next(), Some(net("10.0.1.0/24")));
    }

    #[test]
    fn a_released_part_is_assigned_last() {
        let mut set = CidrSet::new(net("10.0.0.0/22"), 24);
        let first = set.take_next().unwrap();
        set.release(&first);
        assert_eq!(set.take_next(), Some(net("10.0.1.0/24")));
    }

    #[rstest]
    #[case::inside("10.0.1.0/24", 1)]
    #[case::smaller_than_a_part("10.0.1.128/25", 1)]
    #[case::several_parts("10.0.2.0/23", 2)]
    #[case::the_whole_range("10.0.0.0/8", 4)]
    #[case::outside("10.1.0.0/24", 0)]
    #[case::other_family("fd00::/64", 0)]
    fn takes_overlapping_parts(#[case] cidr: &str, #[case] taken: usize) {
        let mut set = CidrSet::new(net("10.0.0.0/22"), 24);
        set.take(&net(cidr));
        assert_eq!(set.taken(), taken);
        set.release(&net(cidr));
        assert_eq!(set.taken(), 0);
    }

    #[test]
    fn a_part_with_two_users_is_free_when_both_release_it() {
        let mut set = CidrSet::new(net("10.0.0.0/24"), 24);
        set.take(&net("10.0.0.0/24"));
        set.take(&net("10.0.0.0/24"));
        set.release(&net("10.0.0.0/24"));
        assert_eq!(set.take_next(), None);
        set.release(&net("10.0.0.0/24"));
        assert_eq!(set.take_next(), Some(net("10.0.0.0/24")));
    }

    #[test]
    fn v6() {
        let mut set = CidrSet::new(net("fd00:1::/48"), 64);
        assert_eq!(set.parts(), 65536);
        set.take(&net("fd00:1::/64"));
        assert_eq!(set.take_next(), Some(net("fd00:1:0:1::/64")));
    }

    proptest! {
        #[test]
        fn no_part_is_assigned_twice(releases in prop::collection::vec(any::<bool>(), 1..200)) {
            let mut set = CidrSet::new(net("10.0.0.0/19"), 24);
            let mut held: Vec<IpNet> = Vec::new();
            for release in releases {
                if release && !held.is_empty() {
                    let first = held.remove(0);
                    set.release(&first);
                } else if let Some(new) = set.take_next() {
                    prop_assert!(held.iter().all(|other| !other.contains(&new) && !new.contains(other)));
                    held.push(new);
                } else {
                    prop_assert_eq!(held.len(), 32);
                }
            }
            prop_assert_eq!(set.taken(), held.len());
        }
    }
}
