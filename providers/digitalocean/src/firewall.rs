//! The cloud firewall in front of the nodes: it opens the ports of Services, and nothing else.

use crate::{
    annotations as key,
    api::{Api, types::Firewall},
    config::{Config, PublicFirewall},
    desired::{self, NETWORK},
};
use async_trait::async_trait;
use cloud::{Exposed, Exposure, Protocol, Result, Spec};
use cloud_http::Register;
use prometheus::linear_buckets;
use provider_kit::{
    Fresh, Timed,
    json::{self, Object},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tracing::{info, warn};

/// How long the firewall is taken to be as it was read: another program may change it.
const FRESH: Duration = Duration::from_mins(5);

/// The firewall in front of the nodes.
pub struct NodeFirewall {
    api: Arc<Api>,
    settings: PublicFirewall,
    metrics: Metrics,
    known: Fresh<Firewall>,
}

impl NodeFirewall {
    pub fn new(api: &Arc<Api>, settings: &PublicFirewall, metrics: Metrics) -> Self {
        Self {
            api: Arc::clone(api),
            settings: settings.clone(),
            metrics,
            known: Fresh::new(FRESH),
        }
    }

    async fn sync(&self, services: &[Exposed]) -> Result<()> {
        let desired = request(services, &self.api.config, &self.settings);
        let (current, all) = (self.current().await?, &self.api.firewalls);
        if current.as_ref().is_some_and(|current| is_same(current, &desired)) {
            return Ok(());
        }
        let updated = match &current {
            Some(current) => self.timed("update", all.update(&current.id, &desired)).await?,
            None => None,
        };
        let changed = match updated {
            Some(updated) => updated,
            None => self.timed("create", all.create(&desired)).await?,
        };
        let rules = json::items(&desired, "inbound_rules").len();
        info!(name = changed.name, rules, "changed the firewall of the nodes");
        self.known.set(Some(changed));
        Ok(())
    }

    /// As it was read a short while ago, by its ID, or else by its name.
    async fn current(&self) -> Result<Option<Firewall>> {
        if let Some(firewall) = self.known.get() {
            return Ok(Some(firewall));
        }
        let mut current = match self.known.last() {
            Some(firewall) => self.timed("get_by_id", self.api.firewalls.find(&firewall.id)).await?,
            None => None,
        };
        if current.is_none() {
            let all = self.timed("get_by_list", self.api.firewalls.list(None)).await?;
            current = all.into_iter().find(|firewall| firewall.name == self.settings.name);
        }
        self.known.set(current.clone());
        Ok(current)
    }

    async fn timed<T>(&self, operation: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
        let calls = &self.metrics.calls;
        calls
            .run(call, |end| {
                [operation.to_owned(), end.result.to_owned(), end.code.clone()]
            })
            .await
    }
}

#[async_trait]
impl cloud::NodeFirewall for NodeFirewall {
    async fn open(&self, services: &[Exposed]) -> Result<()> {
        let sync = Box::pin(self.sync(services));
        let answer = self.metrics.syncs.run(sync, |end| [end.result.to_owned()]).await;
        answer.inspect_err(|_| self.known.expire())
    }
}

/// What the firewall should be like, as the body of a request. Pure.
fn request(services: &[Exposed], config: &Config, settings: &PublicFirewall) -> Object {
    let managed = services
        .iter()
        .filter(|service| key::FIREWALL_MANAGED.boolean_or(&service.spec, true));
    let mut inbound: Vec<Value> = managed.flat_map(|service| rules(service, config)).collect();
    inbound.sort_by_cached_key(|rule| {
        let text = |field: &str| rule[field].as_str().unwrap_or_default().to_owned();
        (text("protocol"), text("ports"), rule["sources"].to_string())
    });
    inbound.dedup();
    let outbound = [("tcp", Some("1-65535")), ("udp", Some("1-65535")), ("icmp", None)];
    let outbound =
        outbound.map(|(protocol, ports)| json!({"protocol": protocol, "ports": ports, "destinations": world()}));
    let (name, tags) = (&settings.name, &settings.tags);
    json::object(json!({"name": name, "tags": tags, "inbound_rules": inbound, "outbound_rules": outbound}))
}

/// The ports of one Service. Regional load balancers reach the nodes on their private network, which needs no rule.
fn rules(service: &Exposed, config: &Config) -> Vec<Value> {
    let spec = &service.spec;
    let rule = |protocol: Protocol, port: u16, sources: Value| {
        let protocol = protocol.as_str().to_lowercase();
        json!({"protocol": protocol, "ports": port.to_string(), "sources": sources})
    };
    let ports = spec.ports.iter().filter(|port| port.protocol != Protocol::Sctp);
    match service.exposure {
        Exposure::NodePort => ports
            .filter_map(|port| Some(rule(port.protocol, port.node_port?, world())))
            .collect(),
        Exposure::LoadBalancer if is_passed_through(spec, config) => {
            let probes = key::LOAD_BALANCER_ID.non_empty(spec);
            let probes = probes.map_or_else(world, |id| json!({"load_balancer_uids": [id]}));
            let checked = desired::health_port(spec).inspect_err(|error| {
                let (service, error) = (&spec.service.name, error.report());
                warn!(service, error, "cannot determine the port of the health check");
            });
            let checked = checked.map(|port| rule(Protocol::Tcp, port, probes));
            let served = ports.map(|port| rule(port.protocol, port.port, clients(spec)));
            served.chain(checked).collect()
        }
        Exposure::LoadBalancer => Vec::new(),
    }
}

/// A network load balancer with a public address delivers packets as the clients sent them.
fn is_passed_through(spec: &Spec, config: &Config) -> bool {
    matches!(desired::kind(spec, config, None), Ok(NETWORK)) && matches!(desired::network(spec, None), Ok("EXTERNAL"))
}

fn clients(spec: &Spec) -> Value {
    match desired::ranges(spec) {
        ranges if ranges.is_empty() => world(),
        addresses => json!({"addresses": addresses}),
    }
}

fn world() -> Value {
    json!({"addresses": ["0.0.0.0/0", "::/0"]})
}

/// The API has several names for all ports.
fn is_same(current: &Firewall, desired: &Object) -> bool {
    let mut observed = current.settings.clone();
    for rule in observed
        .get_mut("outbound_rules")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if ["0", "all"].iter().any(|all| rule["ports"] == *all) {
            rule["ports"] = match rule["protocol"].as_str() {
                Some("icmp") => Value::Null,
                _ => "1-65535".into(),
            };
        }
    }
    observed.insert("name".to_owned(), current.name.as_str().into());
    json::differences(&observed, desired, &Value::Null).is_empty()
}

/// `firewall_*`, as the Go program has them.
pub struct Metrics {
    calls: Timed,
    syncs: Timed,
}

impl Metrics {
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let calls = [
            "firewall_api_operation_duration_seconds",
            "firewall_api_operations_total",
        ];
        let syncs = [
            "firewall_resource_sync_duration_seconds",
            "firewall_resource_syncs_total",
        ];
        let timed = |names, help, labels: &[&str], width| {
            Timed::register(registry, names, help, labels, linear_buckets(1.0, width, 21)?)
        };
        let labels = ["operation", "result", "http_response_code"];
        Ok(Self {
            calls: timed(calls, "calls about the firewall of the nodes", &labels, 4.5)?,
            syncs: timed(syncs, "syncs of the firewall of the nodes", &["result"], 15.0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn rule(protocol: &str, ports: &str, side: &str) -> Value {
        json!({"protocol": protocol, "ports": ports, side: world()})
    }

    /// A firewall as the API shows it, with these inbound ports and tags, and this name for all outbound ports.
    fn firewall(ports: &[&str], tags: &[&str], all: &str) -> Firewall {
        let inbound: Vec<Value> = ports.iter().map(|port| rule("tcp", port, "sources")).collect();
        let outbound = ["icmp", "udp", "tcp"].map(|protocol| rule(protocol, all, "destinations"));
        let shown = json!({
            "id": "1", "name": "nodes", "status": "succeeded", "droplet_ids": [1], "pending_changes": [],
            "inbound_rules": inbound, "outbound_rules": outbound, "tags": tags,
        });
        serde_json::from_value(shown).unwrap()
    }

    #[rstest]
    #[case::same(&["80", "30080"], &["b", "a"], "0", true)]
    #[case::another_name_for_all(&["30080", "80"], &["a", "b"], "all", true)]
    #[case::port_missing(&["80"], &["a", "b"], "0", false)]
    #[case::port_more(&["80", "81", "30080"], &["a", "b"], "0", false)]
    #[case::no_ports(&[], &["a", "b"], "0", false)]
    #[case::tags(&["80", "30080"], &["a"], "0", false)]
    #[case::outbound(&["80", "30080"], &["a", "b"], "443", false)]
    fn is_written_only_if_it_differs(
        #[case] ports: &[&str],
        #[case] tags: &[&str],
        #[case] all: &str,
        #[case] expected: bool,
    ) {
        let settings = PublicFirewall {
            name: "nodes".into(),
            tags: vec!["a".into(), "b".into()],
        };
        let config = Config::new(&[("DO_ACCESS_TOKEN", "t")].into_iter().collect()).unwrap();
        let port = |port: u16| cloud::Port {
            name: port.to_string(),
            protocol: Protocol::Tcp,
            port: 1,
            node_port: Some(port),
            app_protocol: None,
        };
        let spec = Spec {
            ports: vec![port(30_080), port(80)],
            ..Spec::default()
        };
        let services = [Exposed {
            exposure: Exposure::NodePort,
            spec,
        }];
        let desired = request(&services, &config, &settings);
        assert_eq!(is_same(&firewall(ports, tags, all), &desired), expected);
    }
}
