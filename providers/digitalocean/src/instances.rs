//! The Droplets behind the nodes.

use crate::api::{Api, types::Droplet};
use async_trait::async_trait;
use cloud::{Address, AddressKind, Detail, Error, Instance, Power, ProviderId, Result};
use provider_kit::batch::{Describe, Lookup, Machines, Object};
use std::{net::IpAddr, sync::Arc};

/// Stands in every Node's `spec.providerID`; changing it orphans running nodes.
const PREFIX: &str = "digitalocean://";

/// The Droplets behind the nodes.
pub type Instances = Machines<Droplets>;

/// How Droplets are read. The list of all is that of those with the tag of the cluster, if there is one.
#[derive(Clone)]
pub struct Droplets(pub Arc<Api>);

/// A Droplet, and the name or address by which it was requested.
pub struct Machine {
    droplet: Droplet,
    known_as: String,
}

impl Machine {
    fn named(droplet: Droplet) -> Self {
        let known_as = droplet.name.clone();
        Self { droplet, known_as }
    }
}

impl Object for Machine {
    fn id(&self) -> &str {
        &self.droplet.id
    }

    fn name(&self) -> &str {
        &self.known_as
    }
}

#[async_trait]
impl Lookup for Droplets {
    type Object = Machine;
    const KIND: &'static str = "droplet";
    const PAGE: usize = 200;

    async fn by_id(&self, id: &str) -> Result<Option<Machine>> {
        Ok(self.0.droplets.find(id).await?.map(Machine::named))
    }

    async fn by_name(&self, names: &[&str]) -> Result<Vec<Machine>> {
        let mut found = Vec::new();
        for name in names {
            // A node may be named after an address; the API finds Droplets by their names only.
            let filter = Some(("name", *name)).filter(|_| name.parse::<IpAddr>().is_err());
            let mut droplets = self.0.droplets.list(filter).await?;
            droplets.retain(|droplet| is_known_as(droplet, name));
            found.extend(droplets.into_iter().map(|droplet| Machine {
                droplet,
                known_as: (*name).to_owned(),
            }));
        }
        Ok(found)
    }

    async fn all(&self) -> Result<Vec<Machine>> {
        let filter = self.0.config.tag.as_deref().map(|tag| ("tag_name", tag));
        let droplets = self.0.droplets.list(filter).await?;
        Ok(droplets.into_iter().map(Machine::named).collect())
    }
}

impl Describe for Droplets {
    fn id(id: &ProviderId) -> Result<&str> {
        let number = id
            .as_str()
            .strip_prefix(PREFIX)
            .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        number.filter(|number| number.parse::<u64>().is_ok()).ok_or_else(|| {
            Error::invalid(
                "spec.providerID",
                format!("{id} is not {PREFIX} and the number of a Droplet"),
            )
        })
    }

    fn describe(machine: &Machine, detail: Detail) -> Result<Instance> {
        let droplet = &machine.droplet;
        Ok(Instance {
            provider_id: ProviderId::parse(format!("{PREFIX}{}", droplet.id)),
            instance_type: Some(droplet.size_slug.clone()),
            addresses: if detail == Detail::Full {
                addresses(droplet)?
            } else {
                Vec::new()
            },
            region: Some(droplet.region.slug.clone()),
            power: if ["off", "archive"].contains(&droplet.status.as_str()) {
                Power::Off
            } else {
                Power::On
            },
            ..Instance::default()
        })
    }
}

fn is_known_as(droplet: &Droplet, name: &str) -> bool {
    let mut networks = droplet.networks.values().flatten();
    droplet.name == name || networks.any(|network| network.ip_address == name)
}

/// A Droplet without a private address is not ready for Kubernetes: its network may still be set up.
fn addresses(droplet: &Droplet) -> Result<Vec<Address>> {
    let first = |family: &str, kind: &str| {
        let mut networks = droplet.networks.get(family).into_iter().flatten();
        let network = networks.find(|network| network.kind == kind);
        network.map(|network| network.ip_address.clone())
    };
    let missing = || Error::unusable(format!("droplet {}", droplet.id), "it has no private address");
    let external = [first("v4", "public"), first("v6", "public")].into_iter().flatten();
    let mut addresses = vec![
        Address::new(AddressKind::Hostname, &droplet.name),
        Address::new(AddressKind::InternalIP, first("v4", "private").ok_or_else(missing)?),
    ];
    addresses.extend(external.map(|ip| Address::new(AddressKind::ExternalIP, ip)));
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::Network;
    use rstest::rstest;

    #[rstest]
    #[case::good("digitalocean://123", Some("123"))]
    #[case::other_cloud("openstack:///123", None)]
    #[case::no_number("digitalocean://abc", None)]
    #[case::nothing("digitalocean://", None)]
    #[case::negative("digitalocean://-1", None)]
    #[case::signed("digitalocean://+1", None)]
    #[case::path("digitalocean:///123", None)]
    fn provider_ids(#[case] id: &str, #[case] expected: Option<&str>) {
        let id = ProviderId::parse(id).unwrap();
        assert_eq!(Droplets::id(&id).ok(), expected);
    }

    /// `private=10.0.0.1 public=1.2.3.4 public6=::1`
    fn droplet(status: &str, networks: &str) -> Droplet {
        let mut droplet = Droplet {
            id: "7".into(),
            name: "node".into(),
            status: status.into(),
            size_slug: "s-1".into(),
            ..Droplet::default()
        };
        droplet.region.slug = "fra1".into();
        for (kind, ip) in networks.split_whitespace().filter_map(|pair| pair.split_once('=')) {
            let network = Network {
                ip_address: ip.into(),
                kind: kind.trim_end_matches('6').into(),
            };
            let family = if kind.ends_with('6') { "v6" } else { "v4" };
            droplet.networks.entry(family.to_owned()).or_default().push(network);
        }
        droplet
    }

    fn machine(status: &str, networks: &str) -> Machine {
        Machine::named(droplet(status, networks))
    }

    #[rstest]
    #[case::all(
        "public=1.2.3.4 private=10.0.0.1 public6=2001:db8::1",
        "Hostname node, InternalIP 10.0.0.1, ExternalIP 1.2.3.4, ExternalIP 2001:db8::1"
    )]
    #[case::private_only("private=10.0.0.1", "Hostname node, InternalIP 10.0.0.1")]
    #[case::the_first_counts("private=10.0.0.1 private=10.0.0.2", "Hostname node, InternalIP 10.0.0.1")]
    #[case::no_private("public=1.2.3.4", "droplet 7 cannot be used: it has no private address")]
    fn addresses_in_order(#[case] networks: &str, #[case] expected: &str) {
        let result = match Droplets::describe(&machine("active", networks), Detail::Full) {
            Ok(instance) => {
                let texts = instance
                    .addresses
                    .iter()
                    .map(|address| format!("{} {}", address.kind, address.address));
                texts.collect::<Vec<_>>().join(", ")
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(result, expected);
    }

    #[rstest]
    #[case("new", Power::On)]
    #[case("active", Power::On)]
    #[case("off", Power::Off)]
    #[case("archive", Power::Off)]
    fn powers(#[case] status: &str, #[case] expected: Power) {
        let instance = Droplets::describe(&machine(status, ""), Detail::Liveness).unwrap();
        assert_eq!(
            (instance.power, instance.provider_id.unwrap().as_str()),
            (expected, "digitalocean://7")
        );
        assert_eq!(
            (
                instance.instance_type.as_deref(),
                instance.region.as_deref(),
                instance.zone
            ),
            (Some("s-1"), Some("fra1"), None)
        );
    }

    #[rstest]
    #[case("node", true)]
    #[case("10.0.0.1", true)]
    #[case("2001:db8::1", true)]
    #[case("nod", false)]
    fn known_by_name_or_address(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(
            is_known_as(&droplet("active", "private=10.0.0.1 public6=2001:db8::1"), name),
            expected
        );
    }
}
