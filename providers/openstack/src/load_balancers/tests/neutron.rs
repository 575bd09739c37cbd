//! A project with a network, nodes and an external network, made by API calls: on the simulation and on the real services.

mod environments;

use super::project::session;
use crate::api::{Call, Service, Session};
use cloud::{Address, AddressKind, Host, ProviderId};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) use environments::{Simulated, real, scenarios, simulated};

/// A login.
pub(crate) struct Login<'a> {
    pub auth_url: &'a str,
    /// The name of the project and of its user.
    pub project: &'a str,
}

/// The projects that see the external network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// All projects: there is no other one.
    Everyone,
    /// Only the project: others on the same cloud search for *the* external network.
    Project,
}

/// A network `10.77.0.0/24`, and the external network once it is created: see [`Neutron::open`].
pub(crate) struct Neutron {
    pub api: Session,
    pub admin: Session,
    pub network: String,
    pub subnet: String,
    pub external: String,
    pub small: String,
    pub big: String,
    router: String,
}

/// A port that a floating IP can be attached to.
pub(crate) struct Vip {
    pub port: String,
    pub address: String,
}

impl Neutron {
    pub(crate) async fn new(login: &Login<'_>) -> Self {
        // Another test may have installed it before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (api, admin) = (session(login.auth_url, login.project), session(login.auth_url, "admin"));
        let network = json!({"network": {"name": "nodes"}});
        let network = id(&post(&api, "networks", network).await, "network");
        let subnet =
            json!({"subnet": {"name": "nodes", "network_id": network, "ip_version": 4, "cidr": "10.77.0.0/24"}});
        let subnet = id(&post(&api, "subnets", subnet).await, "subnet");
        let (external, small, big, router) = Default::default();
        Self {
            api,
            admin,
            network,
            subnet,
            external,
            small,
            big,
            router,
        }
    }

    /// Creates an external network with the subnets `big`, tagged `a` and `b`, and `small`, tagged `a`, which has room for one
    /// floating IP, and a router to it.
    pub(crate) async fn create_external_network(&mut self, visibility: Visibility) {
        self.external = self.shared_network(visibility).await;
        let big = json!({"name": "big", "network_id": self.external, "ip_version": 4, "cidr": "198.51.101.0/24", "enable_dhcp": false});
        self.big = id(&post(&self.admin, "subnets", json!({ "subnet": big })).await, "subnet");
        let gateway = json!({"network_id": self.external});
        let router = json!({"router": {"name": "router", "external_gateway_info": gateway}});
        self.router = id(&post(&self.api, "routers", router).await, "router");
        let interface = ["routers", &self.router, "add_router_interface"];
        self.put(&interface, json!({"subnet_id": self.subnet})).await;
        // The address of the gateway is from `big`, the only subnet so far.
        let pool = json!([{"start": "198.51.100.2", "end": "198.51.100.2"}]);
        let small = json!({"name": "small", "network_id": self.external, "ip_version": 4, "cidr": "198.51.100.0/29", "enable_dhcp": false, "allocation_pools": pool});
        self.small = id(
            &post(&self.admin, "subnets", json!({ "subnet": small })).await,
            "subnet",
        );
        self.tag(&self.small, &["a"]).await;
        self.tag(&self.big, &["a", "b"]).await;
    }

    /// Deletes the external network: a project may not share many.
    pub(crate) async fn delete_external_network(&self) {
        if self.external.is_empty() {
            return;
        }
        let query = [("floating_network_id", self.external.as_str())];
        let all = Call::get(Service::Network, "floating_ip_list", ["floatingips"]).query(query);
        let all: Value = self.admin.json(all).await.expect("a list");
        for fip in all["floatingips"].as_array().expect("a list") {
            let id = fip["id"].as_str().expect("an ID");
            self.remove(&self.admin, &["floatingips", id]).await;
        }
        let nowhere = json!({"router": {"external_gateway_info": null}});
        self.put(&["routers", &self.router], nowhere).await;
        self.remove(&self.admin, &["networks", &self.external]).await;
    }

    async fn shared_network(&self, visibility: Visibility) -> String {
        if visibility == Visibility::Everyone {
            let network = json!({"network": {"name": "external", "router:external": true}});
            return id(&post(&self.admin, "networks", network).await, "network");
        }
        let network = json!({"network": {"name": "external"}});
        let network = id(&post(&self.admin, "networks", network).await, "network");
        let project = self.api.project_id().await.expect("a project");
        let policy = json!({"object_type": "network", "object_id": network, "action": "access_as_external", "target_tenant": project});
        post(&self.admin, "rbac-policies", json!({ "rbac_policy": policy })).await;
        network
    }

    async fn tag(&self, subnet: &str, tags: &[&str]) {
        let call = Call::put(Service::Network, "tag", ["subnets", subnet, "tags"]).json(&json!({ "tags": tags }));
        let _: Value = self.admin.json(call).await.expect("tags");
    }

    /// A port like that of a load balancer.
    pub(crate) async fn vip(&self) -> Vip {
        let port = self
            .port(json!({"network_id": self.network, "device_owner": "Octavia"}))
            .await;
        Vip {
            address: address(&port),
            port: port["id"].as_str().expect("an ID").to_owned(),
        }
    }

    /// The same in a network without a router.
    pub(crate) async fn unreachable_vip(&self) -> Vip {
        let network = id(
            &post(&self.api, "networks", json!({"network": {"name": "away"}})).await,
            "network",
        );
        let subnet = json!({"subnet": {"network_id": network, "ip_version": 4, "cidr": "10.78.0.0/24"}});
        post(&self.api, "subnets", subnet).await;
        let port = self.port(json!({"network_id": network})).await;
        Vip {
            address: address(&port),
            port: port["id"].as_str().expect("an ID").to_owned(),
        }
    }

    /// A node, and the ID of its port.
    pub(crate) async fn node(&self, name: &str, more: Value) -> (Arc<Host>, String) {
        let server = format!("{name}-{:016x}", random());
        let mut port = json!({"network_id": self.network, "device_id": server});
        port.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        let port = self.port(port).await;
        let host = Host {
            name: name.to_owned(),
            provider_id: ProviderId::parse(format!("openstack:///{server}")),
            addresses: vec![Address::new(AddressKind::InternalIP, address(&port))],
            ..Host::default()
        };
        (Arc::new(host), port["id"].as_str().expect("an ID").to_owned())
    }

    async fn port(&self, port: Value) -> Value {
        post(&self.api, "ports", json!({ "port": port })).await["port"].clone()
    }

    /// The project's objects of a resource, as `GET` returns them.
    pub(crate) async fn get(&self, path: &[&str]) -> Value {
        let call = Call::get(Service::Network, "get", path.iter().copied());
        self.api.json(call).await.expect("an answer")
    }

    pub(crate) async fn put(&self, path: &[&str], body: Value) -> Value {
        let call = Call::put(Service::Network, "put", path.iter().copied()).json(&body);
        self.api.json(call).await.expect("an answer")
    }

    pub(crate) async fn delete(&self, path: &[&str]) {
        self.remove(&self.api, path).await;
    }

    async fn remove(&self, session: &Session, path: &[&str]) {
        let call = Call::delete(Service::Network, "delete", path.iter().copied());
        session.delete(call).await.expect("deleted");
    }

    /// Creates a floating IP as a user would.
    pub(crate) async fn floating_ip(&self, description: &str) -> (String, String) {
        let body = json!({"floatingip": {"floating_network_id": self.external, "description": description}});
        let made = post(&self.api, "floatingips", body).await;
        let text = |key: &str| made["floatingip"][key].as_str().expect("text").to_owned();
        (text("id"), text("floating_ip_address"))
    }

    /// `address port`, one per line, of all floating IPs of the external network.
    pub(crate) async fn floating_ips(&self) -> Vec<(String, Option<String>)> {
        let all = self.get(&["floatingips"]).await;
        let ours = all["floatingips"].as_array().expect("a list").iter();
        let ours = ours.filter(|fip| fip["floating_network_id"] == self.external.as_str());
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        ours.map(|fip| {
            (
                text(&fip["floating_ip_address"]).expect("an address"),
                text(&fip["port_id"]),
            )
        })
        .collect()
    }
}

pub(crate) async fn post(session: &Session, collection: &str, body: Value) -> Value {
    let call = Call::post(Service::Network, "post", [collection]).json(&body);
    session.json(call).await.expect("made")
}

fn id(made: &Value, resource: &str) -> String {
    made[resource]["id"].as_str().expect("an ID").to_owned()
}

fn address(port: &Value) -> String {
    port["fixed_ips"][0]["ip_address"]
        .as_str()
        .expect("an address")
        .to_owned()
}

fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}
