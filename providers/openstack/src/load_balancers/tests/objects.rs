//! Services and load balancers for tests, written as text.

use crate::{
    api::octavia::{Id, Listener, LoadBalancer, Member, Monitor, Pool, Provisioning},
    config::Config,
    load_balancers::{
        annotations as key,
        balancer::{
            desired::{Desired, Inputs, MemberNetwork, Port},
            tree::Tree,
        },
        features::Features,
        names,
        ownership::Relation,
        settings::Settings,
    },
};
use cloud::{Address, AddressKind, Affinity, Host, IpFamily, Protocol, ServiceRef, Spec, TrafficPolicy};
use provider_kit::load_balancer::Ownership;
use std::sync::Arc;

/// A Service and its settings.
pub(crate) struct Asked {
    pub spec: Spec,
    pub config: Config,
    pub version: (u32, u32),
}

/// `80 53/UDP -> a b; x-forwarded-for=true sticky local=30000 @ovn`: ports, hosts, and then annotations without their
/// prefix or one of the words below.
pub(crate) fn asked(text: &str) -> Asked {
    let (text, more) = text.split_once(';').unwrap_or((text, ""));
    let (ports, hosts) = text.split_once("->").expect("an arrow");
    let mut asked = Asked {
        spec: Spec {
            cluster: "kubernetes".into(),
            service: ServiceRef {
                namespace: "default".into(),
                name: "web".into(),
                uid: "uid".into(),
            },
            ports: ports.split_whitespace().map(port).collect(),
            hosts: hosts.split_whitespace().map(host).collect(),
            source_ranges: vec!["0.0.0.0/0".parse().expect("a range")],
            families: vec![IpFamily::V4],
            ..Spec::default()
        },
        config: Config::default(),
        version: (2, 27),
    };
    more.split_whitespace().for_each(|word| asked.say(word));
    asked
}

impl Asked {
    fn say(&mut self, word: &str) {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "sticky" => self.spec.affinity = Affinity::ClientIp { timeout_seconds: 10800 },
            "local" => {
                self.spec.traffic = TrafficPolicy::Local {
                    health_check_port: value.parse().ok(),
                }
            }
            "@ovn" => self.config.load_balancer.lb_provider = "ovn".into(),
            "@serial" => self.config.load_balancer.provider_requires_serial_api_calls = true,
            "@method" => self.config.load_balancer.lb_method = value.into(),
            "@version" => self.version = (2, value.parse().expect("a number")),
            "@cluster" => self.spec.cluster = value.into(),
            "from" => self.spec.source_ranges = value.split(',').map(|range| range.parse().expect("a range")).collect(),
            "v6" => self.spec.families = vec![IpFamily::V6],
            "no-node-ports" => self.spec.ports.iter_mut().for_each(|port| port.node_port = None),
            _ => {
                self.spec
                    .annotations
                    .insert(format!("loadbalancer.openstack.org/{name}"), value.to_owned());
            }
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::of(&self.spec, &self.config).expect("settings")
    }

    pub(crate) fn with<T>(&self, see: impl FnOnce(&Inputs<'_>) -> T) -> T {
        see(&Inputs {
            spec: &self.spec,
            settings: &self.settings(),
            features: Features::of(self.version, &self.config.load_balancer.lb_provider),
            record: None,
            config: &self.config,
        })
    }

    pub(crate) fn desired(&self) -> Desired {
        self.with(|inputs| inputs.desired(&self.member_network()))
            .expect("settings that can be applied")
    }

    pub(crate) fn member_network(&self) -> MemberNetwork {
        MemberNetwork {
            member_subnet: Some("subnet".into()),
            second_subnet: Some("subnet6".into()),
            families: self.spec.families.clone(),
        }
    }

    /// The load balancer that was created for it, as Octavia reports it.
    pub(crate) fn made(&self) -> Tree {
        let desired = self.desired();
        let mut tree = Tree {
            balancer: LoadBalancer {
                id: "lb".into(),
                name: desired.name.clone(),
                tags: desired.tags.clone(),
                provisioning_status: Provisioning::Active,
                vip_address: "10.0.0.100".into(),
                ..LoadBalancer::default()
            },
            ..Tree::default()
        };
        desired.ports.iter().for_each(|port| add(&mut tree, port));
        tree
    }
}

/// The relation of the Service to its own load balancer.
pub(crate) fn owner() -> Relation {
    Relation {
        name: "kube_service_kubernetes_default_web".into(),
        previous_name: None,
        other_uid: None,
        ownership: Ownership::Owner,
    }
}

/// The relation of the Service to the load balancer of another one.
pub(crate) fn guest() -> Relation {
    Relation {
        ownership: Ownership::Guest,
        ..owner()
    }
}

/// Adds a port as Octavia would; IDs are derived from its key.
pub(crate) fn add(tree: &mut Tree, port: &Port) {
    let id = format!("{}", port.key).to_lowercase().replace('/', "-");
    let (listener, pool, monitor) = (format!("l-{id}"), format!("p-{id}"), format!("m-{id}"));
    let Port {
        listener: new,
        pool: new_pool,
        members,
        monitor: new_monitor,
        ..
    } = port;
    tree.listeners.push(Listener {
        id: listener.clone(),
        name: new.name.clone(),
        protocol: new.protocol.into(),
        protocol_port: new.protocol_port,
        connection_limit: new.connection_limit,
        default_tls_container_ref: new.default_tls_container_ref.clone().unwrap_or_default(),
        default_pool_id: Some(pool.clone()),
        insert_headers: new.insert_headers.clone(),
        loadbalancers: vec![Id::of("lb")],
        timeout_client_data: new.timeout_client_data,
        timeout_member_connect: new.timeout_member_connect,
        timeout_member_data: new.timeout_member_data,
        timeout_tcp_inspect: new.timeout_tcp_inspect,
        tags: new.tags.clone(),
        allowed_cidrs: new.allowed_cidrs.clone(),
    });
    let member = |(index, new): (usize, &crate::api::octavia::NewMember)| Member {
        id: format!("{pool}-{index}"),
        name: new.name.clone(),
        address: new.address.clone(),
        protocol_port: new.protocol_port,
        subnet_id: new.subnet_id.clone(),
        monitor_port: new.monitor_port.flatten(),
    };
    tree.members
        .insert(pool.clone(), members.iter().enumerate().map(member).collect());
    if let Some(new) = new_monitor {
        let there = Monitor {
            id: monitor.clone(),
            name: new.name.clone(),
            kind: new.kind.into(),
            delay: new.delay,
            timeout: new.timeout,
            max_retries: new.max_retries,
            max_retries_down: new.max_retries_down,
            pools: vec![Id::of(&pool)],
        };
        tree.monitors.insert(monitor.clone(), there);
    }
    tree.pools.push(Pool {
        id: pool,
        name: new_pool.name.clone(),
        protocol: new_pool.protocol.into(),
        lb_algorithm: new_pool.lb_algorithm.clone(),
        session_persistence: new_pool.session_persistence.clone(),
        loadbalancers: vec![Id::of("lb")],
        listeners: vec![Id::of(&listener)],
        healthmonitor_id: new_monitor.as_ref().map(|_| monitor),
        tags: new_pool.tags.clone(),
    });
}

fn port(text: &str) -> cloud::Port {
    let (number, protocol) = match text.split_once('/') {
        Some((number, "UDP")) => (number, Protocol::Udp),
        Some((number, "SCTP")) => (number, Protocol::Sctp),
        _ => (text, Protocol::Tcp),
    };
    let number: u16 = number.parse().expect("a port");
    cloud::Port {
        name: String::new(),
        protocol,
        port: number,
        node_port: Some(30_000 + number),
        app_protocol: None,
    }
}

/// `a` has an address derived from its letter, `a@10.0.0.9+fd00::9` these, `a@` none.
fn host(text: &str) -> Arc<Host> {
    let (name, address) = match text.split_once('@') {
        Some((name, address)) => (name, address.to_owned()),
        None => (text, format!("10.0.0.{}", text.bytes().next().unwrap_or_default())),
    };
    let addresses = address.split('+').filter(|address| !address.is_empty());
    Arc::new(Host {
        name: name.into(),
        addresses: addresses
            .map(|address| Address::new(AddressKind::InternalIP, address))
            .collect(),
        ..Host::default()
    })
}

/// The name of the Service's load balancer.
pub(crate) fn own_name() -> String {
    names::load_balancer("kubernetes", &asked("80 -> a").spec.service)
}

/// An annotation of ours by its short name.
pub(crate) fn annotate(spec: &mut Spec, name: &str, value: &str) {
    let name = if name == "internal" {
        key::INTERNAL.key.to_owned()
    } else {
        format!("loadbalancer.openstack.org/{name}")
    };
    spec.annotations.insert(name, value.to_owned());
}
