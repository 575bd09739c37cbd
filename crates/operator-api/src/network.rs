//! The cluster's network.

use serde::{Deserialize, Serialize};

kind! {
    /// The cluster's network. The operator reads the one named `cluster`.
    Network = "Network", "networks" { spec: Ranges, status: Ranges }
}

/// Address ranges, desired or actual.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Ranges {
    /// The address ranges of Services: one range, or two of different families with the preferred one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub service_network: Vec<String>,
}
