//! Networks and subnets that are not configured, read from Neutron.

use super::{Choice, MemberSubnet, Pattern, Tags, Vip};
use crate::{
    api::{
        Session,
        neutron::{
            networks::{self, Network, Subnet},
            ports::{self, Port},
        },
    },
    load_balancers::node_address,
};
use cloud::{Error, Host, IpFamily, Result};
use ipnet::IpNet;
use provider_kit::load_balancer::Ownership;
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::OnceCell, time::Instant};

/// Networks hardly ever change; a wrong answer costs one failed call.
const LIFETIME: Duration = Duration::from_mins(10);

/// How many nodes are read at the same time when one of them is enough.
const NODES: usize = 20;

/// Where a new balancer has its address, in Octavia's terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VipPlacement {
    /// The port; nothing else is given then.
    pub port: Option<String>,
    /// The network.
    pub network: Option<String>,
    /// The subnet.
    pub subnet: Option<String>,
    /// The subnets of the other families, of the same network.
    pub additional: Vec<String>,
}

/// A subnet and its network.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NodeSubnet {
    subnet: String,
    network: String,
}

/// Reads from Neutron, and caches the answers for a while. It is replaced with the session.
#[derive(Debug, Default)]
pub(crate) struct Networks(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    external: Option<(Instant, String)>,
    /// Concurrent callers wait for the same answer.
    subnets: HashMap<String, (Instant, Arc<OnceCell<Subnet>>)>,
    /// By server and address.
    node_subnets: HashMap<(String, String), (Instant, NodeSubnet)>,
}

impl Networks {
    /// Where a new load balancer has its address.
    ///
    /// # Errors
    /// As Neutron answers; [`Error::Unusable`] if the subnet is to be that of the nodes and no node is on a port yet.
    pub(crate) async fn vip_placement(
        &self,
        api: &Session,
        choice: &Choice,
        hosts: &[Arc<Host>],
        families: &[IpFamily],
    ) -> Result<VipPlacement> {
        match &choice.vip {
            Vip::Port(port) => Ok(VipPlacement {
                port: Some(port.clone()),
                ..VipPlacement::default()
            }),
            Vip::OfNodes => self.beside_the_nodes(api, hosts, families).await,
            Vip::Given { network, subnet } => {
                let placement = VipPlacement {
                    network: network.clone(),
                    subnet: subnet.clone(),
                    ..VipPlacement::default()
                };
                self.completed(api, placement, families).await
            }
        }
    }

    /// The subnet of the members, if it is known. `vip_subnet` is that of the existing load balancer.
    ///
    /// The address of a Service's load balancer is in the subnet of the nodes at its creation. If no node is in that subnet any more, the members are
    /// where the nodes are now, as with a load balancer of another owner, which may be anywhere.
    ///
    /// # Errors
    /// As Neutron answers.
    pub(crate) async fn members(
        &self,
        api: &Session,
        choice: &Choice,
        vip_subnet: Option<&str>,
        ownership: Ownership,
        hosts: &[Arc<Host>],
        family: Option<IpFamily>,
    ) -> Result<Option<String>> {
        let vip_subnet = vip_subnet.filter(|subnet| !subnet.is_empty());
        match (&choice.members, vip_subnet) {
            (MemberSubnet::Given(subnet), _) => Ok(Some(subnet.clone())),
            (MemberSubnet::OfVip, subnet) => Ok(subnet.map(ToOwned::to_owned)),
            (MemberSubnet::OfNodes, Some(subnet)) if ownership == Ownership::Owner && choice.vip == Vip::OfNodes => {
                if self.holds_any(api, subnet, hosts, family).await? {
                    return Ok(Some(subnet.to_owned()));
                }
                let found = self.node_subnet(api, hosts, family).await?;
                Ok(Some(found.map_or_else(|| subnet.to_owned(), |found| found.subnet)))
            }
            (MemberSubnet::OfNodes, _) => Ok(self.node_subnet(api, hosts, family).await?.map(|found| found.subnet)),
        }
    }

    /// The external network that floating IPs come from, if there is one: the first with a subnet that is IPv4 or that we
    /// may not see.
    ///
    /// # Errors
    /// As Neutron answers. occm treats a failure as "none" and leaves the Service without a floating IP.
    pub(crate) async fn external(&self, api: &Session) -> Result<Option<String>> {
        if let Some((_, network)) = self.known().external.as_ref().filter(|(since, _)| is_fresh(*since)) {
            return Ok(Some(network.clone()));
        }
        let networks = networks::networks(api, &[("router:external", "true")]).await?;
        let networks: Vec<_> = networks
            .into_iter()
            .filter(|network| !network.subnets.is_empty())
            .collect();
        if networks.is_empty() {
            return Ok(None);
        }
        let filters: Vec<_> = networks
            .iter()
            .map(|network| ("network_id", network.id.as_str()))
            .collect();
        let subnets = networks::subnets(api, &filters).await?;
        let found = first_external(&networks, &subnets);
        self.known().external = found.clone().map(|network| (Instant::now(), network));
        Ok(found)
    }

    /// The external network cannot be used: it is read again when it is needed next.
    pub(crate) fn doubt_external(&self) {
        self.known().external = None;
    }

    /// A subnet.
    ///
    /// # Errors
    /// As Neutron answers; [`Error::NotFound`] if there is none.
    pub(crate) async fn subnet(&self, api: &Session, id: &str) -> Result<Subnet> {
        let ask = async || {
            networks::subnet(api, id).await?.ok_or_else(|| Error::NotFound {
                what: format!("subnet {id}"),
            })
        };
        self.remembered(id).get_or_try_init(ask).await.cloned()
    }

    fn remembered(&self, subnet: &str) -> Arc<OnceCell<Subnet>> {
        let mut known = self.known();
        let (since, cell) = known
            .subnets
            .entry(subnet.to_owned())
            .or_insert_with(|| (Instant::now(), Arc::default()));
        if !is_fresh(*since) {
            (*since, *cell) = (Instant::now(), Arc::default());
        }
        Arc::clone(cell)
    }

    /// The IPv4 subnets of a network whose name and tags match, in Neutron's order.
    ///
    /// # Errors
    /// As Neutron answers.
    pub(crate) async fn matching(
        &self,
        api: &Session,
        network: &str,
        name: Option<&Pattern>,
        tags: Option<&Tags>,
    ) -> Result<Vec<String>> {
        let query = tags.map(Tags::query);
        let mut filters = vec![("network_id", network), ("ip_version", "4")];
        filters.extend(query.as_ref().map(|(name, tags)| (*name, tags.as_str())));
        let mut subnets = networks::subnets(api, &filters).await?;
        // A Neutron without tags ignores the filter.
        subnets.retain(|subnet| tags.is_none_or(|tags| tags.matches(&subnet.tags)));
        subnets.retain(|subnet| name.is_none_or(|name| name.matches(&subnet.name)));
        Ok(subnets.into_iter().map(|subnet| subnet.id).collect())
    }

    /// The subnets of the nodes.
    async fn beside_the_nodes(
        &self,
        api: &Session,
        hosts: &[Arc<Host>],
        families: &[IpFamily],
    ) -> Result<VipPlacement> {
        let found = self.node_subnet(api, hosts, families.first().copied()).await?;
        let found = found.ok_or_else(|| nowhere(hosts))?;
        let mut additional = Vec::new();
        for family in families.iter().skip(1) {
            let other = self.node_subnet(api, hosts, Some(*family)).await?;
            let beside = other.filter(|other| other.network == found.network);
            additional.extend(beside.map(|other| other.subnet));
        }
        Ok(VipPlacement {
            subnet: Some(found.subnet),
            additional,
            ..VipPlacement::default()
        })
    }

    /// The subnets of a placement that is known in part.
    async fn completed(
        &self,
        api: &Session,
        mut placement: VipPlacement,
        families: &[IpFamily],
    ) -> Result<VipPlacement> {
        // Left to itself, Octavia takes an IPv4 subnet.
        if let (Some(network), None, Some(IpFamily::V6)) = (&placement.network, &placement.subnet, families.first()) {
            placement.subnet = self.of_family(api, network, IpFamily::V6).await?;
        }
        for family in families.iter().skip(1) {
            let network = self.network_of(api, &placement).await?;
            placement
                .additional
                .extend(self.of_family(api, &network, *family).await?);
        }
        Ok(placement)
    }

    /// The network that a placement is in.
    async fn network_of(&self, api: &Session, placement: &VipPlacement) -> Result<String> {
        match (&placement.network, &placement.subnet) {
            (Some(network), _) => Ok(network.clone()),
            (None, Some(subnet)) => Ok(self.subnet(api, subnet).await?.network_id),
            (None, None) => Err(Error::unusable(
                "the network of the load balancer",
                "neither network nor subnet is known",
            )),
        }
    }

    /// The first subnet of a network with addresses of this family.
    async fn of_family(&self, api: &Session, network: &str, family: IpFamily) -> Result<Option<String>> {
        let version = match family {
            IpFamily::V4 => "4",
            IpFamily::V6 => "6",
        };
        let subnets = networks::subnets(api, &[("network_id", network), ("ip_version", version)]).await?;
        Ok(subnets.into_iter().next().map(|subnet| subnet.id))
    }

    /// The subnet of the first node whose address is on a port.
    async fn node_subnet(
        &self,
        api: &Session,
        hosts: &[Arc<Host>],
        family: Option<IpFamily>,
    ) -> Result<Option<NodeSubnet>> {
        let nodes: Vec<(&str, &str)> = hosts
            .iter()
            .filter_map(|host| {
                Some((
                    node_address::server(host, api.region())?,
                    node_address::of(host, family)?,
                ))
            })
            .collect();
        for some in nodes.chunks(NODES) {
            if let Some(found) = some.iter().find_map(|node| self.known_node_subnet(*node)) {
                return Ok(Some(found));
            }
            let filters: Vec<_> = some.iter().map(|(server, _)| ("device_id", *server)).collect();
            let ports = ports::ports(api, &filters).await?;
            if let Some((node, found)) = some
                .iter()
                .find_map(|node| Some((*node, node_subnet_of(*node, &ports)?)))
            {
                let (server, address) = node;
                let key = (server.to_owned(), address.to_owned());
                self.known().node_subnets.insert(key, (Instant::now(), found.clone()));
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Whether any of the nodes is in this subnet, or no node has an address.
    async fn holds_any(
        &self,
        api: &Session,
        subnet: &str,
        hosts: &[Arc<Host>],
        family: Option<IpFamily>,
    ) -> Result<bool> {
        let addresses: Vec<&str> = hosts.iter().filter_map(|host| node_address::of(host, family)).collect();
        let lives_there = |host: &Arc<Host>| {
            let node = (
                node_address::server(host, api.region())?,
                node_address::of(host, family)?,
            );
            self.known_node_subnet(node).filter(|found| found.subnet == subnet)
        };
        if addresses.is_empty() || hosts.iter().any(|host| lives_there(host).is_some()) {
            return Ok(true);
        }
        match self.subnet(api, subnet).await {
            Ok(found) => Ok(holds(&found.cidr, &addresses)),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn known_node_subnet(&self, (server, address): (&str, &str)) -> Option<NodeSubnet> {
        let mut known = self.known();
        known.node_subnets.retain(|_, (since, _)| is_fresh(*since));
        let (_, found) = known.node_subnets.get(&(server.to_owned(), address.to_owned()))?;
        Some(found.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether any of these addresses is in a range.
fn holds(cidr: &str, addresses: &[&str]) -> bool {
    let addresses: Vec<IpAddr> = addresses.iter().filter_map(|address| address.parse().ok()).collect();
    cidr.parse::<IpNet>()
        .is_ok_and(|range| addresses.iter().any(|address| range.contains(address)))
}

fn is_fresh(since: Instant) -> bool {
    since.elapsed() < LIFETIME
}

fn first_external(networks: &[Network], subnets: &[Subnet]) -> Option<String> {
    let usable = |id: &String| {
        let seen = subnets.iter().find(|subnet| subnet.id == *id);
        seen.is_none_or(|subnet| subnet.ip_version == 4)
    };
    let network = networks
        .iter()
        .find(|network| network.external && network.subnets.iter().any(usable))?;
    Some(network.id.clone())
}

fn node_subnet_of((server, address): (&str, &str), ports: &[Port]) -> Option<NodeSubnet> {
    let address: IpAddr = address.parse().ok()?;
    let of_server = ports.iter().filter(|port| port.device_id == server);
    of_server.into_iter().find_map(|port| {
        let fixed = port
            .fixed_ips
            .iter()
            .find(|fixed| fixed.ip_address.parse() == Ok(address))?;
        Some(NodeSubnet {
            subnet: fixed.subnet_id.clone(),
            network: port.network_id.clone(),
        })
    })
}

fn nowhere(hosts: &[Arc<Host>]) -> Error {
    Error::unusable(
        "the subnet of the nodes",
        format!(
            "none of {} nodes has an address on a port of its server: set subnet-id or network-id",
            hosts.len()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::neutron::ports::FixedIp;
    use rstest::rstest;

    /// `a:s1,s2 b:s3`: networks and their subnets.
    fn networks(text: &str) -> Vec<Network> {
        text.split_whitespace()
            .map(|item| {
                let (id, subnets) = item.split_once(':').expect("network:subnets");
                let subnets = subnets.split(',').filter(|id| !id.is_empty());
                Network {
                    id: id.trim_start_matches('-').to_owned(),
                    name: String::new(),
                    subnets: subnets.map(ToOwned::to_owned).collect(),
                    external: !id.starts_with('-'),
                }
            })
            .collect()
    }

    /// `s1=4 s2=6`: subnets and their versions.
    fn subnets(text: &str) -> Vec<Subnet> {
        text.split_whitespace()
            .map(|item| {
                let (id, version) = item.split_once('=').expect("subnet=version");
                Subnet {
                    id: id.to_owned(),
                    name: String::new(),
                    network_id: String::new(),
                    project_id: None,
                    cidr: String::new(),
                    ip_version: version.parse().expect("4 or 6"),
                    tags: Vec::new(),
                }
            })
            .collect()
    }

    #[rstest]
    #[case::first("a:s1 b:s2", "s1=4 s2=4", Some("a"))]
    #[case::ipv6_only("a:s1 b:s2", "s1=6 s2=4", Some("b"))]
    #[case::one_of_both("a:s1,s2", "s1=6 s2=4", Some("a"))]
    #[case::subnet_we_may_not_see("a:s1 b:s2", "s2=4", Some("a"))]
    #[case::without_subnets("a: b:s2", "s2=4", Some("b"))]
    #[case::not_external("-a:s1 b:s2", "s1=4 s2=4", Some("b"))]
    #[case::none("", "", None)]
    #[case::only_ipv6("a:s1", "s1=6", None)]
    fn external_network(#[case] there: &str, #[case] seen: &str, #[case] expected: Option<&str>) {
        assert_eq!(first_external(&networks(there), &subnets(seen)).as_deref(), expected);
    }

    #[rstest]
    #[case::one_of_them("10.0.0.0/24", &["10.9.0.1", "10.0.0.9"], true)]
    #[case::none("10.0.0.0/24", &["10.0.1.9"], false)]
    #[case::ipv6("2001:db8::/64", &["2001:0db8::5"], true)]
    #[case::no_addresses("10.0.0.0/24", &["node"], false)]
    #[case::no_range("", &["10.0.0.9"], false)]
    fn nodes_in_a_subnet(#[case] cidr: &str, #[case] addresses: &[&str], #[case] expected: bool) {
        assert_eq!(holds(cidr, addresses), expected);
    }

    #[rstest]
    #[case::found("a", "10.0.0.5", Some("s1"))]
    #[case::other_port_of_the_server("a", "10.1.0.5", Some("s2"))]
    #[case::long_form_of_ipv6("a", "2001:0db8:0000::5", Some("s3"))]
    #[case::same_address_of_another_server("b", "10.0.0.5", Some("s4"))]
    #[case::no_port_has_it("a", "10.0.0.6", None)]
    #[case::no_address("a", "example.com", None)]
    fn node_subnet(#[case] server: &str, #[case] address: &str, #[case] expected: Option<&str>) {
        let port = |server: &str, fixed: &[(&str, &str)]| Port {
            device_id: server.to_owned(),
            fixed_ips: fixed
                .iter()
                .map(|(subnet, address)| FixedIp {
                    subnet_id: (*subnet).to_owned(),
                    ip_address: (*address).to_owned(),
                })
                .collect(),
            ..Port::default()
        };
        let ports = [
            port("b", &[("s4", "10.0.0.5")]),
            port("a", &[("s1", "10.0.0.5")]),
            port("a", &[("s2", "10.1.0.5"), ("s3", "2001:db8::5")]),
        ];
        let found = node_subnet_of((server, address), &ports);
        assert_eq!(found.map(|found| found.subnet).as_deref(), expected);
    }
}
