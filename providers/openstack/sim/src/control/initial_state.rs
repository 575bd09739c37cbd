//! The initial state of a cloud.

use crate::{
    Cloud,
    neutron::{Network, Standard, Subnet},
    nova::Flavor,
};
use ipnet::IpNet;
use std::{collections::BTreeMap, sync::Arc};
use uuid::Uuid;

impl Cloud {
    /// Adds what every cloud has.
    pub(crate) fn add_initial_state(&self) {
        let owner: Arc<str> = self
            .identity()
            .project_named("admin")
            .map_or("", |project| project.id.as_str())
            .into();
        self.write(|state, now| {
            for (name, ram, vcpus) in [("m1.tiny", 64, 1), ("m1.small", 512, 1), ("m1.medium", 4096, 1)] {
                let id = Uuid::new_v4().to_string();
                let flavor = Flavor {
                    id: id.clone(),
                    name: name.into(),
                    ram,
                    vcpus,
                    disk: 1,
                    extra_specs: BTreeMap::new(),
                };
                state.nova.flavors.insert(id, Arc::new(flavor));
            }
            let network = Network {
                id: Uuid::new_v4(),
                standard: Standard::new(&owner, "public", now.wall),
                shared: false,
                external: true,
                port_security: true,
                mtu: 1500,
                dns_domain: String::new(),
            };
            let cidr: IpNet = ipnet::Ipv4Net::new_assert([203, 0, 113, 0].into(), 24).into();
            let standard = Standard::new(&owner, "public-subnet", now.wall);
            let subnet = Subnet::new(&network, standard, cidr, Some([203, 0, 113, 1].into()));
            state.neutron.subnets.insert(subnet.id, subnet);
            state.neutron.networks.insert(network.id, network);
        });
    }
}
