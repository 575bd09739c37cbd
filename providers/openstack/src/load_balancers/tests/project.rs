//! The project of scenarios: a network of the project behind a router, and the floating IPs of the project.

use crate::{
    api::{Call, Service, Session, SessionContext},
    config::{Config, Domain, Global, Method, Scope, User},
    metrics::Metrics,
};
use cloud::{Address, AddressKind, Host, ProviderId};
use prometheus::Registry;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// A network `10.77.0.0/24` behind a router to the external network.
pub(super) struct Project {
    pub session: Session,
    pub network: String,
    pub subnet: String,
    pub external: String,
}

impl Project {
    /// With a network of its own in this project.
    pub async fn new(auth_url: &str, name: &str) -> Self {
        let mut project = Self::around(auth_url, name, "", "").await;
        let network = project.post("networks", json!({"network": {"name": "nodes"}})).await;
        project.network = text(&network["network"]["id"]);
        project.subnet = project.add_subnet(4, "10.77.0.0/24").await;
        let gateway = json!({"network_id": project.external});
        let router = json!({"router": {"name": "nodes", "external_gateway_info": gateway}});
        let router = text(&project.post("routers", router).await["router"]["id"]);
        let interface = json!({"subnet_id": project.subnet});
        project
            .put(&["routers", &router, "add_router_interface"], interface)
            .await;
        project
    }

    /// With an existing network of the project.
    pub async fn around(auth_url: &str, project: &str, network: &str, subnet: &str) -> Self {
        // Another test may have installed it before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let session = session(auth_url, project);
        let query = Call::get(Service::Network, "get", ["networks"]).query([("router:external", "true")]);
        let all: Value = session.json(query).await.expect("networks");
        Self {
            session,
            network: network.to_owned(),
            subnet: subnet.to_owned(),
            external: text(&all["networks"][0]["id"]),
        }
    }

    /// Releases the project's addresses of the external network: others need them, too.
    pub async fn clean_up(&self) {
        for fip in self.get(&["floatingips"]).await["floatingips"]
            .as_array()
            .expect("a list")
        {
            let call = Call::delete(Service::Network, "delete", ["floatingips", &text(&fip["id"])]);
            self.session.delete(call).await.expect("deleted");
        }
        for router in self.get(&["routers"]).await["routers"].as_array().expect("a list") {
            let gateway = json!({"router": {"external_gateway_info": null}});
            self.put(&["routers", &text(&router["id"])], gateway).await;
        }
    }

    /// One more subnet of the network.
    pub async fn add_subnet(&self, version: u8, cidr: &str) -> String {
        let subnet = json!({"subnet": {"network_id": self.network, "ip_version": version, "cidr": cidr}});
        text(&self.post("subnets", subnet).await["subnet"]["id"])
    }

    /// A node with a port in the network.
    pub async fn node(&self, name: &str) -> Arc<Host> {
        let server = lab::unique(name);
        let port = self
            .port(json!({"network_id": self.network, "device_id": server}))
            .await;
        Arc::new(Host {
            name: name.to_owned(),
            provider_id: ProviderId::parse(format!("openstack:///{server}")),
            addresses: vec![Address::new(
                AddressKind::InternalIP,
                text(&port["fixed_ips"][0]["ip_address"]),
            )],
            ..Host::default()
        })
    }

    /// A node with a port in the network that has an address of each of these subnets.
    pub async fn node_in(&self, name: &str, subnets: &[&str]) -> Arc<Host> {
        let server = lab::unique(name);
        let fixed: Vec<Value> = subnets.iter().map(|subnet| json!({"subnet_id": subnet})).collect();
        let port = self
            .port(json!({"network_id": self.network, "device_id": server, "fixed_ips": fixed}))
            .await;
        let fixed = port["fixed_ips"].as_array().expect("a list").iter();
        Arc::new(Host {
            name: name.to_owned(),
            provider_id: ProviderId::parse(format!("openstack:///{server}")),
            addresses: fixed
                .map(|fixed| Address::new(AddressKind::InternalIP, text(&fixed["ip_address"])))
                .collect(),
            ..Host::default()
        })
    }

    /// An unused port in the network.
    pub async fn idle_port(&self) -> String {
        text(&self.port(json!({"network_id": self.network})).await["id"])
    }

    /// Creates a floating IP as a user would: its ID and its address.
    pub async fn floating_ip(&self) -> (String, String) {
        let body = json!({"floatingip": {"floating_network_id": self.external, "description": "by hand"}});
        let made = self.post("floatingips", body).await;
        (
            text(&made["floatingip"]["id"]),
            text(&made["floatingip"]["floating_ip_address"]),
        )
    }

    /// Creates a floating IP for a port: its address.
    pub async fn lead(&self, port: &str) -> String {
        let (id, address) = self.floating_ip().await;
        let lead = json!({"floatingip": {"port_id": port}});
        self.put(&["floatingips", &id], lead).await;
        address
    }

    /// Detaches a floating IP from its port.
    pub async fn detach(&self, address: &str) {
        let all = self.get(&["floatingips"]).await;
        let mut all = all["floatingips"].as_array().expect("a list").iter();
        let fip = all
            .find(|fip| fip["floating_ip_address"] == address)
            .expect("it is there");
        let off = json!({"floatingip": {"port_id": null}});
        self.put(&["floatingips", &text(&fip["id"])], off).await;
    }

    /// The floating IPs of the project and their ports.
    pub async fn floating_ips(&self) -> Vec<(String, Option<String>)> {
        let all = self.get(&["floatingips"]).await;
        let all = all["floatingips"].as_array().expect("a list").iter();
        all.map(|fip| {
            (
                text(&fip["floating_ip_address"]),
                fip["port_id"].as_str().map(str::to_owned),
            )
        })
        .collect()
    }

    /// The number of security groups of this manager.
    pub async fn groups(&self) -> usize {
        let all = self.get(&["security-groups"]).await;
        let all = all["security_groups"].as_array().expect("a list").iter();
        all.filter(|group| text(&group["name"]).starts_with("lb-sg-")).count()
    }

    /// The sources that the security groups allow: `UDP/30053 10.77.0.0/24`.
    pub async fn openings(&self) -> Vec<String> {
        let all = self.get(&["security-groups"]).await;
        let ours = all["security_groups"].as_array().expect("a list").iter();
        let ours = ours.filter(|group| text(&group["name"]).starts_with("lb-sg-"));
        let rules = ours.flat_map(|group| group["security_group_rules"].as_array().expect("a list"));
        let mut openings: Vec<String> = rules
            .map(|rule| {
                let (protocol, source) = (text(&rule["protocol"]), text(&rule["remote_ip_prefix"]));
                format!("{protocol}/{} {source}", rule["port_range_min"])
            })
            .collect();
        openings.sort();
        openings
    }

    async fn port(&self, port: Value) -> Value {
        self.post("ports", json!({ "port": port })).await["port"].clone()
    }

    async fn get(&self, path: &[&str]) -> Value {
        let call = Call::get(Service::Network, "get", path.iter().copied());
        self.session.json(call).await.expect("an answer")
    }

    async fn put(&self, path: &[&str], body: Value) -> Value {
        let call = Call::put(Service::Network, "put", path.iter().copied()).json(&body);
        self.session.json(call).await.expect("changed")
    }

    async fn post(&self, collection: &str, body: Value) -> Value {
        let call = Call::post(Service::Network, "post", [collection]).json(&body);
        self.session.json(call).await.expect("made")
    }
}

/// A session of the user and project of this name, whose calls are not counted.
pub(super) fn session(auth_url: &str, project: &str) -> Session {
    let registry = Registry::new();
    let http = cloud_http::Metrics::register(&registry).expect("metrics");
    let context = SessionContext {
        gate: Arc::new(|| Ok(())),
        metrics: Metrics::register(&registry, http).expect("metrics"),
        user_agent: "test".to_owned(),
    };
    Session::new(global(auth_url, project), Duration::from_mins(1), &context).expect("a session")
}

/// The configuration of a manager on this project.
pub(super) fn config(project: &Project, auth_url: &str, name: &str) -> Config {
    let mut config = Config {
        global: global(auth_url, name),
        request_timeout: Duration::from_mins(1),
        ..Config::default()
    };
    config.load_balancer.networks.subnet_id.clone_from(&project.subnet);
    config
        .load_balancer
        .networks
        .floating_network_id
        .clone_from(&project.external);
    config
}

fn global(auth_url: &str, project: &str) -> Global {
    let domain = Some(Domain::Id("default".to_owned()));
    Global {
        auth_url: auth_url.to_owned(),
        method: Method::Password {
            user: User::Name {
                name: project.to_owned(),
                domain: domain.clone(),
            },
            password: SecretString::from("labpass"),
        },
        scope: Scope::ProjectName {
            name: project.to_owned(),
            domain,
        },
        // Real services have another one, with certificates of their own; their order is not defined.
        region: "RegionOne".to_owned(),
        ..Global::default()
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}
