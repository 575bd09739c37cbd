//! What the controller can be told.

use k8s_openapi::api::core::v1::Node;
use std::{collections::BTreeSet, fmt, num::NonZeroUsize, sync::Arc, time::Duration};

/// Service syncs at the same time when nobody says how many: none of them waits, so many cost little.
const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(32).expect("32 is not zero");

/// Which nodes this manager looks after.
pub type Scope = Arc<dyn Fn(&Node) -> bool + Send + Sync>;

/// The settings of the service controller.
#[derive(Clone)]
pub struct Options {
    /// `--cluster-name`.
    pub cluster: String,
    /// `--concurrent-service-syncs`; `None` lets the controller decide.
    pub concurrency: Option<NonZeroUsize>,
    /// Which Services are ours, by their `spec.loadBalancerClass`.
    pub classes: Classes,
    /// How changes of nodes are gathered before load balancers hear of them.
    pub debounce: Debounce,
    /// How long one call of the cloud may take.
    pub deadline: Duration,
    /// How long a new load balancer may be pending before its Service says what is being waited for. One that is done
    /// sooner needs one write less.
    pub patience: Duration,
    /// Which nodes may stand behind a load balancer, besides what the nodes themselves say.
    pub scope: Scope,
    /// Whether to look for load balancers whose Service is gone.
    pub sweep: Sweep,
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
            scope: Arc::new(|_| true),
            sweep: Sweep::Off,
        }
    }

    pub(super) fn workers(&self) -> NonZeroUsize {
        self.concurrency.unwrap_or(CONCURRENCY)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cluster,
            concurrency,
            classes,
            debounce,
            deadline,
            patience,
            scope: _,
            sweep,
        } = self;
        f.debug_struct("Options")
            .field("cluster", cluster)
            .field("concurrency", concurrency)
            .field("classes", classes)
            .field("debounce", debounce)
            .field("deadline", deadline)
            .field("patience", patience)
            .field("sweep", sweep)
            .finish_non_exhaustive()
    }
}

/// The load-balancer classes that are served. By default: Services without a class, and no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Classes {
    /// Values of `spec.loadBalancerClass` that are served.
    pub named: BTreeSet<String>,
    /// Whether Services without a class are served.
    pub classless: Classless,
}

impl Classes {
    /// Whether Services of this class are ours.
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
    /// They are, as in every other cloud controller manager.
    #[default]
    Served,
    /// They belong to another manager.
    Ignored,
}

/// Gathers changes of nodes: load balancers hear of them once it has been quiet for `window`, at the latest after `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// How long it must have been quiet.
    pub window: Duration,
    /// How long a change may be held back.
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

/// Whether, and how often, to look for load balancers whose Service is gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sweep {
    /// Never.
    #[default]
    Off,
    /// Say what is found, this often.
    Report(Duration),
    /// Say what is found and delete it, this often.
    Delete(Duration),
}
