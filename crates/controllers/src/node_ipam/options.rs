//! The settings of the controller.

use super::plan::CidrSet;
use ipnet::IpNet;

/// The settings of the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `--cluster-cidr`: one range, or one of each family.
    pub cluster_cidrs: Vec<IpNet>,
    /// `--service-cluster-ip-range`: never assigned to Nodes.
    pub service_cidrs: Vec<IpNet>,
    /// The prefix length of a Node's CIDR, for each of `cluster_cidrs`.
    pub mask_sizes: Vec<u8>,
}

/// The flags for the prefix length of a Node's CIDR; `None` if not set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaskSizes {
    /// `--node-cidr-mask-size`
    pub any: Option<u8>,
    /// `--node-cidr-mask-size-ipv4`
    pub v4: Option<u8>,
    /// `--node-cidr-mask-size-ipv6`
    pub v6: Option<u8>,
}

const DEFAULT_V4: u8 = 24;
const DEFAULT_V6: u8 = 64;
/// An allocator has at most this many bits to assign: more than a cluster has Nodes.
const MAX_EXTRA_BITS_V6: u8 = 16;

impl Options {
    /// Validates the flags.
    ///
    /// # Errors
    /// Every problem, a sentence each.
    pub fn new(cluster_cidrs: &[IpNet], service_cidrs: &[IpNet], masks: MaskSizes) -> Result<Self, Vec<String>> {
        let mut problems = ranges(cluster_cidrs);
        problems.extend(masks.problems(cluster_cidrs));
        let mask_sizes: Vec<_> = cluster_cidrs.iter().map(|cidr| masks.of(cidr)).collect();
        problems.extend(
            cluster_cidrs
                .iter()
                .zip(&mask_sizes)
                .filter_map(|(cidr, mask)| too_small(cidr, *mask)),
        );
        if !problems.is_empty() {
            return Err(problems);
        }
        let options = Self {
            cluster_cidrs: cluster_cidrs.iter().map(IpNet::trunc).collect(),
            service_cidrs: service_cidrs.to_vec(),
            mask_sizes,
        };
        let problems = options.used_up();
        if problems.is_empty() {
            Ok(options)
        } else {
            Err(problems)
        }
    }

    /// The parts of each cluster CIDR, without those of Services.
    pub(super) fn sets(&self) -> impl Iterator<Item = CidrSet> + '_ {
        let ranges = self.cluster_cidrs.iter().zip(&self.mask_sizes);
        ranges.map(|(range, mask)| {
            let mut set = CidrSet::new(*range, *mask);
            self.service_cidrs.iter().for_each(|service| set.take(service));
            set
        })
    }

    /// Cluster CIDRs whose parts are all used by Services.
    fn used_up(&self) -> Vec<String> {
        let sets = self.cluster_cidrs.iter().zip(&self.mask_sizes).zip(self.sets());
        let used_up = sets.filter_map(|(range, mut set)| set.take_next().is_none().then_some(range));
        let problems = used_up.map(|(cidr, mask)| {
            format!(
                "--service-cluster-ip-range leaves no /{mask} of the cluster CIDR {cidr} for a node: choose ranges that do not overlap"
            )
        });
        problems.collect()
    }
}

impl MaskSizes {
    fn of(self, cidr: &IpNet) -> u8 {
        match cidr {
            IpNet::V4(_) => self.any.or(self.v4).unwrap_or(DEFAULT_V4),
            IpNet::V6(_) => self.any.or(self.v6).unwrap_or(DEFAULT_V6),
        }
    }

    fn problems(self, cidrs: &[IpNet]) -> Vec<String> {
        let (has_v4, has_v6) = (cidrs.iter().any(is_v4), cidrs.iter().any(|cidr| !is_v4(cidr)));
        let mut problems = Vec::new();
        if self.any.is_some() && has_v4 && has_v6 {
            problems.push(
                "--node-cidr-mask-size cannot be used with two cluster CIDRs: use --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6"
                    .to_owned(),
            );
        }
        if self.any.is_some() && (self.v4.is_some() || self.v6.is_some()) {
            problems.push(
                "--node-cidr-mask-size excludes --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6: give one kind only"
                    .to_owned(),
            );
        }
        if self.v4.is_some() && !has_v4 && has_v6 {
            problems.push("--node-cidr-mask-size-ipv4 is given, but no cluster CIDR is IPv4: remove it".to_owned());
        }
        if self.v6.is_some() && !has_v6 && has_v4 {
            problems.push("--node-cidr-mask-size-ipv6 is given, but no cluster CIDR is IPv6: remove it".to_owned());
        }
        problems
    }
}

fn is_v4(cidr: &IpNet) -> bool {
    matches!(cidr, IpNet::V4(_))
}

fn ranges(cidrs: &[IpNet]) -> Vec<String> {
    match cidrs {
        [] => vec![
            "node-ipam-controller needs --cluster-cidr: name the range that pods get their addresses from".to_owned(),
        ],
        [_] => vec![],
        [a, b] if is_v4(a) != is_v4(b) => vec![],
        [_, _] => vec!["--cluster-cidr has two ranges of the same family: give one IPv4 and one IPv6".to_owned()],
        _ => vec![format!("--cluster-cidr has {} ranges: give at most two", cidrs.len())],
    }
}

fn too_small(cidr: &IpNet, mask: u8) -> Option<String> {
    if mask < cidr.prefix_len() || mask > cidr.max_prefix_len() {
        return Some(format!(
            "a node's range /{mask} does not fit into the cluster CIDR {cidr}: choose a mask from {} to {}",
            cidr.prefix_len(),
            cidr.max_prefix_len()
        ));
    }
    let extra = mask - cidr.prefix_len();
    (!is_v4(cidr) && extra > MAX_EXTRA_BITS_V6).then(|| {
        format!("the node mask /{mask} is more than {MAX_EXTRA_BITS_V6} bits longer than the cluster CIDR {cidr}: choose at most /{}",
            cidr.prefix_len() + MAX_EXTRA_BITS_V6)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::defaults("10.0.0.0/16 fd00::/56", MaskSizes::default(), Ok(vec![24, 64]))]
    #[case::one_mask("10.0.0.0/16", MaskSizes { any: Some(26), ..MaskSizes::default() }, Ok(vec![26]))]
    #[case::two_masks("10.0.0.0/16 fd00::/56", MaskSizes { v4: Some(25), v6: Some(60), any: None }, Ok(vec![25, 60]))]
    #[case::one_mask_for_two("10.0.0.0/16 fd00::/56", MaskSizes { any: Some(64), ..MaskSizes::default() }, Err("cannot be used with two cluster CIDRs"))]
    #[case::both_kinds("10.0.0.0/16", MaskSizes { any: Some(26), v4: Some(26), v6: None }, Err("excludes"))]
    #[case::wrong_family("10.0.0.0/16", MaskSizes { v6: Some(64), ..MaskSizes::default() }, Err("no cluster CIDR is IPv6"))]
    #[case::none("", MaskSizes::default(), Err("needs --cluster-cidr"))]
    #[case::same_family("10.0.0.0/16 10.1.0.0/16", MaskSizes::default(), Err("same family"))]
    #[case::too_small("10.0.0.0/25", MaskSizes::default(), Err("does not fit"))]
    #[case::too_many("fd00::/40", MaskSizes::default(), Err("choose at most /56"))]
    fn flags(#[case] cidrs: &str, #[case] masks: MaskSizes, #[case] expected: Result<Vec<u8>, &str>) {
        let cidrs: Vec<IpNet> = cidrs.split_whitespace().map(|cidr| cidr.parse().unwrap()).collect();
        match (Options::new(&cidrs, &[], masks), expected) {
            (Ok(options), Ok(sizes)) => assert_eq!(options.mask_sizes, sizes),
            (Err(problems), Err(part)) => assert!(problems.join("; ").contains(part), "{problems:?}"),
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    #[rstest]
    #[case::apart("10.0.0.0/16", "10.1.0.0/16", "")]
    #[case::a_part_of_it("10.0.0.0/16", "10.0.0.0/20", "")]
    #[case::the_same("10.0.0.0/16", "10.0.0.0/16", "leaves no /24 of the cluster CIDR 10.0.0.0/16")]
    #[case::around_it("10.0.0.0/16", "10.0.0.0/8", "leaves no /24 of the cluster CIDR 10.0.0.0/16")]
    #[case::in_two_halves("10.0.0.0/16", "10.0.0.0/17 10.0.128.0/17", "leaves no /24")]
    #[case::into_the_only_part("10.0.0.0/24", "10.0.0.0/28", "leaves no /24")]
    #[case::one_family("10.0.0.0/16 fd00::/56", "fd00::/48", "leaves no /64 of the cluster CIDR fd00::/56")]
    fn services_may_not_use_all_parts(#[case] cidrs: &str, #[case] services: &str, #[case] problem: &str) {
        let nets = |text: &str| -> Vec<IpNet> { text.split_whitespace().map(|cidr| cidr.parse().unwrap()).collect() };
        let problems = Options::new(&nets(cidrs), &nets(services), MaskSizes::default()).err();
        let problems = problems.unwrap_or_default().join("; ");
        assert!(
            problems.contains(problem) && problems.is_empty() == problem.is_empty(),
            "{problems:?}"
        );
    }
}
