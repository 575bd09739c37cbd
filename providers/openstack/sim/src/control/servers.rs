//! Servers and flavors.

use super::Net;
use crate::{
    Cloud, ServerStatus,
    keystone::Caller,
    nova::{Boot, Flavor, Nic, Server},
    state::State,
};
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};
use uuid::Uuid;

/// A new server.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// Its name.
    pub name: String,
    /// The networks that it is on; none is the default one.
    pub networks: Vec<Net>,
    /// The name of its flavor.
    pub flavor: String,
    /// Its availability zone.
    pub zone: String,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
    /// Its user.
    pub user: String,
}

impl ServerSpec {
    /// A server like every other.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            networks: Vec::new(),
            flavor: "m1.small".to_owned(),
            zone: "nova".to_owned(),
            metadata: BTreeMap::new(),
            user: "demo".to_owned(),
        }
    }
}

/// A server as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerView {
    /// Its ID.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its status.
    pub status: ServerStatus,
    /// The name of its flavor.
    pub flavor: String,
    /// Its availability zone.
    pub zone: String,
    /// Its fixed addresses.
    pub addresses: Vec<IpAddr>,
    /// Its ports.
    pub ports: Vec<Uuid>,
}

impl Cloud {
    /// Starts a server of the project `demo` on the default network, `private`, which is created if it does not exist.
    pub fn boot(&self, name: &str) -> ServerView {
        self.boot_as(ServerSpec::new(name))
    }

    /// Starts this server.
    pub fn boot_as(&self, mut spec: ServerSpec) -> ServerView {
        if spec.networks.is_empty() {
            spec.networks.push(self.default_network());
        }
        let caller = self.caller(&spec.user);
        self.write(|state, now| {
            let boot = prepare(state, &spec, &caller);
            let id = state.boot(boot, now).unwrap_or_default();
            state
                .nova
                .servers
                .get(id)
                .map_or_else(|| not_created(&spec), |server| view(state, server))
        })
    }

    /// Starts servers of the project `demo`, `<prefix>0` and so on, and answers their IDs.
    pub fn boot_many(&self, prefix: &str, count: usize, net: &Net) -> Vec<Uuid> {
        let mut spec = ServerSpec::new(prefix);
        spec.networks.push(net.clone());
        let caller = self.caller(&spec.user);
        self.write(|state, now| {
            let boot = prepare(state, &spec, &caller);
            let one = |number| {
                state
                    .boot(
                        Boot {
                            name: format!("{prefix}{number}"),
                            ..boot.clone()
                        },
                        now,
                    )
                    .ok()
            };
            (0..count).map_while(one).collect()
        })
    }

    /// Deletes a server and its ports.
    pub fn delete_server(&self, id: Uuid) {
        self.write(|state, now| state.remove_server(id, now));
    }

    /// Switches a server off.
    pub fn stop_server(&self, id: Uuid) {
        self.set_server_status(id, ServerStatus::Shutoff);
    }

    /// Switches a server on.
    pub fn start_server(&self, id: Uuid) {
        self.set_server_status(id, ServerStatus::Active);
    }

    /// Makes the status of a server this.
    pub fn set_server_status(&self, id: Uuid, status: ServerStatus) {
        self.change_server(id, |server| server.status = status);
    }

    /// Gives a server another name.
    pub fn rename_server(&self, id: Uuid, name: &str) {
        self.change_server(id, |server| server.name = name.into());
    }

    /// Gives a server addresses for access.
    pub fn set_access_addresses(&self, id: Uuid, v4: Option<Ipv4Addr>, v6: Option<Ipv6Addr>) {
        self.change_server(id, |server| (server.access_v4, server.access_v6) = (v4, v6));
    }

    /// Gives a server metadata.
    pub fn set_metadata(&self, id: Uuid, name: &str, value: &str) {
        self.change_server(id, |server| {
            server.metadata.insert(name.to_owned(), value.to_owned());
        });
    }

    /// Moves a server to another availability zone.
    pub fn set_zone(&self, id: Uuid, zone: &str) {
        self.change_server(id, |server| server.zone = zone.into());
    }

    fn change_server(&self, id: Uuid, change: impl FnOnce(&mut Server)) {
        self.write(|state, now| {
            if let Some(server) = state.nova.servers.get_mut(id) {
                server.updated = now.wall;
                change(server);
            }
        });
    }

    /// The server with this ID.
    pub fn server(&self, id: Uuid) -> Option<ServerView> {
        self.read(|state| state.nova.servers.get(id).map(|server| view(state, server)))
    }

    /// The servers of this name.
    pub fn servers_named(&self, name: &str) -> Vec<ServerView> {
        self.read(|state| {
            state
                .nova
                .servers
                .alive()
                .filter(|server| &*server.name == name)
                .map(|server| view(state, server))
                .collect()
        })
    }

    /// All servers, oldest first.
    pub fn servers(&self) -> Vec<ServerView> {
        self.read(|state| state.nova.servers.alive().map(|server| view(state, server)).collect())
    }

    /// Adds a flavor, and answers its ID.
    pub fn add_flavor(&self, name: &str, ram: u32, vcpus: u32) -> String {
        let id = Uuid::new_v4().to_string();
        let flavor = Flavor {
            id: id.clone(),
            name: name.into(),
            ram,
            vcpus,
            disk: 1,
            extra_specs: BTreeMap::new(),
        };
        self.write(|state, _| state.nova.flavors.insert(id.clone(), Arc::new(flavor)));
        id
    }

    /// Removes the flavors of this name; servers keep them.
    pub fn remove_flavor(&self, name: &str) {
        self.write(|state, _| state.nova.flavors.retain(|_, flavor| flavor.name != name));
    }

    /// A user as the services see him.
    pub(super) fn caller(&self, user: &str) -> Caller {
        let identity = self.identity();
        let Some(user) = identity.user_named(user) else {
            return Caller::default();
        };
        Caller {
            user: Arc::from(user.name.as_str()),
            user_id: Arc::from(user.id.as_str()),
            project: Arc::from(user.default_project.as_deref().unwrap_or_default()),
            ..Caller::default()
        }
    }
}

fn prepare(state: &State, spec: &ServerSpec, caller: &Caller) -> Boot {
    let named = state.nova.flavors.values().find(|flavor| flavor.name == spec.flavor);
    let unnamed = || {
        Arc::new(Flavor {
            id: spec.flavor.clone(),
            name: spec.flavor.clone(),
            ram: 0,
            vcpus: 0,
            disk: 0,
            extra_specs: BTreeMap::new(),
        })
    };
    Boot {
        name: spec.name.clone(),
        flavor: named.map_or_else(unnamed, Arc::clone),
        zone: spec.zone.as_str().into(),
        metadata: spec.metadata.clone(),
        networks: spec.networks.iter().map(|net| Nic::Network(net.network)).collect(),
        project: Arc::clone(&caller.project),
        user: Arc::clone(&caller.user_id),
    }
}

fn view(state: &State, server: &Server) -> ServerView {
    let ports: Vec<_> = state.neutron.ports_of(&server.id.to_string()).collect();
    ServerView {
        id: server.id,
        name: server.name.to_string(),
        status: server.status,
        flavor: server.flavor.name.clone(),
        zone: server.zone.to_string(),
        addresses: ports
            .iter()
            .flat_map(|port| port.fixed.iter().map(|fixed| fixed.address))
            .collect(),
        ports: ports.iter().map(|port| port.id).collect(),
    }
}

/// A server that did not come about, because its network is full.
fn not_created(spec: &ServerSpec) -> ServerView {
    ServerView {
        id: Uuid::nil(),
        name: spec.name.clone(),
        status: ServerStatus::Error,
        flavor: spec.flavor.clone(),
        zone: spec.zone.clone(),
        addresses: Vec::new(),
        ports: Vec::new(),
    }
}
