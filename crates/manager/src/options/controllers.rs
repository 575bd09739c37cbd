//! The flags of single controllers, of debugging and of leader migration.

use super::{Cidrs, PrefixLength};
use controllers::node_ipam;
use runtime::flags::{Auto, GoDuration, Section, Switch};

/// The section "Debugging flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debugging {
    /// Whether `/debug/` is served.
    pub profiling: Switch,
    /// No effect.
    pub contention_profiling: Switch,
}

/// The section "Leader-migration flags".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaderMigration {
    /// Whether controllers migrate between controller managers.
    pub enabled: Switch,
    /// The file with these controllers; empty for the default.
    pub config: String,
}

/// The section "Cloud-node-controller flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeController {
    /// Nodes initialized at the same time.
    pub concurrent_syncs: Auto<i32>,
    /// Nodes whose status is updated at the same time; 0 for the same number.
    pub concurrent_status_updates: Auto<i32>,
}

/// The section "Cloud-node-lifecycle-controller flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLifecycleController {
    /// Nodes checked at the same time.
    pub concurrent_syncs: Auto<i32>,
    /// Time between checks of nodes that are not ready.
    pub monitor_period: GoDuration,
}

/// The section "Node-ipam-controller flags".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeIpamController {
    /// The networks of Services, which are not allocated to nodes.
    pub service_cidr: Cidrs,
    /// Size of a node's network in a cluster of one family.
    pub mask_size: PrefixLength,
    /// Size of a node's IPv4 network.
    pub mask_size_ipv4: PrefixLength,
    /// Size of a node's IPv6 network.
    pub mask_size_ipv6: PrefixLength,
}

/// The section "Service-lb-controller flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceController {
    /// Services reconciled at the same time.
    pub concurrent_syncs: Auto<i32>,
}

impl Default for Debugging {
    fn default() -> Self {
        Self {
            profiling: Switch::On,
            contention_profiling: Switch::Off,
        }
    }
}

impl Default for NodeController {
    fn default() -> Self {
        Self {
            concurrent_syncs: Auto::Unset(1),
            concurrent_status_updates: Auto::Unset(0),
        }
    }
}

impl Default for NodeLifecycleController {
    fn default() -> Self {
        Self {
            concurrent_syncs: Auto::Unset(1),
            monitor_period: GoDuration::from_secs(5),
        }
    }
}

impl Default for ServiceController {
    fn default() -> Self {
        Self {
            concurrent_syncs: Auto::Unset(1),
        }
    }
}

impl Debugging {
    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new("debugging")
            .flag(
                "profiling",
                &mut self.profiling,
                "Serve /debug/flags/v on the secure port. (There are no Go profiles under /debug/pprof/.)",
            )
            .flag(
                "contention-profiling",
                &mut self.contention_profiling,
                "(No effect: there is no block profile.)",
            )
    }
}

impl LeaderMigration {
    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new("leader-migration")
            .flag(
                "enable-leader-migration",
                &mut self.enabled,
                "Whether controllers migrate from one controller manager to another.",
            )
            .flag(
                "leader-migration-config",
                &mut self.config,
                "Path of a file with a LeaderMigrationConfiguration (group \
                 controllermanager.config.k8s.io, version v1) with the controllers that migrate. \
                 Empty for the usual ones.",
            )
    }
}

impl NodeController {
    /// The number of workers that update the status of nodes, if one of the two flags sets it.
    pub fn status_updates(&self) -> Option<i32> {
        self.concurrent_status_updates
            .given()
            .filter(|count| *count > 0)
            .or(self.concurrent_syncs.given())
    }

    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new("cloud-node-controller")
            .flag(
                "concurrent-node-syncs",
                &mut self.concurrent_syncs,
                "Nodes initialized at the same time. If not given, all nodes, in batches.",
            )
            .flag(
                "concurrent-node-status-updates",
                &mut self.concurrent_status_updates,
                "Nodes whose status is updated at the same time. If 0, --concurrent-node-syncs is used \
                 instead; if neither is given, all in batches.",
            )
    }
}

impl NodeLifecycleController {
    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new("cloud-node-lifecycle-controller")
            .flag(
                "concurrent-node-lifecycle-syncs",
                &mut self.concurrent_syncs,
                "Nodes checked at the same time. If not given, all nodes, in batches.",
            )
            .flag(
                "node-monitor-period",
                &mut self.monitor_period,
                "Time between checks of nodes that are not ready.",
            )
    }
}

impl NodeIpamController {
    /// The controller's settings, given the networks of the pods.
    ///
    /// # Errors
    /// All problems of the flags, one sentence each.
    pub fn settings(&self, cluster_cidr: &Cidrs) -> Result<node_ipam::Options, Vec<String>> {
        let Self {
            service_cidr,
            mask_size,
            mask_size_ipv4,
            mask_size_ipv6,
        } = self;
        let masks = node_ipam::MaskSizes {
            any: mask_size.0,
            v4: mask_size_ipv4.0,
            v6: mask_size_ipv6.0,
        };
        node_ipam::Options::new(cluster_cidr.nets(), service_cidr.nets(), masks)
    }

    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new("node-ipam-controller")
            .flag(
                "service-cluster-ip-range",
                &mut self.service_cidr,
                "Networks of the Services, comma separated; they are not allocated to nodes. Only used with \
                 --allocate-node-cidrs.",
            )
            .flag(
                "node-cidr-mask-size",
                &mut self.mask_size,
                "Prefix length of a node's network in a cluster of one family; 24 for IPv4 and 64 for \
                 IPv6 if not given.",
            )
            .flag(
                "node-cidr-mask-size-ipv4",
                &mut self.mask_size_ipv4,
                "Prefix length of a node's IPv4 network in a dual-stack cluster; 24 if not given.",
            )
            .flag(
                "node-cidr-mask-size-ipv6",
                &mut self.mask_size_ipv6,
                "Prefix length of a node's IPv6 network in a dual-stack cluster; 64 if not given.",
            )
    }
}

impl ServiceController {
    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new("service-lb-controller").flag(
            "concurrent-service-syncs",
            &mut self.concurrent_syncs,
            "Services reconciled at the same time. If not given, as many as the cloud accepts: a slow \
                 load balancer does not delay others.",
        )
    }
}
