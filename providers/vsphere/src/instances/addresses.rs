//! Which of a machine's addresses its node has. All rules are here, and all are the Go program's.

use crate::config::{Family, Networks};
use cloud::{Address, AddressKind};
use std::net::IpAddr;

/// A network interface, as VMware Tools report it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nic {
    /// The vSphere network.
    pub network: String,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// What it is in the machine.
    pub device: Device,
}

/// What an interface is in the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Device {
    /// A device of the virtual machine.
    #[default]
    Hardware,
    /// Something of the guest, such as the bridge of a network plugin.
    Guest,
}

/// An address and the vSphere network that it is on.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    address: IpAddr,
    text: &'a str,
    network: &'a str,
}

/// The addresses of a node, in the order of `status.addresses`. `first` are those that a user configured for the machine.
///
/// # Errors
/// One sentence: why there are none.
pub fn of(
    host_name: &str,
    nics: &[Nic],
    first: &[IpAddr],
    networks: &Networks,
    families: &[Family],
) -> Result<Vec<Address>, String> {
    let nics: Vec<&Nic> = nics.iter().filter(|nic| nic.device == Device::Hardware).collect();
    on_a_configured_network(&nics, networks)?;
    let mut candidates = candidates(&nics)?;
    let rank = |candidate: &Candidate<'_>| first.iter().position(|address| *address == candidate.address);
    candidates.sort_by_key(|candidate| rank(candidate).unwrap_or(usize::MAX));

    let mut addresses = vec![Address::new(AddressKind::Hostname, host_name)];
    for family in families {
        let [internal, external] = of_family(*family, &candidates, networks);
        if internal.is_none() && external.is_none() {
            return Err(format!(
                "it has no {} address that the configuration allows: {}",
                family.name(),
                list(&candidates)
            ));
        }
        addresses.extend(internal.map(|one| Address::new(AddressKind::InternalIP, one.text)));
        addresses.extend(external.map(|one| Address::new(AddressKind::ExternalIP, one.text)));
    }
    let mut unique = Vec::with_capacity(addresses.len());
    for address in addresses {
        if !unique.contains(&address) {
            unique.push(address);
        }
    }
    Ok(unique)
}

/// If both networks have names, one of them must be there.
fn on_a_configured_network(nics: &[&Nic], networks: &Networks) -> Result<(), String> {
    let (Some(internal), Some(external)) = (&networks.internal.name, &networks.external.name) else {
        return Ok(());
    };
    let is_there = |name: &str| nics.iter().any(|nic| is_same(&nic.network, name));
    if is_there(internal) || is_there(external) {
        return Ok(());
    }
    let found: Vec<&str> = nics.iter().map(|nic| nic.network.as_str()).collect();
    Err(format!(
        "it is neither on the network {internal:?} nor on {external:?} of the configuration, but on {}",
        if found.is_empty() {
            "none".to_owned()
        } else {
            found.join(", ")
        }
    ))
}

/// The addresses that other machines can reach.
fn candidates<'a>(nics: &[&'a Nic]) -> Result<Vec<Candidate<'a>>, String> {
    let all = nics
        .iter()
        .flat_map(|nic| nic.addresses.iter().map(|text| (text.as_str(), nic.network.as_str())));
    let (mut usable, mut dropped) = (Vec::new(), Vec::new());
    for (text, network) in all {
        match text.parse::<IpAddr>() {
            Ok(address) if is_reachable(address) => usable.push(Candidate { address, text, network }),
            _ => dropped.push(text),
        }
    }
    match (usable.is_empty(), dropped.is_empty()) {
        (false, _) => Ok(usable),
        (true, true) => Err("VMware Tools report no address (yet)".to_owned()),
        (true, false) => Err(format!(
            "VMware Tools report only addresses that no other machine can reach: {}",
            dropped.join(", ")
        )),
    }
}

fn is_reachable(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || (address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => address.is_unicast_link_local() || (address.segments()[0] & 0xff0f) == 0xff02,
    };
    !(address.is_unspecified() || address.is_loopback() || is_link_local)
}

/// The internal and the external address of a family.
fn of_family<'a>(
    family: Family,
    candidates: &[Candidate<'a>],
    Networks { internal, external }: &Networks,
) -> [Option<Candidate<'a>>; 2] {
    let found = [internal, external].map(|network| {
        let is_allowed = |one: &&Candidate<'a>| is_of(family, one.address) && network.allows(one.address);
        let allowed: Vec<Candidate<'a>> = candidates.iter().filter(is_allowed).copied().collect();
        let in_range = |range: &ipnet::IpNet| allowed.iter().find(|one| range.contains(&one.address)).copied();
        let named = |name: &String| allowed.iter().find(|one| is_same(one.network, name)).copied();
        let matching = network.ranges.iter().find_map(in_range);
        let matching = matching.or_else(|| network.name.as_ref().and_then(named));
        (matching, allowed.first().copied())
    });
    // If only one was found, the other one stays empty.
    if found.iter().any(|(matching, _)| matching.is_some()) {
        found.map(|(matching, _)| matching)
    } else {
        found.map(|(_, first)| first)
    }
}

fn is_of(family: Family, address: IpAddr) -> bool {
    match family {
        Family::V4 => address.to_canonical().is_ipv4(),
        Family::V6 => address.to_canonical().is_ipv6(),
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn list(candidates: &[Candidate<'_>]) -> String {
    let texts: Vec<String> = candidates
        .iter()
        .map(|one| format!("{} on {:?}", one.text, one.network))
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::networks_of;
    use rstest::rstest;

    /// `net=10.0.0.1,fe80::1 docker-=172.17.0.1`; `-` marks an interface of the guest.
    fn nics(text: &str) -> Vec<Nic> {
        let nic = |part: &str| {
            let (name, addresses) = part.split_once('=').unwrap();
            Nic {
                network: name.trim_end_matches('-').to_owned(),
                addresses: addresses
                    .split(',')
                    .filter(|one| !one.is_empty())
                    .map(str::to_owned)
                    .collect(),
                device: if name.ends_with('-') {
                    Device::Guest
                } else {
                    Device::Hardware
                },
            }
        };
        text.split_whitespace().map(nic).collect()
    }

    fn shown(nics_text: &str, config: &str, first: &str, families: &[Family]) -> String {
        let first: Vec<IpAddr> = first.split_whitespace().map(|one| one.parse().unwrap()).collect();
        match of("node", &nics(nics_text), &first, &networks_of(config), families) {
            Ok(addresses) => {
                let texts: Vec<String> = addresses[1..]
                    .iter()
                    .map(|one| format!("{} {}", one.kind, one.address))
                    .collect();
                texts.join(", ")
            }
            Err(why) => why,
        }
    }

    const V4: &[Family] = &[Family::V4];
    const V6: &[Family] = &[Family::V6];
    const V6_FIRST: &[Family] = &[Family::V6, Family::V4];

    #[rstest]
    #[case::one_nic("a=10.0.0.1", "", V4, "InternalIP 10.0.0.1, ExternalIP 10.0.0.1")]
    #[case::first_of_two("a=10.0.0.1 b=10.1.0.1", "", V4, "InternalIP 10.0.0.1, ExternalIP 10.0.0.1")]
    #[case::internal_range_only(
        "a=10.0.0.1 b=10.1.0.1",
        "internal-network-subnet-cidr=10.1.0.0/16",
        V4,
        "InternalIP 10.1.0.1"
    )]
    #[case::external_range_only(
        "a=10.0.0.1 b=10.1.0.1",
        "external-network-subnet-cidr=10.1.0.0/16",
        V4,
        "ExternalIP 10.1.0.1"
    )]
    #[case::range_and_name(
        "a=10.0.0.1 b=10.1.0.1",
        "internal-network-subnet-cidr=10.1.0.0/16 external-vm-network-name=A",
        V4,
        "InternalIP 10.1.0.1, ExternalIP 10.0.0.1"
    )]
    #[case::ranges_in_order(
        "a=10.0.0.1 b=10.1.0.1",
        "internal-network-subnet-cidr=10.1.0.0/16,10.0.0.0/16",
        V4,
        "InternalIP 10.1.0.1"
    )]
    #[case::range_before_name(
        "a=10.0.0.1 b=10.1.0.1",
        "internal-network-subnet-cidr=10.1.0.0/16 internal-vm-network-name=a",
        V4,
        "InternalIP 10.1.0.1"
    )]
    #[case::excluded(
        "a=10.0.0.1,10.0.0.2",
        "exclude-internal-network-subnet-cidr=10.0.0.1/32",
        V4,
        "InternalIP 10.0.0.2, ExternalIP 10.0.0.1"
    )]
    #[case::excluded_from_both(
        "a=10.0.0.1",
        "exclude-internal-network-subnet-cidr=10.0.0.0/8 exclude-external-network-subnet-cidr=10.0.0.0/8",
        V4,
        "it has no ipv4 address that the configuration allows: 10.0.0.1 on \"a\""
    )]
    #[case::v6("a=10.0.0.1,2001:db8::1", "", V6, "InternalIP 2001:db8::1, ExternalIP 2001:db8::1")]
    #[case::no_v6(
        "a=10.0.0.1",
        "",
        V6,
        "it has no ipv6 address that the configuration allows: 10.0.0.1 on \"a\""
    )]
    #[case::both(
        "a=10.0.0.1,2001:db8::1",
        "",
        V6_FIRST,
        "InternalIP 2001:db8::1, ExternalIP 2001:db8::1, InternalIP 10.0.0.1, ExternalIP 10.0.0.1"
    )]
    #[case::one_of_both_is_missing(
        "a=10.0.0.1",
        "",
        V6_FIRST,
        "it has no ipv6 address that the configuration allows: 10.0.0.1 on \"a\""
    )]
    #[case::other_network(
        "a=10.0.0.1",
        "internal-vm-network-name=x external-vm-network-name=y",
        V4,
        "it is neither on the network \"x\" nor on \"y\" of the configuration, but on a"
    )]
    #[case::one_name_does_not_match(
        "a=10.0.0.1",
        "internal-vm-network-name=x",
        V4,
        "InternalIP 10.0.0.1, ExternalIP 10.0.0.1"
    )]
    #[case::guest_interfaces("docker-=172.17.0.1 a=10.0.0.1", "", V4, "InternalIP 10.0.0.1, ExternalIP 10.0.0.1")]
    #[case::only_guest_interfaces("docker-=172.17.0.1", "", V4, "VMware Tools report no address (yet)")]
    #[case::no_addresses("a=", "", V4, "VMware Tools report no address (yet)")]
    #[case::local_only(
        "a=127.0.0.1,169.254.0.1,fe80::1,0.0.0.0,junk",
        "",
        V4,
        "VMware Tools report only addresses that no other machine can reach: 127.0.0.1, 169.254.0.1, fe80::1, 0.0.0.0, junk"
    )]
    fn selects(#[case] nics: &str, #[case] config: &str, #[case] families: &[Family], #[case] expected: &str) {
        assert_eq!(shown(nics, config, "", families), expected);
    }

    #[test]
    fn configured_addresses_come_first_in_their_order() {
        let text = shown(
            "a=10.0.0.1,10.0.0.2,10.0.0.3",
            "exclude-external-network-subnet-cidr=10.0.0.3/32",
            "10.0.0.3 10.0.0.2 10.9.9.9",
            V4,
        );
        assert_eq!(text, "InternalIP 10.0.0.3, ExternalIP 10.0.0.2");
    }

    #[test]
    fn the_host_name_is_the_first_address() {
        let addresses = of("node", &nics("a=10.0.0.1"), &[], &Networks::default(), V4).unwrap();
        assert_eq!(addresses[0], Address::new(AddressKind::Hostname, "node"));
    }
}
