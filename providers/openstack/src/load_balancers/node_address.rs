//! By which of its addresses a node is reached.

use crate::instances::provider_id;
use cloud::{AddressKind, Host, IpFamily};
use std::net::IpAddr;

/// The address of a member: the first internal one of the family, else the first external one. Without a family the first address of either kind
/// counts. Host names are never used.
///
/// The text is the Node's own, which need not be the canonical form of an IPv6 address.
pub(crate) fn of(host: &Host, family: Option<IpFamily>) -> Option<&str> {
    [AddressKind::InternalIP, AddressKind::ExternalIP]
        .into_iter()
        .flat_map(|kind| host.addresses.iter().filter(move |address| address.kind == kind))
        .map(|address| address.address.as_str())
        .find(|address| family.is_none_or(|family| family_of(address) == Some(family)))
}

/// The server behind a node, if it is known and in this region.
pub(crate) fn server<'a>(host: &'a Host, region: &str) -> Option<&'a str> {
    provider_id::server_in(host.provider_id.as_ref()?, region).ok()
}

/// The family of an address; none if it is no address at all.
pub(crate) fn family_of(address: &str) -> Option<IpFamily> {
    Some(match address.parse().ok()? {
        IpAddr::V4(_) => IpFamily::V4,
        IpAddr::V6(_) => IpFamily::V6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::Address;
    use rstest::rstest;

    const V4: Option<IpFamily> = Some(IpFamily::V4);
    const V6: Option<IpFamily> = Some(IpFamily::V6);
    const LONG: &str = "2001:0db8:85a3:0000:0000:8a2e:0370:7334";

    fn host(addresses: &str) -> Host {
        let kind = |name: &str| AddressKind::parse(name).expect("a kind of address");
        let addresses = addresses.split_whitespace().map(|item| {
            let (name, address) = item.split_once('=').expect("kind=address");
            Address::new(kind(name), address.replace("LONG", LONG))
        });
        Host {
            addresses: addresses.collect(),
            ..Host::default()
        }
    }

    // upstream: openstack 42
    #[rstest]
    #[case("Empty Address with IPv4 protocol family", V4, "", None)]
    #[case("Empty Address with IPv6 protocol family", V6, "", None)]
    #[case(
        "valid address with IPv4 protocol family",
        V4,
        "InternalIP=192.168.1.1",
        Some("192.168.1.1")
    )]
    #[case("valid address with IPv6 protocol family", V6, "InternalIP=LONG", Some(LONG))]
    #[case(
        "multiple IPv4 address",
        V4,
        "ExternalIP=192.168.1.2 InternalIP=192.168.1.1",
        Some("192.168.1.1")
    )]
    #[case("multiple IPv6 address", V6, "ExternalIP=2001:db8::8888 InternalIP=LONG", Some(LONG))]
    #[case(
        "multiple mix addresses expecting IPv6 response",
        V6,
        "InternalIP=192.168.1.1 InternalIP=LONG",
        Some(LONG)
    )]
    #[case(
        "multiple mix addresses expecting IPv4 response",
        V4,
        "ExternalIP=2009:db8::9999 InternalIP=LONG ExternalIP=2001:db8::1 InternalIP=192.168.1.1 ExternalIP=LONG",
        Some("192.168.1.1")
    )]
    #[case(
        "single valid IPv4 address without preferred valid specification",
        None,
        "InternalIP=192.168.1.1",
        Some("192.168.1.1")
    )]
    #[case(
        "single valid IPv6 address without preferred valid specification",
        None,
        "InternalIP=LONG",
        Some(LONG)
    )]
    #[case(
        "multiple valid IPv6 address without preferred valid specification",
        None,
        "InternalIP=LONG InternalIP=192.168.0.1 InternalIP=2001:db8::2",
        Some(LONG)
    )]
    #[case("invalid IPv4 address specification", V4, "InternalIP=LONG", None)]
    #[case("invalid IPv6 address specification", V6, "InternalIP=192.168.1.1", None)]
    #[case(
        "Ignore NodeExternalDNS address with IPv4 protocol family",
        V4,
        "ExternalDNS=example.com",
        None
    )]
    #[case(
        "Ignore NodeExternalDNS address with IPv6 protocol family",
        V6,
        "ExternalDNS=example.com",
        None
    )]
    #[case(
        "external address where there is no internal one",
        V4,
        "Hostname=a ExternalIP=1.2.3.4",
        Some("1.2.3.4")
    )]
    #[case("only a hostname", V4, "Hostname=a", None)]
    fn chooses(
        #[case] name: &str,
        #[case] family: Option<IpFamily>,
        #[case] addresses: &str,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(of(&host(addresses), family), expected, "{name}");
    }
}
