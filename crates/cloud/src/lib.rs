//! The contract between the controllers and a cloud.
//!
//! Start with [`Provider`]. A provider answers questions about machines ([`Instances`]), and may offer load balancers
//! ([`LoadBalancers`]) and routes ([`Routes`]). Everything that crosses is plain data, so that a provider never sees
//! Kubernetes and a controller never sees a provider. Nothing here does IO.

mod error;
mod instances;
mod live;
mod load_balancers;
mod node_firewall;
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
pub use provider_id::ProviderId;
pub use routes::{NewRoute, Route, RouteTarget, Routes};

/// What every call answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether this process may write to the cloud at this moment.
///
/// A replica that may have lost its lease must not write any more. Every provider asks this before each call that
/// changes something; `Err` is returned to the caller unchanged. Without leader election it always answers `Ok`.
pub type Gate = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// One cloud.
///
/// Constructors take what they need and do no IO; nothing is global.
pub trait Provider: Send + Sync + 'static {
    /// The short name: `--cloud-provider=<name>`, and the scheme of provider IDs on clouds that do not say otherwise.
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

    /// The configuration, if it can change while the process runs. Nothing is asked of the cloud before it was
    /// [reloaded](Live::reload) for the first time.
    fn live(&self) -> Option<&dyn Live> {
        None
    }

    /// The component that events of this cloud come from: those that only it knows the reason of.
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
    /// Objects can be told apart from other clusters'.
    Present,
    /// Objects of two clusters could be confused.
    Absent,
}
