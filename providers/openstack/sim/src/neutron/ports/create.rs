//! How ports and their addresses come about.

use super::{Port, Status};
use crate::{
    exchange::Response,
    neutron::{Fixed, Network, Neutron, Standard, body, error, resource::Resource, security_groups},
};
use jiff::Timestamp;
use std::{net::IpAddr, sync::Arc};
use uuid::Uuid;

/// A new port.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) network: Uuid,
    pub(crate) project: Arc<str>,
    pub(crate) name: String,
    pub(crate) device_id: String,
    pub(crate) device_owner: Arc<str>,
    pub(crate) status: Status,
    pub(crate) admin_up: bool,
    /// None is one of each family.
    pub(crate) fixed: Vec<Wanted>,
    /// `None` is the default group.
    pub(crate) groups: Option<Vec<Uuid>>,
    pub(crate) port_security: Option<bool>,
    pub(crate) dns_name: String,
    pub(crate) host: String,
}

/// An address that a port is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Any of this subnet.
    Any(Uuid),
    /// This one, of this subnet or of whichever it lies in.
    This(Option<Uuid>, IpAddr),
}

impl Request {
    pub(crate) fn new(network: Uuid, project: &Arc<str>) -> Self {
        Self {
            network,
            project: Arc::clone(project),
            name: String::new(),
            device_id: String::new(),
            device_owner: Arc::from(""),
            status: Status::Down,
            admin_up: true,
            fixed: Vec::new(),
            groups: None,
            port_security: None,
            dns_name: String::new(),
            host: String::new(),
        }
    }
}

impl Neutron {
    /// Creates a port, or returns Neutron's error.
    pub(crate) fn create_port(&mut self, request: Request, now: Timestamp) -> Result<Uuid, Response> {
        let network = self
            .networks
            .get(&request.network)
            .ok_or_else(|| Network::missing(&request.network.to_string()))?;
        let port_security = request.port_security.unwrap_or(network.port_security);
        let network_owner = Arc::clone(&network.standard.project);
        let groups = match request.groups {
            Some(groups) => groups,
            None if port_security => vec![security_groups::default_group(self, &request.project, now)],
            None => Vec::new(),
        };
        let fixed = self.allocate(request.network, &request.fixed)?;
        let mut standard = Standard::new(&request.project, &request.name, now);
        standard.created = now;
        let port = Port {
            id: Uuid::new_v4(),
            network: request.network,
            network_owner,
            standard,
            mac: new_mac(),
            fixed,
            device_id: request.device_id.into(),
            device_owner: request.device_owner,
            status: request.status,
            admin_up: request.admin_up,
            groups,
            pairs: Vec::new(),
            secured: port_security,
            dns_name: request.dns_name.into(),
            host: request.host.into(),
        };
        let id = port.id;
        self.devices.entry(port.device_id.clone()).or_default().push(id);
        self.ports.insert(id, port);
        Ok(id)
    }

    fn allocate(&mut self, network: Uuid, wanted: &[Wanted]) -> Result<Vec<Fixed>, Response> {
        let mut taken = Vec::new();
        let result = if wanted.is_empty() {
            self.one_of_each(network, &mut taken)
        } else {
            wanted.iter().try_for_each(|wanted| {
                let fixed = self.take(network, *wanted)?;
                taken.push(fixed);
                Ok(())
            })
        };
        if result.is_err() {
            for Fixed { subnet, address } in &taken {
                if let Some(subnet) = self.subnets.get_mut(subnet) {
                    subnet.pool.give_back(*address);
                }
            }
        }
        result.map(|()| taken)
    }

    fn one_of_each(&mut self, network: Uuid, taken: &mut Vec<Fixed>) -> Result<(), Response> {
        for v4 in [true, false] {
            let mut subnets = self
                .subnets
                .values_mut()
                .filter(|subnet| subnet.network == network && subnet.cidr.addr().is_ipv4() == v4)
                .peekable();
            if subnets.peek().is_none() {
                continue;
            }
            let found = subnets.find_map(|subnet| {
                Some(Fixed {
                    subnet: subnet.id,
                    address: subnet.pool.take_any()?,
                })
            });
            taken.push(found.ok_or_else(|| full(network))?);
        }
        Ok(())
    }

    pub(in crate::neutron) fn take(&mut self, network: Uuid, wanted: Wanted) -> Result<Fixed, Response> {
        let (id, address) = match wanted {
            Wanted::Any(subnet) => (Some(subnet), None),
            Wanted::This(subnet, address) => (subnet, Some(address)),
        };
        let mut subnets = self.subnets.values_mut().filter(|subnet| subnet.network == network);
        let found = subnets.find(|subnet| match (id, address) {
            (Some(id), _) => subnet.id == id,
            (None, Some(address)) => subnet.cidr.contains(&address),
            (None, None) => true,
        });
        let outside = || {
            error(
                400,
                "InvalidIpForNetwork",
                "IP address is not a valid IP for any of the subnets on the specified network.",
            )
        };
        let subnet = found.ok_or_else(|| id.map_or_else(outside, |id| foreign(network, id)))?;
        let Some(address) = address else {
            let address = subnet.pool.take_any().ok_or_else(|| full(network))?;
            return Ok(Fixed {
                subnet: subnet.id,
                address,
            });
        };
        if !subnet.cidr.contains(&address) {
            let message = format!("IP address {address} is not a valid IP for the specified subnet.");
            return Err(error(400, "InvalidIpForSubnet", &message));
        }
        if !subnet.pool.take(address) {
            let message = format!("IP address {address} already allocated in subnet {}", subnet.id);
            return Err(error(409, "IpAddressAlreadyAllocated", &message));
        }
        Ok(Fixed {
            subnet: subnet.id,
            address,
        })
    }
}

fn full(network: Uuid) -> Response {
    error(
        409,
        "IpAddressGenerationFailure",
        &format!("No more IP addresses available on network {network}."),
    )
}

fn foreign(network: Uuid, subnet: Uuid) -> Response {
    body::invalid(&format!(
        "Failed to create port on network {network}, because fixed_ips included invalid subnet {subnet}."
    ))
}

fn new_mac() -> [u8; 6] {
    let [_, _, _, a, b, c, ..] = fastrand::u64(..).to_be_bytes();
    [0xfa, 0x16, 0x3e, a, b, c]
}
