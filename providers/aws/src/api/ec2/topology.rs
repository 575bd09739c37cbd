//! `DescribeInstanceTopology`.

use crate::api::{Api, List, Page, Service};
use cloud::Result;
use serde::Deserialize;
use serde_json::json;

/// Where an instance is in the network, from the top of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Topology {
    pub instance_id: String,
    #[serde(default)]
    pub network_node_set: List<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Topologies {
    instance_set: List<Topology>,
    #[serde(default)]
    next_token: String,
}

impl Page for Topologies {
    type Item = Topology;

    fn next(&self) -> &str {
        &self.next_token
    }

    fn items(self) -> Vec<Topology> {
        self.instance_set.0
    }
}

impl Api {
    /// Reads the topology of at most 100 instances. Those that have none are left out.
    pub async fn topology(&self, ids: &[&str]) -> Result<Vec<Topology>> {
        let request = json!({"InstanceId": ids});
        self.pages::<Topologies>(Service::Ec2, "DescribeInstanceTopology", &request)
            .await
    }
}
