//! One load balancer of a memory cloud. Pure: the time is an argument.

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

/// The shortest interval between polls.
pub(crate) const MIN_POLL: Duration = Duration::from_millis(10);

/// A load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balancer {
    /// The cloud's ID of it: `lb-<number>`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The cluster that owns it.
    pub cluster: String,
    /// The Service that owns it.
    pub service: ServiceRef,
    /// Its addresses, one a family.
    pub ips: Vec<IpAddr>,
    /// The ports it listens on.
    pub ports: Vec<Port>,
    /// The hosts behind it, sorted by name, without their labels, which this cloud does not use.
    pub hosts: Vec<Arc<Host>>,
    /// The ranges that may connect.
    pub source_ranges: Vec<IpNet>,
    /// Its session affinity.
    pub affinity: Affinity,
    /// Its traffic policy.
    pub traffic: TrafficPolicy,
    /// Its phase.
    pub phase: Phase,
}

/// The phase of a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It is being created.
    Provisioning {
        /// When it will be ready.
        until: Instant,
    },
    /// It is ready.
    Ready,
    /// It is being deleted.
    Deleting {
        /// When it will be deleted.
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
            Phase::Provisioning { until } => (until, "is being created"),
            Phase::Deleting { until } => (until, "is still being deleted"),
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

/// Applies one step; each host is stored once in `hosts`.
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
