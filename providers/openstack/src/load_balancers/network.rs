//! The networks and subnets of a load balancer, its members and its floating IP.
//!
//! [`choose`] is pure: annotations of the Service win over its class, and the class over `[LoadBalancer]`. The order is the same for creating a
//! load balancer and for changing its hosts. [`Networks`] reads from Neutron what none of them names.
//!
//! occm has other orders in some places. An existing load balancer is not affected, because networks count only when something is created:
//!
//! * a class wins over annotations for the address of an *external* Service's balancer, and for its floating network and
//!   subnet; here annotations win everywhere;
//! * a `[LoadBalancerClass]` section without a name acts on every external Service; here it acts on none;
//! * when hosts change, the members' subnet is that of the class before that of the annotation, empty if the class names
//!   none, and with a network alone that of the first node; here it is what it was when the balancer was made;
//! * the subnet is detected at the first node, whether it has an address or not; here at the first that is on a port, and
//!   for members not at all as long as any node is in the balancer's subnet.

mod detect;
mod pattern;
mod tags;
#[cfg(test)]
mod tests;

use super::{
    annotations as key,
    settings::{Exposure, Settings},
};
use crate::config::{Class, Config};
use cloud::{Result, Spec};

pub(crate) use detect::Networks;
pub(crate) use pattern::Pattern;
pub(crate) use tags::Tags;

/// The choice of the Service and of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Where a new load balancer has its address.
    pub vip: Vip,
    /// Where its members are.
    pub members: MemberSubnet,
    /// Where a new floating IP comes from, if the address of the load balancer can have one; `None` for an internal Service.
    pub floating: Option<Floating>,
}

/// Where a new load balancer has its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Vip {
    /// On this port; its network and subnet are the port's.
    Port(String),
    /// In this network, this subnet, or both.
    Given {
        /// The network.
        network: Option<String>,
        /// The subnet.
        subnet: Option<String>,
    },
    /// In the subnet of the nodes.
    OfNodes,
}

impl Vip {
    /// The port that exists before the load balancer.
    pub fn port(&self) -> Option<&str> {
        match self {
            Self::Port(port) => Some(port),
            Self::Given { .. } | Self::OfNodes => None,
        }
    }
}

/// The subnet of the members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MemberSubnet {
    /// This one.
    Given(String),
    /// The one that Octavia chose for the address of the load balancer, known once that is created.
    OfVip,
    /// That of the nodes.
    OfNodes,
}

/// Where a new floating IP comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Floating {
    /// The external network; `None`: whichever there is.
    pub network: Option<String>,
    /// Its subnet.
    pub subnet: FloatingSubnet,
}

/// The subnet of a new floating IP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FloatingSubnet {
    /// Whichever has a free address.
    Any,
    /// This one.
    Id(String),
    /// One whose name and tags match; an empty text matches all. Read when it is needed, see [`Pattern`] and [`Tags`].
    Matching {
        /// The pattern of its name.
        name: String,
        /// Its tags.
        tags: String,
    },
}

/// Chooses by annotation, class and configuration, in this order.
///
/// # Errors
/// [`cloud::Error::Invalid`], naming it, if there is no such class.
pub(crate) fn choose(spec: &Spec, settings: &Settings, config: &Config) -> Result<Choice> {
    let none = Class::default();
    let class = match &settings.class {
        Some(name) => class(name, config)?,
        None => &none,
    };
    let sources = [&settings.networks, class, &config.load_balancer.networks];
    let network = first(sources, |source| &source.network_id);
    let subnet = first(sources, |source| &source.subnet_id);
    let floats = settings.exposure == Exposure::External;
    Ok(Choice {
        members: members(sources, network.as_deref(), subnet.as_deref()),
        vip: match (&settings.port_id, network, subnet) {
            (Some(port), ..) => Vip::Port(port.clone()),
            (None, None, None) => Vip::OfNodes,
            (None, network, subnet) => Vip::Given { network, subnet },
        },
        floating: floats.then(|| floating(sources, spec)),
    })
}

/// The configured subnet wins over that of the load balancer's address: an annotation moves the address, not the nodes.
fn members(sources: [&Class; 3], network: Option<&str>, subnet: Option<&str>) -> MemberSubnet {
    let configured = Some(&sources[2].subnet_id).filter(|id| !id.is_empty());
    let given = first(sources, |source| &source.member_subnet_id)
        .or_else(|| configured.cloned())
        .or_else(|| subnet.map(ToOwned::to_owned));
    match (given, network) {
        (Some(subnet), _) => MemberSubnet::Given(subnet),
        (None, Some(_)) => MemberSubnet::OfVip,
        (None, None) => MemberSubnet::OfNodes,
    }
}

/// An empty annotation `floating-network-id` turns the configured network off: the external network is then detected.
fn floating(sources: [&Class; 3], spec: &Spec) -> Floating {
    let [asked, class, configured] = sources;
    let turned_off = spec
        .annotations
        .get(key::FLOATING_NETWORK_ID.key)
        .is_some_and(String::is_empty);
    let considered = if turned_off {
        [asked, class, class]
    } else {
        [asked, class, configured]
    };
    let network = first(considered, |source| &source.floating_network_id);
    let subnet = sources
        .into_iter()
        .find_map(|source| floating_subnet(source, network.as_deref()));
    Floating {
        network,
        subnet: subnet.unwrap_or(FloatingSubnet::Any),
    }
}

/// The subnets of the network that a source asks for. A subnet ID does not count if another network is chosen; names and tags do.
fn floating_subnet(source: &Class, network: Option<&str>) -> Option<FloatingSubnet> {
    let fits =
        source.floating_network_id.is_empty() || network.is_none_or(|network| network == source.floating_network_id);
    let (id, name, tags) = (
        &source.floating_subnet_id,
        &source.floating_subnet,
        &source.floating_subnet_tags,
    );
    if !id.is_empty() {
        return fits.then(|| FloatingSubnet::Id(id.clone()));
    }
    let asked = !name.is_empty() || !tags.is_empty();
    asked.then(|| FloatingSubnet::Matching {
        name: name.clone(),
        tags: tags.clone(),
    })
}

fn class<'a>(name: &str, config: &'a Config) -> Result<&'a Class> {
    config.classes.get(name).ok_or_else(|| {
        let known = config
            .classes
            .keys()
            .map(String::as_str)
            .filter(|name| !name.is_empty());
        let known = match known.collect::<Vec<_>>().join(", ") {
            known if known.is_empty() => "there are none".to_owned(),
            known => format!("there are {known}"),
        };
        key::CLASS.invalid(format!("there is no [LoadBalancerClass {name:?}]; {known}"))
    })
}

/// The first value that is not empty.
fn first<'a>(sources: [&'a Class; 3], field: impl Fn(&'a Class) -> &'a String) -> Option<String> {
    sources.into_iter().map(field).find(|value| !value.is_empty()).cloned()
}
