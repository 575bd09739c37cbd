//! The settings of the controller.

use crate::nodes::Scope;
use std::{collections::BTreeSet, num::NonZeroUsize, time::Duration};

/// The default number of workers. None of them waits for the cloud, so many cost little.
const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(32).expect("32 is not zero");

/// The settings of the controller.
#[derive(Debug, Clone)]
pub struct Options {
    /// `--cluster-name`.
    pub cluster: String,
    /// `--concurrent-service-syncs`; `None` for the default.
    pub concurrency: Option<NonZeroUsize>,
    /// The Services that this manager serves, by `spec.loadBalancerClass`.
    pub classes: Classes,
    /// How changes of Nodes are gathered before load balancers are updated.
    pub debounce: Debounce,
    /// The deadline of one call to the cloud.
    pub deadline: Duration,
    /// How long a new load balancer may be pending before the condition of its Service reports it. One that is ready sooner
    /// costs one write less.
    pub patience: Duration,
    /// How long a load balancer may be pending before an event reports it, for users who see only events.
    pub report_wait_after: Duration,
    /// The Nodes that can be hosts of load balancers.
    pub scope: Scope,
    /// Whether to look for load balancers whose Service does not exist.
    pub sweep: Sweep,
    /// How often each load balancer is ensured again although its Service has not changed, to repair changes that others made in
    /// the cloud; `None` for never.
    pub resync: Option<Duration>,
}

impl Options {
    /// The defaults, for this cluster.
    #[must_use]
    pub fn new(cluster: impl Into<String>) -> Self {
        Self {
            cluster: cluster.into(),
            concurrency: None,
            classes: Classes::default(),
            debounce: Debounce::default(),
            deadline: Duration::from_mins(2),
            patience: Duration::from_secs(5),
            report_wait_after: Duration::from_secs(30),
            scope: Scope::default(),
            sweep: Sweep::Off,
            resync: None,
        }
    }

    pub(super) fn workers(&self) -> NonZeroUsize {
        self.concurrency.unwrap_or(CONCURRENCY)
    }
}

/// The load-balancer classes that are served; by default only Services without a class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Classes {
    /// Values of `spec.loadBalancerClass` that are served.
    pub named: BTreeSet<String>,
    /// Whether Services without a class are served.
    pub classless: Classless,
}

impl Classes {
    /// Whether Services of this class are served.
    #[must_use]
    pub fn serve(&self, class: Option<&str>) -> bool {
        match class {
            Some(class) => self.named.contains(class),
            None => self.classless == Classless::Served,
        }
    }
}

/// Whether Services without a load-balancer class are served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Classless {
    /// Yes, as in other cloud controller managers.
    #[default]
    Served,
    /// No: they belong to another manager.
    Ignored,
}

/// Gathers changes of Nodes: load balancers are updated after `window` without another change, at the latest after `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// The time without a change.
    pub window: Duration,
    /// The longest delay of a change.
    pub max: Duration,
}

impl Default for Debounce {
    fn default() -> Self {
        Self {
            window: Duration::from_millis(500),
            max: Duration::from_secs(5),
        }
    }
}

/// Whether and how often to look for load balancers whose Service does not exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sweep {
    /// Never.
    #[default]
    Off,
    /// Report them, this often.
    Report(Duration),
    /// Report and delete them, this often.
    Delete(Duration),
}
