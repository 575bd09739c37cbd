//! Floating IPs, security groups, routes and secrets.

use super::network_views::{self as views, FloatingIpView, GroupView, RouteView};
use crate::{
    Cloud,
    neutron::{Route, Standard, Wanted},
};
use std::net::IpAddr;
use uuid::Uuid;

impl Cloud {
    /// The floating IPs.
    pub fn floating_ips(&self) -> Vec<FloatingIpView> {
        self.read(|state| state.neutron.floating_ips.values().map(views::floating_ip).collect())
    }

    /// Makes a floating IP of the project `demo` that is on no port; `None` if there is none left or the network is not external.
    pub fn create_floating_ip(
        &self,
        network: Uuid,
        address: Option<IpAddr>,
        description: &str,
    ) -> Option<FloatingIpView> {
        let project = self.caller("demo").project;
        self.write(|state, now| {
            let mut standard = Standard::new(&project, "", now.wall);
            standard.description = description.into();
            let wanted = address.map(|address| Wanted::This(None, address));
            let id = state.neutron.create_floating_ip(standard, network, wanted).ok()?;
            state.neutron.floating_ips.get(&id).map(views::floating_ip)
        })
    }

    /// Attaches a floating IP to a port, also if it was attached elsewhere, or detaches it; `false` if that is impossible.
    pub fn move_floating_ip(&self, id: Uuid, port: Option<Uuid>) -> bool {
        self.write(|state, now| state.neutron.attach(id, port, now.wall).is_ok())
    }

    /// Removes a floating IP.
    pub fn delete_floating_ip(&self, id: Uuid) {
        self.write(|state, _| state.neutron.drop_floating_ip(id));
    }

    /// The security groups.
    pub fn security_groups(&self) -> Vec<GroupView> {
        self.read(|state| {
            state
                .neutron
                .groups
                .values()
                .map(|group| views::group(&state.neutron, group))
                .collect()
        })
    }

    /// Makes a security group of the project `demo`.
    pub fn create_security_group(&self, name: &str) -> Uuid {
        let project = self.caller("demo").project;
        self.write(|state, now| {
            state
                .neutron
                .create_group(Standard::new(&project, name, now.wall), now.wall)
        })
    }

    /// Puts a port into these security groups, and no others.
    pub fn set_port_groups(&self, port: Uuid, groups: &[Uuid]) {
        self.write(|state, now| {
            if let Some(port) = state.neutron.ports.get_mut(&port) {
                port.groups = groups.to_vec();
                port.standard.touch(now.wall);
            }
        });
    }

    /// Deletes a security group, also if it is in use.
    pub fn delete_security_group(&self, id: Uuid) {
        self.write(|state, _| {
            state.neutron.drop_group(id);
            state
                .neutron
                .ports
                .values_mut()
                .for_each(|port| port.groups.retain(|group| *group != id));
        });
    }

    /// Removes a rule of a security group.
    pub fn delete_security_group_rule(&self, id: Uuid) {
        self.write(|state, _| drop(state.neutron.rules.remove(&id)));
    }

    /// The routes of a router.
    pub fn routes(&self, router: Uuid) -> Vec<RouteView> {
        let view = |route: &Route| RouteView {
            destination: route.destination,
            nexthop: route.nexthop,
        };
        self.read(|state| {
            state
                .neutron
                .routers
                .get(&router)
                .map(|router| router.routes.iter().map(view).collect())
                .unwrap_or_default()
        })
    }

    /// Makes the routes of a router these.
    pub fn set_routes(&self, router: Uuid, routes: &[RouteView]) {
        self.write(|state, now| {
            if let Some(router) = state.neutron.routers.get_mut(&router) {
                router.routes = routes
                    .iter()
                    .map(|route| Route {
                        destination: route.destination,
                        nexthop: route.nexthop,
                    })
                    .collect();
                router.standard.touch(now.wall);
            }
        });
    }

    /// Removes a router and its ports.
    pub fn delete_router(&self, id: Uuid) {
        self.write(|state, _| {
            let ports: Vec<Uuid> = state.neutron.ports_of(&id.to_string()).map(|port| port.id).collect();
            for port in ports {
                state.neutron.drop_port(port);
            }
            state.neutron.routers.remove(&id);
        });
    }

    /// Puts a secret into the store, and answers its ID.
    pub fn add_secret(&self, name: &str) -> Uuid {
        let id = Uuid::new_v4();
        self.write(|state, _| state.barbican.secrets.insert(id, name.to_owned()));
        id
    }

    /// Puts a container into the store, and answers its ID.
    pub fn add_container(&self, name: &str) -> Uuid {
        let id = Uuid::new_v4();
        self.write(|state, _| state.barbican.containers.insert(id, name.to_owned()));
        id
    }
}
