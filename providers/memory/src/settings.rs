//! How a memory cloud behaves.

use cloud::{ClusterMark, IpMode, ProviderIds};
use ipnet::{Ipv4Net, Ipv6Net};
use std::{
    net::{Ipv4Addr, Ipv6Addr},
    time::Duration,
};

/// How a memory cloud behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a new load balancer is pending.
    pub provisioning: Duration,
    /// How long a load balancer is being deleted.
    pub deletion: Duration,
    /// Whether machines are created for nodes.
    pub auto_create: AutoCreate,
    /// Whether machines get provider IDs.
    pub provider_ids: ProviderIds,
    /// Whether the cloud offers load balancers.
    pub load_balancers: Offer,
    /// Whether the cloud offers routes.
    pub routes: Offer,
    /// Whether routes contain the addresses of the node.
    pub route_addresses: RouteAddresses,
    /// Whether objects carry the mark of the cluster.
    pub cluster_mark: ClusterMark,
    /// The IPv4 addresses of load balancers.
    pub pool_v4: Ipv4Net,
    /// The IPv6 addresses of load balancers.
    pub pool_v6: Ipv6Net,
    /// The `ipMode` of every ingress.
    pub ip_mode: Option<IpMode>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            provisioning: Duration::ZERO,
            deletion: Duration::ZERO,
            auto_create: AutoCreate::Off,
            provider_ids: ProviderIds::Given,
            load_balancers: Offer::Yes,
            routes: Offer::Yes,
            route_addresses: RouteAddresses::Untracked,
            cluster_mark: ClusterMark::Present,
            pool_v4: Ipv4Net::new_assert(Ipv4Addr::new(198, 18, 0, 0), 15),
            pool_v6: Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 64),
            ip_mode: None,
        }
    }
}

/// Whether machines are created for nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoCreate {
    /// A node without a machine is missing.
    Off,
    /// Every node gets a machine, except one whose machine was deleted. Its provider ID and addresses depend only on the
    /// node, so that two processes agree.
    On,
}

/// Whether the cloud offers a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// Whether routes contain the addresses of the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAddresses {
    /// [`cloud::Route::addresses`] is `Some`: a change of address needs a new route.
    Tracked,
    /// [`cloud::Route::addresses`] is `None`.
    Untracked,
}
