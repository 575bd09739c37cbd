//! Flags that the Go framework does not have.

use super::{NodeSelector, Orphans};
use controllers::{node_lifecycle::Limits, nodes::Scope, service::Sweep};
use runtime::flags::{Auto, GoDuration, Section, Strings, Switch, Value};
use std::time::Duration;

/// The section "Outrigger flags".
#[derive(Debug, Clone, PartialEq)]
pub struct Outrigger {
    /// Values of `spec.loadBalancerClass` that are served.
    pub load_balancer_class: Strings,
    /// Whether Services without a class are served.
    pub load_balancer_without_class: Switch,
    /// The treatment of load balancers whose Service does not exist.
    pub load_balancer_orphans: Orphans,
    /// Time between checks for them.
    pub load_balancer_orphan_period: GoDuration,
    /// How often every load balancer is compared with its Service; 0 for never.
    pub load_balancer_resync_period: GoDuration,
    /// The nodes that this manager owns.
    pub node_selector: NodeSelector,
    /// The schemes of provider IDs that this manager owns; empty for all.
    pub provider_id_scheme: Strings,
    /// The minimum age of a node that is deleted because its instance does not exist.
    pub node_deletion_grace_period: GoDuration,
    /// The fraction of all nodes that may be deleted within the window; if more instances disappear, deletions are paused.
    pub node_deletion_max_fraction: Fraction,
    /// The window.
    pub node_deletion_window: GoDuration,
    /// How long an instance must be missing, at every check, before its node is deleted while deletions are paused.
    pub node_deletion_confirmation: GoDuration,
    /// Whether labels are updated on initialized nodes.
    pub node_label_sync: Switch,
    /// The maximum time of a graceful shutdown.
    pub shutdown_grace_period: GoDuration,
}

/// A fraction of all nodes: the default is relaxed for small clusters, a given value is applied exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fraction(pub Auto<f32>);

impl Value for Fraction {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        self.0.set(given)
    }

    fn print(&self) -> String {
        self.0.nominal().print()
    }
}

impl Default for Outrigger {
    fn default() -> Self {
        Self {
            load_balancer_class: Strings::default(),
            load_balancer_without_class: Switch::On,
            load_balancer_orphans: Orphans::Ignore,
            load_balancer_orphan_period: GoDuration::from_secs(600),
            load_balancer_resync_period: GoDuration::ZERO,
            node_selector: NodeSelector::default(),
            provider_id_scheme: Strings::default(),
            node_deletion_grace_period: GoDuration::from_secs(30),
            node_deletion_max_fraction: Fraction(Auto::Unset(0.2)),
            node_deletion_window: GoDuration::from_secs(600),
            node_deletion_confirmation: GoDuration::from_secs(120),
            node_label_sync: Switch::On,
            shutdown_grace_period: GoDuration::from_secs(20),
        }
    }
}

impl Outrigger {
    /// How often every load balancer is compared with its Service, if that is requested.
    pub fn resync(&self) -> Option<Duration> {
        let period = self.load_balancer_resync_period;
        period.is_positive().then(|| period.std())
    }

    /// The nodes that this manager owns.
    pub fn scope(&self) -> Scope {
        Scope {
            selector: self.node_selector.selector().clone(),
            schemes: self.provider_id_scheme.iter().cloned().collect(),
        }
    }

    /// When deletions of nodes are paused.
    pub fn limits(&self) -> Limits {
        let Fraction(fraction) = self.node_deletion_max_fraction;
        Limits {
            fraction: fraction.nominal().into(),
            floor: fraction.given().map_or(Limits::default().floor, |_| 0),
            window: self.node_deletion_window.std(),
            confirm: self.node_deletion_confirmation.std(),
        }
    }

    /// Whether, and how often, to check for load balancers whose Service does not exist.
    pub fn sweep(&self) -> Sweep {
        let period = self.load_balancer_orphan_period.std();
        match self.load_balancer_orphans {
            Orphans::Ignore => Sweep::Off,
            Orphans::Report => Sweep::Report(period),
            Orphans::Delete => Sweep::Delete(period),
        }
    }

    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new("outrigger")
            .flag(
                "load-balancer-class",
                &mut self.load_balancer_class,
                "Values of a Service's spec.loadBalancerClass to serve, besides Services without a class.",
            )
            .flag(
                "load-balancer-without-class",
                &mut self.load_balancer_without_class,
                "Serve Services without a load balancer class.",
            )
            .flag(
                "load-balancer-orphans",
                &mut self.load_balancer_orphans,
                "Treatment of load balancers of this cluster whose Service does not exist, because its finalizer was removed \
                 or the cluster was restored from a backup: ignore, report (event, log and metric) or delete, \
                 which requires a --cluster-name other than the default. Resources that a Service of the same name may use are kept.",
            )
            .flag(
                "load-balancer-orphan-period",
                &mut self.load_balancer_orphan_period,
                "Time between checks for such load balancers.",
            )
            .flag(
                "load-balancer-resync-period",
                &mut self.load_balancer_resync_period,
                "How often every load balancer is compared with its Service and repaired, although the Service has not changed: for \
                 changes that others made in the cloud. Each comparison costs several requests to the cloud. 0 disables it.",
            )
            .flag(
                "node-selector",
                &mut self.node_selector,
                "Manage only nodes with these labels: key=value, key!=value, key in (a,b), key, !key, \
                 comma separated.",
            )
            .flag(
                "provider-id-scheme",
                &mut self.provider_id_scheme,
                "Manage only nodes whose provider ID has one of these schemes, and nodes without a \
                 provider ID.",
            )
            .flag(
                "node-deletion-grace-period",
                &mut self.node_deletion_grace_period,
                "Minimum age of a node that is deleted because its instance does not exist.",
            )
            .flag(
                "node-deletion-max-fraction",
                &mut self.node_deletion_max_fraction,
                "Fraction of all nodes that may be deleted within --node-deletion-window, but at least one; if this is not \
                 given, also up to 10 nodes that are at most half of all nodes. If more instances disappear at once, \
                 deletions are paused and a warning is emitted; a node is then deleted only after its instance has been \
                 missing for --node-deletion-confirmation, at that rate. 1 disables the check.",
            )
            .flag(
                "node-deletion-window",
                &mut self.node_deletion_window,
                "The time in which --node-deletion-max-fraction of the nodes may be deleted.",
            )
            .flag(
                "node-deletion-confirmation",
                &mut self.node_deletion_confirmation,
                "How long an instance must be missing, at every check, before its node is deleted while deletions are paused.",
            )
            .flag(
                "node-label-sync",
                &mut self.node_label_sync,
                "Update the labels of the cloud on nodes that are already initialized.",
            )
            .flag(
                "shutdown-grace-period",
                &mut self.shutdown_grace_period,
                "Maximum time to finish the work in progress after a signal to stop.",
            )
    }
}
