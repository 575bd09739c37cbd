//! The contract between the controllers and a cloud.
//!
//! Start with [`Provider`]. A provider describes machines ([`Instances`]), and may offer load balancers
//! ([`LoadBalancers`]) and routes ([`Routes`]). All parameters and results are plain data: a provider does not depend
//! on Kubernetes, and a controller does not depend on a provider. Nothing here does IO.

mod error;
mod instances;
mod live;
mod load_balancers;
mod node_firewall;
mod node_tags;
mod provider_id;
mod routes;

use std::sync::Arc;

pub use error::{Error, Retry, Source, report};
pub use instances::{Address, AddressKind, Answer, Detail, Instance, Instances, NodeRef, Power, ProviderIds};
pub use live::{Live, LiveData, LiveSource, ObjectRef, SecretData};
pub use load_balancers::{
    Affinity, BadRanges, Event, EventKind, Host, Ingress, IngressPort, IpFamily, IpMode, LoadBalancers, Noted, Notes,
    Owned, Port, Progress, Protocol, RangesFrom, ServiceRef, Spec, Status, TrafficPolicy, default_name,
};
pub use node_firewall::{Exposed, Exposure, NodeFirewall};
pub use node_tags::{NodeTags, TagOutcome, TagPace};
pub use provider_id::ProviderId;
pub use routes::{NewRoute, Route, RouteTarget, Routes};

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether this process may write to the cloud at this moment.
///
/// A replica that may have lost its lease must not write any more. Every provider calls the gate before each request that
/// changes something, and returns its `Err` unchanged. Without leader election it is always `Ok`.
pub type Gate = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// One cloud.
///
/// Constructors take what they need and do no IO; nothing is global.
pub trait Provider: Send + Sync + 'static {
    /// The short name: `--cloud-provider=<name>`, and the scheme of provider IDs on clouds without another scheme.
    fn name(&self) -> &'static str;

    /// The machines behind the nodes.
    fn instances(&self) -> &dyn Instances;

    /// Load balancers, if this cloud offers them.
    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        None
    }

    /// Routes between the pods of different nodes, if this cloud offers them.
    fn routes(&self) -> Option<&dyn Routes> {
        None
    }

    /// A firewall in front of the nodes, if this cloud offers one and it is configured.
    fn node_firewall(&self) -> Option<&dyn NodeFirewall> {
        None
    }

    /// Tags for the machines behind nodes, if this cloud offers them and they are configured.
    fn node_tags(&self) -> Option<&dyn NodeTags> {
        None
    }

    /// The configuration, if it can change while the process runs. There are no calls to the cloud before its first
    /// [reload](Live::reload).
    fn live(&self) -> Option<&dyn Live> {
        None
    }

    /// The component of events that the provider emits.
    fn event_source(&self) -> &'static str {
        "service-controller"
    }

    /// Whether the cloud's objects carry the mark of this cluster.
    fn cluster_mark(&self) -> ClusterMark {
        ClusterMark::Present
    }
}

/// Whether the cloud's objects carry the mark of this cluster; an unmarked cluster needs `--allow-untagged-cloud`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterMark {
    /// Objects can be distinguished from those of other clusters.
    Present,
    /// Objects of two clusters could be confused.
    Absent,
}
