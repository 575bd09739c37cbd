//! Load balancers in front of Services.

use crate::{Address, ProviderId, Result};
use async_trait::async_trait;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

/// Reconciles the cloud's load balancers with Services. No call waits for the cloud: an operation that is not finished is
/// `Pending`.
#[async_trait]
pub trait LoadBalancers: Send + Sync {
    /// The name of the load balancer of this Service, whether it exists or not. Pure.
    fn name(&self, cluster: &str, service: &ServiceRef) -> String {
        let _ = cluster;
        default_name(&service.uid)
    }

    /// Whether the controller rejects Services with a source range that is not a CIDR.
    fn bad_ranges(&self) -> BadRanges {
        BadRanges::Refuse
    }

    /// Finds the load balancer of this Service; `None` only if the cloud reports that it does not exist.
    async fn find(&self, spec: &Spec) -> Result<Option<Status>>;

    /// Creates or updates the load balancer: observes once, takes the steps that are possible now, and returns whether more
    /// are needed. Safe to call again after a crash at any point.
    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>>;

    /// Replaces only the hosts of the load balancer, by all of `spec.hosts`. If it does not exist, or a part of it was deleted
    /// by another program, the error is [`crate::Error::NotFound`] (in the second case after the other parts have the hosts),
    /// and the caller ensures the whole load balancer.
    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        self.ensure(spec).await
    }

    /// Deletes the load balancer and all objects that belong to it. It is a success if they do not exist. `spec` may be out of
    /// date: the Service may have been deleted long ago.
    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>>;

    /// All objects in the cloud with this cluster's mark, to find those that a crash has left.
    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>>;
}

/// `a` and the UID without dashes, cut to 32 characters: the name that Go providers give by default.
#[must_use]
pub fn default_name(uid: &str) -> String {
    let mut name = format!("a{}", uid.replace('-', ""));
    name.truncate(32);
    name
}

/// Which Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ServiceRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID, which distinguishes Services of the same name.
    pub uid: String,
}

/// What a Service asks for, parsed once by the controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// `--cluster-name`.
    pub cluster: String,
    /// Which Service.
    pub service: ServiceRef,
    /// The Service's annotations; each provider parses its own.
    pub annotations: BTreeMap<String, String>,
    /// `spec.loadBalancerClass`.
    pub class: Option<String>,
    /// `spec.loadBalancerIP`.
    pub ip: Option<String>,
    /// The ports, in the order of the Service.
    pub ports: Vec<Port>,
    /// The networks from which clients may connect (everywhere is `0.0.0.0/0` and, for IPv6, `::/0`). Never empty, unless all
    /// are in `bad_ranges`.
    pub source_ranges: Vec<IpNet>,
    /// Where the source ranges come from.
    pub ranges_from: RangesFrom,
    /// Source ranges that are not CIDRs; always empty with [`BadRanges::Refuse`].
    pub bad_ranges: Vec<String>,
    /// Session affinity.
    pub affinity: Affinity,
    /// The external traffic policy.
    pub traffic: TrafficPolicy,
    /// `spec.ipFamilies`, the first one first.
    pub families: Vec<IpFamily>,
    /// `spec.externalIPs`.
    pub external_ips: Vec<IpAddr>,
    /// The hosts that receive traffic, sorted by name. Shared, because most Services of a cluster have the same.
    pub hosts: Arc<[Arc<Host>]>,
    /// The current status of the Service.
    pub status: Status,
}

/// Where the source ranges of a Service come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RangesFrom {
    /// In `spec.loadBalancerSourceRanges`, which takes precedence over the annotation.
    Spec,
    /// In the annotation `service.beta.kubernetes.io/load-balancer-source-ranges`.
    Annotation,
    /// Not set: clients may connect from everywhere, by each of the Service's IP families.
    #[default]
    Default,
}

/// What happens to a Service with a source range that is not a CIDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadRanges {
    /// The controller rejects the Service.
    Refuse,
    /// The provider decides: it gets them as [`Spec::bad_ranges`].
    Report,
}

/// One port of a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// The port of the load balancer.
    pub port: u16,
    /// The port of the nodes; `None` if the Service has none.
    pub node_port: Option<u16>,
    /// `appProtocol`.
    pub app_protocol: Option<String>,
}

/// The protocol of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Protocol {
    /// `TCP`
    #[default]
    Tcp,
    /// `UDP`
    Udp,
    /// `SCTP`
    Sctp,
}

impl Protocol {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

/// Session affinity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Affinity {
    /// Any connection to any host.
    #[default]
    None,
    /// A client keeps its host for this time.
    ClientIp {
        /// How long, in seconds.
        timeout_seconds: u32,
    },
}

/// `externalTrafficPolicy`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrafficPolicy {
    /// Every host forwards to every pod.
    #[default]
    Cluster,
    /// A host forwards only to its own pods, and reports on `/healthz` of this port whether it has any.
    Local {
        /// `healthCheckNodePort`; `None` if the Service has none.
        health_check_port: Option<u16>,
    },
}

/// An IP family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IpFamily {
    /// `IPv4`
    V4,
    /// `IPv6`
    V6,
}

/// A node that receives traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The Node's name.
    pub name: String,
    /// Its provider ID, once it is known.
    pub provider_id: Option<ProviderId>,
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// Its labels, for providers that select hosts by them.
    pub labels: BTreeMap<String, String>,
}

/// The progress of an operation that the cloud may not finish at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress<T> {
    /// Everything is done.
    Done(T),
    /// Steps were taken and more are needed: call again.
    Pending {
        /// When to call again.
        poll_after: Duration,
        /// What it waits for, for the Service's condition.
        waiting_for: String,
    },
}

impl<T> Progress<T> {
    /// The same progress, with another result.
    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> Progress<U> {
        match self {
            Self::Done(done) => Progress::Done(map(done)),
            Self::Pending {
                poll_after,
                waiting_for,
            } => Progress::Pending {
                poll_after,
                waiting_for,
            },
        }
    }
}

/// An answer, with notes for the Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted<T> {
    /// The answer itself.
    pub answer: T,
    /// The notes.
    pub notes: Notes,
}

impl<T> Noted<T> {
    /// The answer, with these notes.
    pub fn new(answer: T, notes: Notes) -> Self {
        Self { answer, notes }
    }
}

impl<T> From<T> for Noted<T> {
    fn from(answer: T) -> Self {
        Self::new(answer, Notes::default())
    }
}

/// Annotations and events of a provider for a Service. The controller writes them together with the status, and does not call
/// the provider because of its own writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Annotations to set or (`None`) to remove.
    pub annotations: BTreeMap<String, Option<String>>,
    /// Events for the user. Each is emitted once, until an answer does not contain it.
    pub events: Vec<Event>,
}

impl Notes {
    /// Sets an annotation.
    pub fn annotate(&mut self, key: &str, value: impl Into<String>) {
        self.annotations.insert(key.to_owned(), Some(value.into()));
    }

    /// Removes an annotation.
    pub fn remove(&mut self, key: &str) {
        self.annotations.insert(key.to_owned(), None);
    }

    /// Warns the user.
    pub fn warn(&mut self, reason: &'static str, message: impl Into<String>) {
        self.events.push(Event::warning(reason, message));
    }

    /// Informs the user of a normal event.
    pub fn inform(&mut self, reason: &'static str, message: impl Into<String>) {
        self.events.push(Event::normal(reason, message));
    }
}

/// An event on a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whether it is a warning.
    pub kind: EventKind,
    /// The event's reason, in `CamelCase`.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
}

impl Event {
    /// An event of type `Warning`.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(EventKind::Warning, reason, message)
    }

    /// An event of type `Normal`.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(EventKind::Normal, reason, message)
    }

    fn new(kind: EventKind, reason: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, reason, message }
    }
}

/// The type of an [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// `Normal`
    Normal,
    /// `Warning`
    Warning,
}

/// `status.loadBalancer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Where the Service can be reached, in order.
    pub ingress: Vec<Ingress>,
}

/// One address of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingress {
    /// Its IP address,
    pub ip: Option<String>,
    /// or its host name.
    pub hostname: Option<String>,
    /// How the address behaves; the API server defaults it to `VIP`.
    pub ip_mode: Option<IpMode>,
    /// The state of each port, on clouds that report it.
    pub ports: Vec<IngressPort>,
}

/// How traffic to a load balancer's address is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpMode {
    /// With the address as its destination: nodes may short-cut it.
    Vip,
    /// With a node or pod as its destination: nodes must send it through the load balancer.
    Proxy,
}

/// The state of one port of an ingress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IngressPort {
    /// The port.
    pub port: u16,
    /// Its protocol.
    pub protocol: Protocol,
    /// Why it does not work, if it does not.
    pub error: Option<String>,
}

/// An object in the cloud with a cluster's mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owned {
    /// What it is, for example `load balancer`.
    pub kind: String,
    /// Its ID in the cloud.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The Service that it was created for, if the mark contains it.
    pub service: Option<ServiceRef>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_name_is_cut_to_32_characters() {
        assert_eq!(
            default_name("8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e"),
            "a8c4d4a2e0b0c4f5e9a5d2d9a6f1b7c3"
        );
    }
}
