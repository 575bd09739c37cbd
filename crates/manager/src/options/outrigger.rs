//! What the original program does not have.

use super::{NodeSelector, Orphans};
use controllers::{node_lifecycle::Limits, service::Sweep};
use runtime::flags::{Auto, GoDuration, Section, Strings, Switch, Value};

/// The section "Outrigger flags".
#[derive(Debug, Clone, PartialEq)]
pub struct Outrigger {
    /// Values of `spec.loadBalancerClass` that are served.
    pub load_balancer_class: Strings,
    /// Whether Services without a class are served.
    pub load_balancer_without_class: Switch,
    /// What becomes of load balancers whose Service is gone.
    pub load_balancer_orphans: Orphans,
    /// How often they are looked for.
    pub load_balancer_orphan_period: GoDuration,
    /// The nodes that are ours.
    pub node_selector: NodeSelector,
    /// The schemes of provider IDs that are ours; empty for all.
    pub provider_id_scheme: Strings,
    /// A node this young is not deleted because the cloud does not know it.
    pub node_deletion_grace_period: GoDuration,
    /// The part of all nodes that may be deleted within the window; if more vanish, the cloud is doubted.
    pub node_deletion_max_fraction: Fraction,
    /// The window.
    pub node_deletion_window: GoDuration,
    /// How long a machine must be gone, at every look, to be believed gone while the cloud is doubted.
    pub node_deletion_confirmation: GoDuration,
    /// Whether labels are kept after a node has been initialised.
    pub node_label_sync: Switch,
    /// How long a clean stop may take.
    pub shutdown_grace_period: GoDuration,
}

/// A part of all nodes: the default is softened for small clusters, what is given is obeyed to the letter.
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
    /// When deletions of nodes are held back.
    pub fn limits(&self) -> Limits {
        let Fraction(fraction) = self.node_deletion_max_fraction;
        Limits {
            fraction: fraction.nominal().into(),
            floor: fraction.given().map_or(Limits::default().floor, |_| 0),
            window: self.node_deletion_window.std(),
            confirm: self.node_deletion_confirmation.std(),
        }
    }

    /// Whether, and how often, to look for load balancers whose Service is gone.
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
                "Serve Services that name no load balancer class.",
            )
            .flag(
                "load-balancer-orphans",
                &mut self.load_balancer_orphans,
                "What becomes of load balancers of this cluster whose Service is gone, because somebody took its finalizer \
                 away or the cluster was restored from a backup: ignore, report (event, log and metric) or delete, \
                 which needs another --cluster-name than the default. What a Service of the same name may use is left alone.",
            )
            .flag(
                "load-balancer-orphan-period",
                &mut self.load_balancer_orphan_period,
                "How often to look for them.",
            )
            .flag(
                "node-selector",
                &mut self.node_selector,
                "Look after nodes with these labels only: key=value, key!=value, key in (a,b), key, !key, \
                 comma separated.",
            )
            .flag(
                "provider-id-scheme",
                &mut self.provider_id_scheme,
                "Look after nodes whose provider ID has one of these schemes only, and those without a \
                 provider ID.",
            )
            .flag(
                "node-deletion-grace-period",
                &mut self.node_deletion_grace_period,
                "Do not delete a node younger than this because the cloud does not know it.",
            )
            .flag(
                "node-deletion-max-fraction",
                &mut self.node_deletion_max_fraction,
                "Part of all nodes that may be deleted within --node-deletion-window, but at least one; if this is not \
                 given, also up to 10 that are no more than half of all. If more are gone from the cloud, it is doubted \
                 and this is said; deleted are then only those that stay gone for --node-deletion-confirmation, at that \
                 pace. 1 never doubts.",
            )
            .flag(
                "node-deletion-window",
                &mut self.node_deletion_window,
                "The time in which --node-deletion-max-fraction of the nodes may be deleted.",
            )
            .flag(
                "node-deletion-confirmation",
                &mut self.node_deletion_confirmation,
                "How long a machine must be gone, at every look, to be believed gone while the cloud is doubted.",
            )
            .flag(
                "node-label-sync",
                &mut self.node_label_sync,
                "Keep the cloud's labels on nodes that are initialised already.",
            )
            .flag(
                "shutdown-grace-period",
                &mut self.shutdown_grace_period,
                "Longest time to finish work under way when asked to stop.",
            )
    }
}
