//! One load balancer of a memory cloud. Pure: the time is told.

use crate::{Settings, Step, plan::same_host};
use cloud::{Affinity, Host, Ingress, Owned, Port, Progress, ServiceRef, Status, TrafficPolicy};
use ipnet::IpNet;
use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// Nobody should poll faster than this.
pub(crate) const MIN_POLL: Duration = Duration::from_millis(10);

/// A load balancer, as its operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balancer {
    /// The cloud's ID of it: `lb-<number>`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The cluster whose mark it bears.
    pub cluster: String,
    /// The Service whose mark it bears.
    pub service: ServiceRef,
    /// Its addresses, one a family.
    pub ips: Vec<IpAddr>,
    /// The ports it listens on.
    pub ports: Vec<Port>,
    /// The hosts behind it, sorted by name, without their labels: this cloud does not choose by them.
    pub hosts: Vec<Arc<Host>>,
    /// Who may connect.
    pub source_ranges: Vec<IpNet>,
    /// Its session affinity.
    pub affinity: Affinity,
    /// Its traffic policy.
    pub traffic: TrafficPolicy,
    /// How far it is.
    pub phase: Phase,
}

/// How far a load balancer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It is being made, until then.
    Provisioning {
        /// When it will be ready.
        until: Instant,
    },
    /// It works.
    Ready,
    /// It is going away, until then.
    Deleting {
        /// When it will be gone.
        until: Instant,
    },
}

impl Balancer {
    /// The names of the hosts, sorted.
    pub fn host_names(&self) -> Vec<&str> {
        self.hosts.iter().map(|host| host.name.as_str()).collect()
    }

    pub(crate) fn status(&self, settings: &Settings) -> Status {
        let ingress = |ip: &IpAddr| Ingress {
            ip: Some(ip.to_string()),
            ip_mode: settings.ip_mode,
            ..Ingress::default()
        };
        Status {
            ingress: self.ips.iter().map(ingress).collect(),
        }
    }

    pub(crate) fn progress(&self, now: Instant, settings: &Settings) -> Progress<Status> {
        let (until, doing) = match self.phase {
            Phase::Ready => return Progress::Done(self.status(settings)),
            Phase::Provisioning { until } => (until, "is being made"),
            Phase::Deleting { until } => (until, "is still going away"),
        };
        let waiting_for = format!("load balancer {} {doing}", self.name);
        Progress::Pending {
            poll_after: until.duration_since(now).max(MIN_POLL),
            waiting_for,
        }
    }
}

pub(crate) fn owned(balancer: &Balancer) -> Owned {
    Owned {
        kind: "load balancer".into(),
        id: balancer.id.clone(),
        name: balancer.name.clone(),
        service: Some(balancer.service.clone()),
    }
}

/// Takes one step; each host is kept once in `hosts`.
pub(crate) fn apply(balancer: &mut Balancer, step: &Step, hosts: &mut HashMap<String, Arc<Host>>) {
    match step {
        Step::Create | Step::Readdress => {}
        Step::RemovePort(port) => balancer.ports.retain(|other| other != port),
        Step::AddPort(port) => balancer.ports.push(port.clone()),
        Step::RemoveHost(name) => {
            if let Ok(index) = position(&balancer.hosts, name) {
                balancer.hosts.remove(index);
            }
        }
        Step::AddHost(host) => {
            let host = intern(hosts, host);
            match position(&balancer.hosts, &host.name) {
                Ok(index) => balancer.hosts[index] = host,
                Err(index) => balancer.hosts.insert(index, host),
            }
        }
        Step::SourceRanges(ranges) => balancer.source_ranges.clone_from(ranges),
        Step::Affinity(affinity) => balancer.affinity = *affinity,
        Step::Traffic(traffic) => balancer.traffic = *traffic,
    }
}

/// Where the host of this name is, or would be.
fn position(hosts: &[Arc<Host>], name: &str) -> Result<usize, usize> {
    hosts.binary_search_by(|host| host.name.as_str().cmp(name))
}

fn intern(hosts: &mut HashMap<String, Arc<Host>>, host: &Host) -> Arc<Host> {
    match hosts.get(&host.name) {
        Some(known) if same_host(known, host) => known.clone(),
        _ => {
            let new = Arc::new(Host {
                labels: BTreeMap::new(),
                ..host.clone()
            });
            hosts.insert(host.name.clone(), new.clone());
            new
        }
    }
}
