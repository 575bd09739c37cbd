//! The behaviour suite with each kind of load balancer.

mod moto;
mod simulated;

use async_trait::async_trait;
use aws::Aws;
use cloud::{Gate, Host, NodeRef, Protocol, Provider, ServiceRef, Spec, default_name};
use conformance::{LoadBalancer, Marks, Stop, World, WriteFault, cases, run_concurrently};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

use crate::fixture::TYPE;

/// An account of AWS from its owner's view.
#[async_trait]
pub trait Account: Send + Sync {
    fn provider(&self, gate: &Gate) -> Aws;

    /// How many instances a case may ask for at most.
    fn most_machines(&self) -> usize;

    /// Starts an instance; the name is its private DNS name.
    async fn boot(&self) -> Result<Host, Stop>;

    async fn stop(&self, id: &str) -> Result<(), Stop>;

    /// Terminates an instance, and lets the hour pass for which EC2 shows it.
    async fn forget(&self, id: &str) -> Result<(), Stop>;

    /// The names of the load balancers of this kind.
    async fn load_balancers(&self, kind: Kind) -> Result<Vec<String>, Stop>;

    /// The ports of a load balancer, the IDs of the instances behind it, and the sources that its rules allow.
    async fn load_balancer(&self, kind: Kind, name: &str) -> Result<Seen, Stop>;

    /// How many routes to instances the route table has.
    async fn count_routes(&self) -> Result<usize, Stop>;

    async fn count_writes(&self) -> Result<u64, Stop>;

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Network,
    Classic,
}

/// A load balancer with the IDs of its instances.
#[derive(Debug, Default)]
pub struct Seen {
    pub ports: BTreeSet<(Protocol, u16)>,
    pub instances: BTreeSet<String>,
    pub sources: BTreeSet<ipnet::IpNet>,
}

struct AwsWorld<A> {
    account: A,
    kind: Kind,
    hosts: tokio::sync::Mutex<Vec<Host>>,
    specs: AtomicU16,
}

impl<A> AwsWorld<A> {
    fn new(account: A, kind: Kind) -> Self {
        Self {
            account,
            kind,
            hosts: tokio::sync::Mutex::default(),
            specs: AtomicU16::new(0),
        }
    }
}

#[async_trait]
impl<A: Account> World for AwsWorld<A> {
    fn provider(&self, gate: Gate) -> Arc<dyn Provider> {
        Arc::new(self.account.provider(&gate))
    }

    async fn create_machine(&self, _: &str) -> Result<NodeRef, Stop> {
        let Host { name, provider_id, .. } = self.account.boot().await?;
        Ok(NodeRef {
            provider_id,
            ..NodeRef::named(name)
        })
    }

    async fn delete_machine(&self, node: &NodeRef) -> Result<(), Stop> {
        self.account.forget(id_in(node.provider_id.as_ref())).await
    }

    async fn power_off(&self, node: &NodeRef) -> Result<(), Stop> {
        self.account.stop(id_in(node.provider_id.as_ref())).await
    }

    fn most_machines(&self) -> usize {
        self.account.most_machines()
    }

    fn foreign_ids(&self) -> Vec<String> {
        [
            "aws:///",
            "aws:///us-east-1a/vol-1",
            "aws:///us-east-1a/i-1/x",
            "gce://p/z/i-1",
        ]
        .map(String::from)
        .into()
    }

    async fn hosts(&self, count: usize) -> Result<Vec<Host>, Stop> {
        let mut hosts = self.hosts.lock().await;
        while hosts.len() < count {
            hosts.push(self.account.boot().await?);
        }
        Ok(hosts[..count].to_vec())
    }

    /// As in a cluster, no two Services have the same node port: for EC2 their rules would be the same.
    fn complete(&self, mut spec: Spec) -> Spec {
        let number = self.specs.fetch_add(1, Ordering::Relaxed);
        for port in &mut spec.ports {
            port.node_port = port.node_port.map(|port| port + 1000 + number);
        }
        if self.kind == Kind::Network {
            spec.annotations.insert(TYPE.to_owned(), "nlb".to_owned());
        }
        spec
    }

    fn marks(&self) -> Marks {
        Marks::ConfiguredClusterAndName
    }

    fn protocols(&self) -> Vec<Protocol> {
        match self.kind {
            Kind::Network => vec![Protocol::Tcp, Protocol::Udp],
            Kind::Classic => vec![Protocol::Tcp],
        }
    }

    fn mixes_protocols(&self) -> bool {
        false
    }

    async fn count_load_balancers(&self, _: &str) -> Result<usize, Stop> {
        Ok(self.account.load_balancers(self.kind).await?.len())
    }

    async fn load_balancer(&self, _: &str, service: &ServiceRef) -> Result<Option<LoadBalancer>, Stop> {
        let name = default_name(&service.uid);
        if !self.account.load_balancers(self.kind).await?.contains(&name) {
            return Ok(None);
        }
        let seen = self.account.load_balancer(self.kind, &name).await?;
        let hosts = self.hosts.lock().await;
        let host_of = |id: &String| {
            let host = hosts.iter().find(|host| id_in(host.provider_id.as_ref()) == id);
            host.map_or_else(|| id.clone(), |host| host.name.clone())
        };
        Ok(Some(LoadBalancer {
            ports: seen.ports,
            hosts: seen.instances.iter().map(host_of).collect(),
            // They are in the rules of the nodes' group: without nodes there are none.
            source_ranges: (!seen.instances.is_empty()).then_some(seen.sources),
        }))
    }

    async fn count_routes(&self, _: &str) -> Result<usize, Stop> {
        self.account.count_routes().await
    }

    async fn count_writes(&self) -> Result<u64, Stop> {
        self.account.count_writes().await
    }

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        self.account.spoil_next_write(fault).await
    }
}

fn id_in(id: Option<&cloud::ProviderId>) -> &str {
    id.and_then(|id| id.as_str().rsplit('/').next()).unwrap_or_default()
}

/// What AWS cannot do, and why.
const BEYOND: [(&str, &str); 6] = [
    (
        "does not manage",
        "every Node of the cluster is an EC2 instance or a Fargate machine",
    ),
    (
        "what is not ready is pending",
        "a load balancer has its name at once, and the Go program reports it at once",
    ),
    ("SCTP", "no load balancer of AWS balances SCTP"),
    (
        "TCP and UDP on the same port",
        "the Go program refuses a Service with both",
    ),
    (
        "same Service in two clusters",
        "the configuration names the cluster, --cluster-name does not count",
    ),
    (
        "another cluster's are left alone",
        "a cluster has a route table of its own",
    ),
];

/// What only network load balancers can do.
const NETWORK_ONLY: &str = "load balancers: UDP";

#[expect(clippy::print_stdout, reason = "nothing is left out in silence")]
async fn passes<A, F>(at_a_time: usize, kind: Kind, account: impl Fn() -> F) -> Result<(), conformance::Failed>
where
    A: Account + 'static,
    F: Future<Output = Result<A, Stop>>,
{
    let world = async || Ok(AwsWorld::new(account().await?, kind));
    let report = run_concurrently(at_a_time, &cases(), world).await;
    println!("{report}");
    let unable: Vec<_> = report.unable().iter().map(|case| case.name).collect();
    let is_beyond = |case: &str| {
        BEYOND.iter().any(|(words, _)| case.contains(words)) || kind == Kind::Classic && case == NETWORK_ONLY
    };
    let beyond: Vec<_> = cases()
        .iter()
        .map(|case| case.name)
        .filter(|case| is_beyond(case))
        .collect();
    report.check()?;
    assert_eq!(unable, beyond, "what cannot run");
    Ok(())
}
