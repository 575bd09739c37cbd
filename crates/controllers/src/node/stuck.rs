//! Why a Node cannot be initialised, in words for the person who has to do something about it.

use crate::{
    nodes::{self, addresses::NodeIpError},
    retry,
};
use cloud::Retry;
use k8s_openapi::api::core::v1::Node;
use runtime::queue::Next;
use std::time::Duration;

/// How long a Node is left alone when asking again cannot help until somebody changes something.
const HOPELESS: Duration = Duration::from_mins(5);

/// Why a Node cannot be initialised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// The cloud says that there is no such machine.
    #[error("the cloud does not know the machine with {0}")]
    Unknown(String),
    /// Nobody says what the provider ID is.
    #[error("neither the cloud nor the Node says a provider ID")]
    NoProviderId,
    /// The kubelet was given an IP that the machine does not have.
    #[error(transparent)]
    NodeIp(#[from] NodeIpError),
    /// The cloud could not be asked.
    #[error("{report}")]
    Cloud {
        /// The kind of failure in one word.
        reason: &'static str,
        /// All that is known about it.
        report: String,
        /// When to ask again.
        retry: Retry,
    },
    /// The API server refused what was to be written.
    #[error("{0}")]
    Refused(String),
}

impl Stuck {
    /// The cloud does not know the machine of this Node.
    #[must_use]
    pub fn unknown(node: &Node) -> Self {
        Self::Unknown(match nodes::provider_id(node) {
            Some(id) => format!("provider ID {id}"),
            None => format!("name {}", nodes::name(node)),
        })
    }

    /// The reason in one word, as it stands in the condition.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "MachineNotFound",
            Self::NoProviderId => "NoProviderID",
            Self::NodeIp(_) => "InvalidNodeIP",
            Self::Cloud { reason, .. } => reason,
            Self::Refused(_) => "WriteRefused",
        }
    }

    /// When to try again.
    #[must_use]
    pub fn next(&self) -> Next {
        match self {
            Self::Cloud {
                retry: Retry::After(wait),
                ..
            } => retry::after(*wait),
            Self::Cloud {
                retry: Retry::Never, ..
            } => Next::After(HOPELESS),
            _ => Next::Retry,
        }
    }
}

impl From<&cloud::Error> for Stuck {
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
