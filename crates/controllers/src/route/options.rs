//! The settings of the controller.

use crate::nodes::Scope;
use ipnet::IpNet;
use std::time::Duration;

/// The default deadline of one call to the cloud.
///
/// One reconciliation makes up to three calls, each for all routes. Together they stay below the five minutes after which a
/// loop counts as stuck. If a call takes longer, the next one finds the routes that it has created or deleted.
pub const DEADLINE: Duration = Duration::from_secs(90);

/// The settings of the controller.
#[derive(Debug, Clone)]
pub struct Options {
    /// `--cluster-name`.
    pub cluster: String,
    /// `--cluster-cidr`: routes to other destinations are ignored.
    pub cluster_cidrs: Vec<IpNet>,
    /// The period of the reconciliation; `None` if only changes of Nodes are handled.
    pub period: Option<Duration>,
    /// The deadline of one call to the cloud; see [`DEADLINE`].
    pub deadline: Duration,
    /// The Nodes that this manager manages.
    pub scope: Scope,
}
