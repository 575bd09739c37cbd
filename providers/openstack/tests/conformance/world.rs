//! An `OpenStack` as the environment of the conformance suite.

use crate::{
    fixture::context,
    operator::{Operator, items},
};
use async_trait::async_trait;
use cloud::{Gate, Host, NodeRef, Protocol, Provider, ServiceRef, Spec};
use conformance::{LoadBalancer, Naming, Stop, World, WriteFault};
use openstack::{
    api::{Service, SessionContext, session::user_agent},
    config::Config,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// One cloud; what differs between the real services and the simulation is in [`Kind`].
pub struct OpenStackWorld {
    operator: Arc<Operator>,
    config: Config,
    /// The user agent of the provider, to identify its requests.
    agent: String,
    kind: Arc<dyn Kind>,
    /// The names of the load balancers that the case may create.
    balancers: Mutex<Vec<String>>,
}

/// What only one kind of cloud can do.
#[async_trait]
pub trait Kind: Send + Sync {
    /// Starts a server, waits until it runs, and returns its ID.
    async fn boot(&self, name: &str) -> Result<String, Stop>;

    /// Deletes a server and waits until it does not exist.
    async fn delete(&self, id: &str) -> Result<(), Stop>;

    /// Returns a server that no case needs any more.
    async fn give_back(&self, id: &str) -> Result<(), Stop> {
        self.delete(id).await
    }

    /// Stops a server and waits until it is off.
    async fn shut_off(&self, id: &str) -> Result<(), Stop>;

    /// The maximum number of machines of a case.
    fn most_machines(&self) -> usize;

    /// The longest time in which a case may make no progress.
    fn patience(&self) -> Duration;

    /// The number of writes of the provider.
    async fn count_writes(&self) -> Result<u64, Stop>;

    /// Slows down load balancers of these names from now on.
    async fn slow_load_balancers(&self, names: &[String], provisioning: Duration) -> Result<(), Stop>;

    /// Makes the next write of the provider fail.
    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop>;
}

#[async_trait]
impl World for OpenStackWorld {
    fn provider(&self, gate: Gate) -> Arc<dyn Provider> {
        let context = SessionContext {
            user_agent: user_agent(std::slice::from_ref(&self.agent)),
            ..context(gate)
        };
        let provider = openstack::provider::Provider::new(self.config.clone(), context);
        Arc::new(provider.expect("the configuration is good"))
    }

    async fn create_machine(&self, name: &str) -> Result<NodeRef, Stop> {
        let id = self.kind.boot(name).await?;
        Ok(NodeRef::named(name).with_provider_id(format!("openstack:///{id}")))
    }

    async fn delete_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        self.kind.delete(id_of(node)).await
    }

    async fn return_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        self.kind.give_back(id_of(node)).await
    }

    async fn power_off(&self, node: &NodeRef) -> Result<(), Stop> {
        self.kind.shut_off(id_of(node)).await
    }

    fn most_machines(&self) -> usize {
        self.kind.most_machines()
    }

    fn foreign_ids(&self) -> Vec<String> {
        [
            "openstack://b1f4c1e2",
            "openstack:///a/b",
            "openstack:/a",
            "OPENSTACK:///a",
            "openstack://elsewhere/a",
        ]
        .map(String::from)
        .into()
    }

    async fn hosts(&self, count: usize) -> Result<Vec<Host>, Stop> {
        // Octavia accepts any address of a member.
        let host = |number: usize| Host {
            name: format!("host-{number:03}"),
            provider_id: cloud::ProviderId::parse(format!("openstack:///host-{number:03}")),
            addresses: vec![cloud::Address::new(
                cloud::AddressKind::InternalIP,
                format!("10.77.9.{number}"),
            )],
            ..Host::default()
        };
        Ok((1..=count).map(host).collect())
    }

    fn complete(&self, mut spec: Spec) -> Spec {
        let internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";
        spec.annotations.insert(internal.to_owned(), "true".to_owned());
        let service = &spec.service;
        let name = format!("kube_service_{}_{}_{}", spec.cluster, service.namespace, service.name);
        self.balancers.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        spec
    }

    fn naming(&self) -> Naming {
        Naming::NamespaceAndName
    }

    fn protocols(&self) -> Vec<Protocol> {
        vec![Protocol::Tcp, Protocol::Udp, Protocol::Sctp]
    }

    async fn count_load_balancers(&self, cluster: &str) -> Result<usize, Stop> {
        let prefix = format!("kube_service_{cluster}_");
        let balancers = self.balancers().await?;
        let ours = balancers
            .iter()
            .filter(|balancer| text(balancer, "name").starts_with(&prefix));
        Ok(ours.count())
    }

    async fn load_balancer(&self, cluster: &str, service: &ServiceRef) -> Result<Option<LoadBalancer>, Stop> {
        let mark = format!("kubernetes_service_uid_{}", service.uid);
        let balancers = self.balancers().await?;
        let prefix = format!("kube_service_{cluster}_");
        let is_it = |balancer: &&Value| {
            let marked = items(balancer, "tags").iter().any(|tag| tag.as_str() == Some(&mark));
            marked && text(balancer, "name").starts_with(&prefix)
        };
        match balancers.iter().find(is_it) {
            Some(balancer) => self.look(text(balancer, "id")).await.map(Some),
            None => Ok(None),
        }
    }

    async fn count_routes(&self, cluster: &str) -> Result<usize, Stop> {
        let path = format!("routers/{}", self.config.router_id.as_deref().unwrap_or_default());
        let router = self.operator.get(Service::Network, &path).await?;
        let path = format!("ports?tags=kube_route_{cluster}");
        let ports = self.operator.get(Service::Network, &path).await?;
        let ips = items(&ports, "ports").iter().flat_map(|port| items(port, "fixed_ips"));
        let ips: BTreeSet<&str> = ips.map(|ip| text(ip, "ip_address")).collect();
        let routes = items(&router["router"], "routes").iter();
        Ok(routes.filter(|route| ips.contains(text(route, "nexthop"))).count())
    }

    async fn count_writes(&self) -> Result<u64, Stop> {
        self.kind.count_writes().await
    }

    async fn slow_load_balancers(&self, provisioning: Duration) -> Result<(), Stop> {
        let names = self.balancers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.kind.slow_load_balancers(&names, provisioning).await
    }

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        self.kind.spoil_next_write(fault).await
    }

    fn patience(&self) -> Duration {
        self.kind.patience()
    }
}

impl OpenStackWorld {
    pub fn new(operator: Arc<Operator>, config: Config, agent: String, kind: Arc<dyn Kind>) -> Self {
        Self {
            operator,
            config,
            agent,
            kind,
            balancers: Mutex::default(),
        }
    }

    async fn balancers(&self) -> Result<Vec<Value>, Stop> {
        let list = self.operator.get(Service::LoadBalancer, "lbaas/loadbalancers").await?;
        let gone = |balancer: &Value| matches!(text(balancer, "provisioning_status"), "DELETED" | "PENDING_DELETE");
        let there = items(&list, "loadbalancers").iter().filter(|balancer| !gone(balancer));
        Ok(there.cloned().collect())
    }

    /// A load balancer as Octavia returns it.
    async fn look(&self, id: &str) -> Result<LoadBalancer, Stop> {
        let of = |kind: &str| format!("lbaas/{kind}?load_balancer_id={id}");
        let listeners = self.operator.get(Service::LoadBalancer, &of("listeners")).await?;
        let pools = self
            .operator
            .get(Service::LoadBalancer, &format!("lbaas/pools?loadbalancer_id={id}"))
            .await?;
        let listeners = items(&listeners, "listeners");
        let mut hosts = BTreeSet::new();
        for pool in items(&pools, "pools") {
            let path = format!("lbaas/pools/{}/members", text(pool, "id"));
            let members = self.operator.get(Service::LoadBalancer, &path).await?;
            hosts.extend(
                items(&members, "members")
                    .iter()
                    .map(|member| text(member, "name").to_owned()),
            );
        }
        let ranges = listeners.iter().flat_map(|listener| items(listener, "allowed_cidrs"));
        let ranges = ranges.filter_map(|range| range.as_str()?.parse().ok()).collect();
        Ok(LoadBalancer {
            ports: listeners.iter().filter_map(port).collect(),
            hosts,
            source_ranges: Some(ranges),
        })
    }
}

fn port(listener: &Value) -> Option<(Protocol, u16)> {
    let protocol = match text(listener, "protocol") {
        "UDP" => Protocol::Udp,
        "SCTP" => Protocol::Sctp,
        _ => Protocol::Tcp,
    };
    Some((protocol, listener["protocol_port"].as_u64()?.try_into().ok()?))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn id_of(node: &NodeRef) -> &str {
    let id = node
        .provider_id
        .as_ref()
        .map(cloud::ProviderId::as_str)
        .unwrap_or_default();
    id.strip_prefix("openstack:///").unwrap_or_default()
}
