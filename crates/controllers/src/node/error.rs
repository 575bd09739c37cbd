//! Why a Node cannot be initialized or refreshed.

use crate::{
    nodes::{self, addresses::NodeIpError},
    requeue,
};
use cloud::Retry;
use k8s_openapi::api::core::v1::Node;
use runtime::queue::Next;
use std::time::Duration;

/// The next attempt at a Node that fails until the user or the cloud changes something.
const RARELY: Duration = Duration::from_mins(5);

/// Why a Node cannot be initialized or refreshed, in words for its administrator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The cloud reports that the instance does not exist.
    #[error("the cloud has no machine with {0}")]
    NotFound(String),
    /// Neither the cloud nor the Node has a provider ID.
    #[error("neither the cloud nor the Node has a provider ID")]
    NoProviderId,
    /// The kubelet's `--node-ip` cannot be used.
    #[error(transparent)]
    NodeIp(#[from] NodeIpError),
    /// The call to the cloud failed.
    #[error("{report}")]
    Cloud {
        /// The kind of failure in one word.
        reason: &'static str,
        /// The error and its causes.
        report: String,
        /// When to try again.
        retry: Retry,
    },
    /// The API server refused the write.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// The cloud has no instance for this Node. Without a provider ID it is `found_by` its name.
    #[must_use]
    pub fn not_found(node: &Node, found_by: &str) -> Self {
        Self::NotFound(match nodes::provider_id(node) {
            Some(id) => format!("provider ID {id}"),
            None => format!("{found_by} {}", nodes::name(node)),
        })
    }

    /// The reason in the condition.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "MachineNotFound",
            Self::NoProviderId => "NoProviderID",
            Self::NodeIp(_) => "InvalidNodeIP",
            Self::Cloud { reason, .. } => reason,
            Self::Refused(_) => "WriteRefused",
        }
    }

    /// The next attempt.
    #[must_use]
    pub fn next(&self) -> Next {
        match self {
            Self::Cloud { retry, .. } => requeue::after(*retry, Next::After(RARELY)),
            _ => Next::Retry,
        }
    }
}

impl From<&cloud::Error> for Error {
    fn from(error: &cloud::Error) -> Self {
        let reason = match error {
            cloud::Error::Throttled { .. } => "CloudThrottled",
            cloud::Error::Unavailable { .. } => "CloudUnavailable",
            cloud::Error::Denied { .. } => "CloudDenied",
            _ => "CloudError",
        };
        Self::Cloud {
            reason,
            report: error.report(),
            retry: error.retry(),
        }
    }
}
