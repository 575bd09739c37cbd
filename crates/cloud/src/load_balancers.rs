//! Load balancers in front of Services.

use crate::{Address, ProviderId, Result};
use async_trait::async_trait;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

/// Makes the cloud's load balancers match Services. No call waits for the cloud: what is not finished is `Pending`.
#[async_trait]
pub trait LoadBalancers: Send + Sync {
    /// What the load balancer of this Service is, or would be, called. Pure.
    fn name(&self, cluster: &str, service: &ServiceRef) -> String {
        let _ = cluster;
        default_name(&service.uid)
    }

    /// Whether Services with a source range that is no CIDR are refused before they come here.
    fn bad_ranges(&self) -> BadRanges {
        BadRanges::Refuse
    }

    /// Looks for the load balancer of this Service; `None` only if the cloud says that there is none.
    async fn find(&self, spec: &Spec) -> Result<Option<Status>>;

    /// Creates the load balancer or makes it match: observes once, performs what can be performed now, and says whether
    /// that was all. Safe to call again after a crash at any point.
    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>>;

    /// Replaces only the hosts behind the load balancer, by all of `spec.hosts`. One that does not exist is
    /// [`crate::Error::NotFound`], and so is, once the others have their hosts, a part of it that somebody took away: the
    /// caller then asks for the whole.
    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        self.ensure(spec).await
    }

    /// Deletes the load balancer and all that came with it. One that is gone, or half gone, is a success. `spec` may be
    /// old: the Service may have been deleted long ago.
    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>>;

    /// Everything in the cloud that bears this cluster's mark, so that a sweep can find what a crash left behind.
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
    /// Its UID: another Service of the same name has another.
    pub uid: String,
}

/// What a Service wants, parsed once by the controller.
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
    /// The ranges that may connect (everybody is `0.0.0.0/0` and, for IPv6, `::/0`). Never empty, unless all that were
    /// given are among `bad_ranges`.
    pub source_ranges: Vec<IpNet>,
    /// Where the source ranges were given.
    pub ranges_from: RangesFrom,
    /// Source ranges that are no CIDRs, as they were given; always empty with [`BadRanges::Refuse`].
    pub bad_ranges: Vec<String>,
    /// Session affinity.
    pub affinity: Affinity,
    /// Where traffic may go.
    pub traffic: TrafficPolicy,
    /// `spec.ipFamilies`, the first one first.
    pub families: Vec<IpFamily>,
    /// `spec.externalIPs`.
    pub external_ips: Vec<IpAddr>,
    /// The hosts that traffic goes to, sorted by name. Shared: most Services of a cluster have the same.
    pub hosts: Arc<[Arc<Host>]>,
    /// What the Service's status says now.
    pub status: Status,
}

/// Where the source ranges of a Service were given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RangesFrom {
    /// In `spec.loadBalancerSourceRanges`, which counts before the annotation.
    Spec,
    /// In the annotation `service.beta.kubernetes.io/load-balancer-source-ranges`.
    Annotation,
    /// Nowhere: everybody may connect, by each of the Service's IP families.
    #[default]
    Default,
}

/// What becomes of a Service with a source range that is no CIDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadRanges {
    /// The controller refuses the Service.
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
    /// The port of the nodes; `None` if the Service asked for none.
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
    /// A client stays on its host for so long.
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
    /// A host answers only for its own pods, and says on `/healthz` of this port whether it has any.
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

/// A node that traffic may go to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The Node's name.
    pub name: String,
    /// Its provider ID, once it is known.
    pub provider_id: Option<ProviderId>,
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// Its labels, for providers that choose by them.
    pub labels: BTreeMap<String, String>,
}

/// How far a call came that the cloud may not finish at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress<T> {
    /// Everything is done.
    Done(T),
    /// Steps were taken and more are needed: call again.
    Pending {
        /// When to call again.
        poll_after: Duration,
        /// What the call waits for, for the Service's condition.
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

/// An answer, and what is to be noted on the Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted<T> {
    /// The answer itself.
    pub answer: T,
    /// What is to be noted.
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

/// What a provider notes on a Service. The controller writes it together with the status, and what it wrote itself is no
/// reason to ask the provider again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Annotations to be set, or (`None`) removed.
    pub annotations: BTreeMap<String, Option<String>>,
    /// Events for the user. Each is emitted once, until an answer comes without it.
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

    /// Informs the user of what is as it should be.
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
    /// What it says.
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

/// What goes into `status.loadBalancer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Where the Service can be reached, in order.
    pub ingress: Vec<Ingress>,
}

/// One way in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingress {
    /// By this address,
    pub ip: Option<String>,
    /// or by this name.
    pub hostname: Option<String>,
    /// How the address behaves; Kubernetes fills in `VIP` when an address has none.
    pub ip_mode: Option<IpMode>,
    /// The state of each port, on clouds that say so.
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

/// Something in the cloud that bears a cluster's mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owned {
    /// What it is, for example `load balancer`.
    pub kind: String,
    /// The cloud's ID of it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The Service it was made for, as far as the mark tells.
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
