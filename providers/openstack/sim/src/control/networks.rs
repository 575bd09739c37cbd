//! Networks and what is on them.

use super::network_views::{self as views, PortView};
use crate::{
    Cloud,
    neutron::{Network, PortRequest, PortStatus, Standard, SubPort, Subnet, Trunk, Wanted, gateway},
    state::{Now, State},
};
use ipnet::IpNet;
use std::{net::IpAddr, sync::Arc};
use uuid::Uuid;

/// A network with a subnet and a router that leads out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Net {
    /// The network.
    pub network: Uuid,
    /// Its first subnet.
    pub subnet: Uuid,
    /// The router between it and the external network `public`.
    pub router: Uuid,
}

impl Cloud {
    /// Creates a network of the project `demo` with one subnet, and a router to `public`. An invalid CIDR counts as 10.0.0.0/16.
    pub fn create_network(&self, name: &str, cidr: &str) -> Net {
        let project = self.caller("demo").project;
        let public = self.public_network();
        self.write(|state, now| {
            let network = add_network(state, &project, name, Reach::Internal, now);
            let subnet = add_subnet(state, network, cidr, now);
            let standard = Standard::new(&project, name, now.wall);
            let router = state
                .neutron
                .create_router(standard, public, now.wall)
                .unwrap_or_default();
            // A new router and a new subnet can always be connected.
            let _ = state.neutron.connect(router, subnet, now.wall);
            Net {
                network,
                subnet,
                router,
            }
        })
    }

    /// Makes an external network with one subnet; answers both.
    pub fn create_external_network(&self, name: &str, cidr: &str) -> (Uuid, Uuid) {
        let project = self.caller("admin").project;
        self.write(|state, now| {
            let network = add_network(state, &project, name, Reach::External, now);
            (network, add_subnet(state, network, cidr, now))
        })
    }

    /// Adds a subnet to a network, not connected with its router.
    pub fn create_subnet(&self, network: Uuid, cidr: &str) -> Uuid {
        self.write(|state, now| add_subnet(state, network, cidr, now))
    }

    /// Connects a subnet with a router.
    pub fn connect_subnet(&self, router: Uuid, subnet: Uuid) {
        self.write(|state, now| state.neutron.connect(router, subnet, now.wall))
            .ok();
    }

    /// Gives a network to another project, which shares it with all projects.
    pub fn give_network(&self, network: Uuid, project: &str) {
        let project = self.caller(project).project;
        self.write(|state, _| state.neutron.give_network(network, &project));
    }

    /// Makes a port belong to another project.
    pub fn give_port(&self, port: Uuid, project: &str) {
        let project = self.caller(project).project;
        self.write(|state, _| {
            if let Some(port) = state.neutron.ports.get_mut(&port) {
                port.standard.project = project;
            }
        });
    }

    /// Names a subnet and gives it tags.
    pub fn label_subnet(&self, subnet: Uuid, name: &str, tags: &[&str]) {
        self.write(|state, _| {
            if let Some(subnet) = state.neutron.subnets.get_mut(&subnet) {
                subnet.standard.name = name.into();
                subnet.standard.tags = tags.iter().map(ToString::to_string).collect();
            }
        });
    }

    /// Gives out all addresses of a subnet that are left.
    pub fn exhaust_subnet(&self, subnet: Uuid) {
        self.write(|state, _| {
            if let Some(subnet) = state.neutron.subnets.get_mut(&subnet) {
                subnet.exhaust();
            }
        });
    }

    /// The external network `public`.
    pub fn public_network(&self) -> Option<Uuid> {
        let is_it = |network: &&Network| network.external && &*network.standard.name == "public";
        self.read(|state| state.neutron.networks.values().find(is_it).map(|network| network.id))
    }

    pub(super) fn default_network(&self) -> Net {
        let found = self.read(|state| {
            let network = state
                .neutron
                .networks
                .values()
                .find(|network| &*network.standard.name == "private")?;
            let subnet = state
                .neutron
                .subnets
                .values()
                .find(|subnet| subnet.network == network.id)?;
            let connects = |router: &&Uuid| {
                state
                    .neutron
                    .ports_of(&router.to_string())
                    .any(|port| port.network == network.id)
            };
            let router = state.neutron.routers.keys().find(connects)?;
            Some(Net {
                network: network.id,
                subnet: subnet.id,
                router: *router,
            })
        });
        found.unwrap_or_else(|| self.create_network("private", "10.0.0.0/16"))
    }

    /// Makes a port of the project `demo`; `None` if the network is full or the address taken.
    pub fn create_port(&self, network: Uuid, name: &str, address: Option<IpAddr>) -> Option<Uuid> {
        let project = self.caller("demo").project;
        self.write(|state, now| {
            let mut request = PortRequest::new(network, &project);
            name.clone_into(&mut request.name);
            request.fixed = address.map(|address| Wanted::This(None, address)).into_iter().collect();
            state.neutron.create_port(request, now.wall).ok()
        })
    }

    /// Gives a server one more port; `None` if the network is full.
    pub fn attach_port(&self, server: Uuid, network: Uuid) -> Option<Uuid> {
        let port = self.create_port(network, "", None)?;
        self.write(|state, _| {
            state
                .neutron
                .plug_port(port, &server.to_string(), &Arc::from("compute:nova"));
        });
        Some(port)
    }

    /// Removes a port.
    pub fn delete_port(&self, port: Uuid) {
        self.write(|state, _| state.neutron.drop_port(port));
    }

    /// Makes a port `ACTIVE`.
    pub fn raise_port(&self, port: Uuid) {
        self.set_port_status(port, PortStatus::Active);
    }

    /// Makes a port `DOWN`.
    pub fn lower_port(&self, port: Uuid) {
        self.set_port_status(port, PortStatus::Down);
    }

    fn set_port_status(&self, port: Uuid, status: PortStatus) {
        self.write(|state, _| {
            if let Some(port) = state.neutron.ports.get_mut(&port) {
                port.status = status;
            }
        });
    }

    /// Takes port security off a port, with its groups and pairs.
    pub fn disable_port_security(&self, port: Uuid) {
        self.write(|state, now| {
            if let Some(port) = state.neutron.ports.get_mut(&port) {
                port.secured = false;
                port.groups.clear();
                port.pairs.clear();
                port.standard.touch(now.wall);
            }
        });
    }

    /// Makes a port a trunk that carries these.
    pub fn create_trunk(&self, parent: Uuid, subports: &[Uuid]) -> Uuid {
        let project = self.caller("demo").project;
        self.write(|state, now| {
            let subports: Vec<SubPort> = subports
                .iter()
                .zip(100..)
                .map(|(port, segment)| SubPort { port: *port, segment })
                .collect();
            for SubPort { port, .. } in &subports {
                state.neutron.carry(*port);
            }
            let trunk = Trunk {
                id: Uuid::new_v4(),
                standard: Standard::new(&project, "", now.wall),
                port: parent,
                subports,
            };
            let id = trunk.id;
            state.neutron.trunks.insert(id, trunk);
            id
        })
    }

    /// All ports.
    pub fn ports(&self) -> Vec<PortView> {
        self.read(|state| state.neutron.ports.values().map(views::port).collect())
    }

    /// The port with this ID.
    pub fn port(&self, id: Uuid) -> Option<PortView> {
        self.read(|state| state.neutron.ports.get(&id).map(views::port))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Internal,
    External,
}

fn add_network(state: &mut State, project: &Arc<str>, name: &str, reach: Reach, now: Now) -> Uuid {
    let external = reach == Reach::External;
    let network = Network {
        id: Uuid::new_v4(),
        standard: Standard::new(project, name, now.wall),
        shared: false,
        external,
        port_security: true,
        mtu: if external { 1500 } else { 1450 },
        dns_domain: String::new(),
    };
    let id = network.id;
    state.neutron.networks.insert(id, network);
    id
}

fn add_subnet(state: &mut State, network: Uuid, cidr: &str, now: Now) -> Uuid {
    let fallback = || ipnet::Ipv4Net::new_assert([10, 0, 0, 0].into(), 16).into();
    let cidr: IpNet = cidr.parse().unwrap_or_else(|_| fallback());
    let Some(network) = state.neutron.networks.get_mut(&network) else {
        return Uuid::nil();
    };
    network.standard.touch(now.wall);
    let standard = Standard::new(&network.standard.project, &network.standard.name, now.wall);
    let subnet = Subnet::new(network, standard, cidr, Some(gateway(cidr)));
    let id = subnet.id;
    state.neutron.subnets.insert(id, subnet);
    id
}
