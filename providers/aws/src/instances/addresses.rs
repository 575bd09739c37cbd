//! The addresses of an instance, family by family.

use crate::{
    api::ec2::instances::{Instance, NetworkInterface},
    config::Family,
};
use cloud::{Address, AddressKind, Error, Result};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The addresses of an instance, in the order of the families.
pub fn of(instance: &Instance, families: &[Family]) -> Result<Vec<Address>> {
    let mut addresses = Vec::new();
    for family in families {
        match family {
            Family::V4 => v4(instance, &mut addresses)?,
            Family::V6 => v6(instance, &mut addresses)?,
        }
    }
    Ok(addresses)
}

fn v4(instance: &Instance, into: &mut Vec<Address>) -> Result<()> {
    let private = interfaces(instance)
        .into_iter()
        .flat_map(|interface| &interface.private_ip_addresses_set);
    for address in private {
        into.push(Address::new(
            AddressKind::InternalIP,
            parsed::<Ipv4Addr>(&address.private_ip_address)?,
        ));
    }
    if !instance.ip_address.is_empty() {
        into.push(Address::new(
            AddressKind::ExternalIP,
            parsed::<Ipv4Addr>(&instance.ip_address)?,
        ));
    }
    let names = [
        (AddressKind::InternalDNS, &instance.private_dns_name),
        (AddressKind::Hostname, &instance.private_dns_name),
        (AddressKind::ExternalDNS, &instance.dns_name),
    ];
    let names = names.into_iter().filter(|(_, name)| !name.is_empty());
    into.extend(names.map(|(kind, name)| Address::new(kind, name)));
    Ok(())
}

/// Each interface has one address that counts.
fn v6(instance: &Instance, into: &mut Vec<Address>) -> Result<()> {
    for interface in interfaces(instance) {
        if let Some(first) = interface.ipv6_addresses_set.first() {
            into.push(Address::new(
                AddressKind::InternalIP,
                parsed::<Ipv6Addr>(&first.ipv6_address)?,
            ));
        }
    }
    Ok(())
}

/// The interfaces in use, in the order of their devices.
fn interfaces(instance: &Instance) -> Vec<&NetworkInterface> {
    let used = instance
        .network_interface_set
        .iter()
        .filter(|interface| interface.status == "in-use");
    let mut used: Vec<&NetworkInterface> = used.collect();
    used.sort_by_key(|interface| {
        let index = interface.attachment.as_ref().map(|attachment| attachment.device_index);
        index.unwrap_or(u32::MAX)
    });
    used
}

/// An address as EC2 writes it, if it is one.
pub fn parsed<A: std::str::FromStr>(address: &str) -> Result<&str> {
    match address.parse::<A>() {
        Ok(_) => Ok(address),
        Err(_) => Err(Error::unavailable(
            "DescribeInstances",
            format!("{address:?} is not an address"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ec2::instances::{Attachment, Ipv6Address, PrivateAddress};
    use rstest::rstest;

    /// `1 in-use 10.0.0.1 fd00::1`: an interface of this device index with this status and these addresses.
    fn interface(text: &str) -> NetworkInterface {
        let mut words = text.split_whitespace();
        let index = words.next().and_then(|index| index.parse().ok());
        let status = words.next().unwrap_or_default().to_owned();
        let (v6, v4): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains(':'));
        NetworkInterface {
            status,
            attachment: index.map(|device_index| Attachment { device_index }),
            private_ip_addresses_set: v4
                .into_iter()
                .map(|address| PrivateAddress {
                    private_ip_address: address.into(),
                })
                .collect(),
            ipv6_addresses_set: v6
                .into_iter()
                .map(|address| Ipv6Address {
                    ipv6_address: address.into(),
                })
                .collect(),
        }
    }

    fn summary(interfaces: &[&str], families: &[Family], public: &str, dns: &str) -> String {
        let instance = Instance {
            ip_address: public.into(),
            private_dns_name: dns.into(),
            dns_name: if public.is_empty() {
                String::new()
            } else {
                "ec2.example".into()
            },
            network_interface_set: interfaces.iter().map(|text| interface(text)).collect(),
            ..Instance::default()
        };
        match of(&instance, families) {
            Ok(addresses) => {
                let texts = addresses
                    .iter()
                    .map(|address| format!("{}={}", address.kind, address.address));
                texts.collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.report(),
        }
    }

    // upstream: node addresses
    #[rstest]
    #[case::private(&["0 in-use 10.0.0.1"], "", "a", "InternalIP=10.0.0.1 InternalDNS=a Hostname=a")]
    #[case::public(&["0 in-use 10.0.0.1"], "192.0.2.1", "a", "InternalIP=10.0.0.1 ExternalIP=192.0.2.1 InternalDNS=a Hostname=a ExternalDNS=ec2.example")]
    #[case::by_device(&["1 in-use 10.0.1.1", "- in-use 10.0.2.1", "0 in-use 10.0.0.1 10.0.0.2"], "", "", "InternalIP=10.0.0.1 InternalIP=10.0.0.2 InternalIP=10.0.1.1 InternalIP=10.0.2.1")]
    #[case::not_in_use(&["0 available 10.0.0.1"], "", "", "")]
    #[case::bad(&["0 in-use x"], "", "", "DescribeInstances is unavailable: \"x\" is not an address")]
    fn ipv4(#[case] interfaces: &[&str], #[case] public: &str, #[case] dns: &str, #[case] expected: &str) {
        assert_eq!(summary(interfaces, &[Family::V4], public, dns), expected);
    }

    #[rstest]
    #[case::first_of_each(&["1 in-use fd00::3", "0 in-use 10.0.0.1 fd00::1 fd00::2"], &[Family::V6], "InternalIP=fd00::1 InternalIP=fd00::3")]
    #[case::both(&["0 in-use 10.0.0.1 fd00::1"], &[Family::V6, Family::V4], "InternalIP=fd00::1 InternalIP=10.0.0.1 InternalDNS=a Hostname=a")]
    fn ipv6(#[case] interfaces: &[&str], #[case] families: &[Family], #[case] expected: &str) {
        assert_eq!(summary(interfaces, families, "", "a"), expected);
    }
}
