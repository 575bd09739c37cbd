//! Which of a virtual machine's addresses a node has.

use super::Variables;
use ipnet::IpNet;
use provider_kit::keys::Part;
use std::net::IpAddr;

/// Which addresses are internal and which are external.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks {
    /// For internal addresses.
    pub internal: Network,
    /// For external addresses.
    pub external: Network,
}

/// Where the addresses of one kind are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// They are in the first of these that has any.
    pub ranges: Vec<IpNet>,
    /// They are never in these.
    pub excluded: Vec<IpNet>,
    /// Else they are on the vSphere network of this name.
    pub name: Option<String>,
}

impl Networks {
    pub(super) fn read(part: Part<'_>, variables: &Variables) -> Result<Self, String> {
        let text = |variable: &str, key| {
            let given = || part.text(key).map(str::to_owned);
            variables.text(variable).or_else(given)
        };
        let of = |kind: &str, [ranges, excluded, name]: [&'static str; 3]| {
            Ok::<_, String>(Network {
                ranges: parse(
                    part,
                    ranges,
                    text(&format!("VSPHERE_NODES_{kind}_NETWORK_SUBNET_CIDR"), ranges),
                )?,
                excluded: parse(part, excluded, text("", excluded))?,
                name: text(&format!("VSPHERE_NODES_{kind}_VM_NETWORK_NAME"), name),
            })
        };
        Ok(Self {
            internal: of(
                "INTERNAL",
                [
                    "internal-network-subnet-cidr",
                    "exclude-internal-network-subnet-cidr",
                    "internal-vm-network-name",
                ],
            )?,
            external: of(
                "EXTERNAL",
                [
                    "external-network-subnet-cidr",
                    "exclude-external-network-subnet-cidr",
                    "external-vm-network-name",
                ],
            )?,
        })
    }
}

impl Network {
    /// Whether an address may be of this kind.
    pub fn allows(&self, address: IpAddr) -> bool {
        !self.excluded.iter().any(|range| range.contains(&address))
    }
}

fn parse(part: Part<'_>, key: &'static str, text: Option<String>) -> Result<Vec<IpNet>, String> {
    let text = text.unwrap_or_default();
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let parse = |item: &str| {
        let range = item.parse::<IpNet>().map(|range| range.trunc());
        range.map_err(|_| format!("{}: {item:?} is not a network such as 10.0.0.0/16", part.position(key)))
    };
    items.map(parse).collect()
}
