//! A provider in an account of its own.

use aws::{
    Aws,
    config::Config,
    permissions::{READ, WRITE},
};
use cloud::{
    Error, Gate, Host, LoadBalancers, Noted, Notes, Port, Progress, Protocol, Provider, ProviderId, ServiceRef, Spec,
};
use lab::aws::{Call, Fixture, Instance, Mark};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

pub const TYPE: &str = "service.beta.kubernetes.io/aws-load-balancer-type";

pub struct Lab {
    pub aws: Fixture<'static>,
    pub nodes: Vec<Instance>,
}

impl Lab {
    /// An account with the network of a cluster and two nodes.
    pub async fn start() -> Self {
        let server = tokio::task::spawn_blocking(lab::aws::Aws::shared).await.unwrap();
        let aws = Fixture::new(server).await.unwrap();
        let nodes = aws.boot(0, "t3.medium", 2).await.unwrap();
        Self { aws, nodes }
    }

    pub fn provider(&self) -> Aws {
        self.provider_with("", &open())
    }

    /// A process that was just started, with more lines in `[Global]`.
    pub fn provider_with(&self, more: &str, gate: &Gate) -> Aws {
        provider(&self.aws, more, gate)
    }

    /// A Service with these ports, whose node ports are 30000 more, on all nodes.
    pub fn service(&self, name: &str, kind: &str, ports: &[u16]) -> Spec {
        service(name, kind, ports, self.nodes.iter().map(host))
    }

    pub fn mark(&self) -> Mark {
        self.aws.account.mark().unwrap()
    }

    /// The actions since a mark: those that change something, and the others.
    pub fn actions(&self, since: Mark) -> (Vec<String>, Vec<String>) {
        let calls = self.aws.account.calls_since(since).unwrap();
        let (writes, reads): (Vec<Call>, Vec<Call>) = calls.into_iter().partition(|call| call.write);
        let names = |calls: Vec<Call>| calls.into_iter().map(|call| call.action).collect();
        (names(writes), names(reads))
    }

    /// Every call so far is one that the IAM policy allows, and is as the service models have it.
    pub async fn check_calls(&self) {
        for call in self.aws.account.calls().unwrap() {
            let Call {
                service,
                action,
                agent,
                params,
                ..
            } = call;
            let arns = params.values().filter_map(|value| value.as_str()?.split_once("arn:"));
            let kinds: BTreeSet<&str> = arns.filter_map(|(_, arn)| arn.split('/').next()).collect();
            assert!(
                action != "DescribeTags" || kinds.len() < 2,
                "objects of several kinds: {kinds:?}"
            );
            assert!(
                agent.starts_with("outrigger/") && agent.contains(" kubernetes/"),
                "{action} by {agent}"
            );
            let service = if service == "ec2" {
                "ec2"
            } else {
                "elasticloadbalancing"
            };
            let name = format!("{service}:{action}");
            assert!(
                READ.iter().chain(WRITE).any(|allowed| *allowed == name),
                "{name} is not allowed"
            );
        }
        assert_eq!(self.aws.account.problems().await.unwrap(), [""; 0]);
    }
}

/// A process that was just started, with more lines in `[Global]`.
pub fn provider(aws: &Fixture<'_>, more: &str, gate: &Gate) -> Aws {
    let text = aws.cloud_conf(more);
    let variables = aws.account.environment();
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let config = Config::new(Some(("cloud.conf", text.as_bytes())), variables, &mut Vec::new()).unwrap();
    Aws::new(config, None, gate, &prometheus::Registry::new()).unwrap()
}

/// A Service with these ports, whose node ports are 30000 more.
pub fn service(name: &str, kind: &str, ports: &[u16], hosts: impl Iterator<Item = Host>) -> Spec {
    let port = |number: &u16| Port {
        name: String::new(),
        protocol: Protocol::Tcp,
        port: *number,
        node_port: Some(30000 + number),
        app_protocol: None,
    };
    Spec {
        cluster: "kubernetes".into(),
        service: ServiceRef {
            namespace: "default".into(),
            name: name.into(),
            uid: format!("{name:0<8}-0000-4000-8000-000000000000"),
        },
        annotations: [(TYPE.to_owned(), kind.to_owned())]
            .into_iter()
            .filter(|(_, kind)| !kind.is_empty())
            .collect(),
        ports: ports.iter().map(port).collect(),
        source_ranges: vec!["0.0.0.0/0".parse().unwrap()],
        hosts: hosts.map(Arc::new).collect(),
        ..Spec::default()
    }
}

pub fn host(node: &Instance) -> Host {
    Host {
        name: node.name.clone(),
        provider_id: ProviderId::parse(format!("aws:///{}/{}", node.zone, node.id)),
        ..Host::default()
    }
}

pub fn open() -> Gate {
    Arc::new(|| Ok(()))
}

/// Lets this many writes through, as if the process were killed before the next one.
pub fn dies_after(writes: usize) -> Gate {
    let left = AtomicUsize::new(writes);
    Arc::new(move || {
        let taken = left.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        taken.map(drop).map_err(|_| Error::NotLeader)
    })
}

pub fn balancers(provider: &Aws) -> &dyn LoadBalancers {
    provider.load_balancers().unwrap()
}

/// Calls until it is done, as the controller does, and writes the result to the Service.
pub async fn ensure(provider: &Aws, spec: &mut Spec) -> cloud::Result<Notes> {
    loop {
        let Noted { answer, notes } = balancers(provider).ensure(spec).await?;
        write(spec, &notes);
        match answer {
            Progress::Done(status) => {
                spec.status = status;
                return Ok(notes);
            }
            Progress::Pending { poll_after, .. } => {
                tokio::time::sleep(poll_after.min(Duration::from_millis(100))).await;
            }
        }
    }
}

pub async fn update_hosts(provider: &Aws, spec: &mut Spec) {
    loop {
        let Noted { answer, notes } = balancers(provider).update_hosts(spec).await.unwrap();
        write(spec, &notes);
        match answer {
            Progress::Done(_) => return,
            Progress::Pending { poll_after, .. } => {
                tokio::time::sleep(poll_after.min(Duration::from_millis(100))).await;
            }
        }
    }
}

pub async fn delete(provider: &Aws, spec: &mut Spec) -> cloud::Result<()> {
    loop {
        let Noted { answer, notes } = balancers(provider).delete(spec).await?;
        write(spec, &notes);
        match answer {
            Progress::Done(()) => return Ok(()),
            Progress::Pending { poll_after, .. } => {
                tokio::time::sleep(poll_after.min(Duration::from_millis(100))).await;
            }
        }
    }
}

fn write(spec: &mut Spec, notes: &Notes) {
    for (key, value) in &notes.annotations {
        match value {
            Some(value) => spec.annotations.insert(key.clone(), value.clone()),
            None => spec.annotations.remove(key),
        };
    }
}
