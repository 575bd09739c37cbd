//! Fargate machines: there is no instance, only a network interface.

use crate::{
    api::{Api, ec2::interfaces::Interface},
    config::Family,
    instances::parsed,
};
use cloud::{Address, AddressKind, Error, Power, Result};
use std::{
    collections::{BTreeSet, HashMap},
    net::{Ipv4Addr, Ipv6Addr},
};

/// How many addresses one call takes.
const ADDRESSES: usize = 150;

/// Finds the interfaces of machines by their addresses. `None` is EC2's answer that there is none.
pub async fn find(api: &Api, addresses: BTreeSet<&str>) -> HashMap<String, Result<Option<Interface>>> {
    let addresses: Vec<&str> = addresses.into_iter().collect();
    let mut found = HashMap::new();
    for chunk in addresses.chunks(ADDRESSES) {
        let interfaces = interfaces(api, chunk).await;
        for address in chunk {
            let of = interfaces.as_ref().map_err(|error| error.clone().of_batch());
            let one = of.and_then(|interfaces| only(address, interfaces));
            found.insert((*address).to_owned(), one);
        }
    }
    found
}

/// What is known of a machine.
pub fn describe(interface: &Interface, families: &[Family]) -> Result<cloud::Instance> {
    let mut addresses = Vec::new();
    for family in families {
        let address = match family {
            Family::V4 => Some(parsed::<Ipv4Addr>(&interface.private_ip_address)?),
            Family::V6 => match interface.ipv6_addresses_set.first() {
                Some(first) => Some(parsed::<Ipv6Addr>(&first.ipv6_address)?),
                None => None,
            },
        };
        addresses.extend(address.map(|address| Address::new(AddressKind::InternalIP, address)));
        if !interface.private_dns_name.is_empty() {
            addresses.push(Address::new(AddressKind::InternalDNS, &interface.private_dns_name));
        }
    }
    Ok(cloud::Instance {
        addresses,
        zone: Some(interface.availability_zone.clone()).filter(|zone| !zone.is_empty()),
        power: Power::On,
        ..cloud::Instance::default()
    })
}

async fn interfaces(api: &Api, addresses: &[&str]) -> Result<Vec<Interface>> {
    let cluster = api.cluster().await?;
    api.interfaces(&cluster.vpc_id, addresses).await
}

fn only(address: &str, interfaces: &[Interface]) -> Result<Option<Interface>> {
    let mut of_it = interfaces
        .iter()
        .filter(|interface| interface.private_ip_address == address);
    let found = of_it.next();
    if of_it.next().is_some() {
        let reason = "several network interfaces have its address";
        return Err(Error::unusable(format!("Fargate machine {address}"), reason));
    }
    Ok(found.cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn interface(address: &str, dns: &str) -> Interface {
        Interface {
            private_ip_address: address.into(),
            private_dns_name: dns.into(),
            availability_zone: "us-east-1a".into(),
            ipv6_addresses_set: std::iter::once(crate::api::ec2::instances::Ipv6Address {
                ipv6_address: "fd00::1".into(),
            })
            .collect(),
        }
    }

    #[rstest]
    #[case::v4(&[Family::V4], "", "InternalIP=10.0.0.1")]
    #[case::with_a_name(&[Family::V4], "a", "InternalIP=10.0.0.1 InternalDNS=a")]
    #[case::both(&[Family::V6, Family::V4], "", "InternalIP=fd00::1 InternalIP=10.0.0.1")]
    fn describes(#[case] families: &[Family], #[case] dns: &str, #[case] expected: &str) {
        let machine = describe(&interface("10.0.0.1", dns), families).unwrap();
        let addresses: Vec<String> = machine
            .addresses
            .iter()
            .map(|one| format!("{}={}", one.kind, one.address))
            .collect();
        assert_eq!(
            (addresses.join(" ").as_str(), machine.zone.as_deref()),
            (expected, Some("us-east-1a"))
        );
        assert_eq!((machine.power, machine.instance_type), (Power::On, None));
    }

    #[rstest]
    #[case::none("10.0.0.3", "none")]
    #[case::one("10.0.0.1", "10.0.0.1")]
    #[case::several("10.0.0.2", "error")]
    fn only_one(#[case] address: &str, #[case] expected: &str) {
        let all = ["10.0.0.1", "10.0.0.2", "10.0.0.2"].map(|address| interface(address, ""));
        let found = match only(address, &all) {
            Ok(found) => found.map_or("none".to_owned(), |found| found.private_ip_address),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(found, expected);
    }
}
