//! `DescribeSubnets`.

use super::{Tag, filter};
use crate::api::{Api, List, Page, Service};
use cloud::Result;
use serde::Deserialize;
use serde_json::json;

/// A subnet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Subnet {
    pub subnet_id: String,
    pub availability_zone: String,
    pub cidr_block: String,
    pub tag_set: List<Tag>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subnets {
    subnet_set: List<Subnet>,
    #[serde(default)]
    next_token: String,
}

impl Page for Subnets {
    type Item = Subnet;

    fn next(&self) -> &str {
        &self.next_token
    }

    fn items(self) -> Vec<Subnet> {
        self.subnet_set.0
    }
}

impl Api {
    /// Reads the subnets of a VPC.
    pub async fn subnets_of(&self, vpc: &str) -> Result<Vec<Subnet>> {
        let request = json!({"Filter": [filter("vpc-id", [vpc])]});
        self.pages::<Subnets>(Service::Ec2, "DescribeSubnets", &request).await
    }
}
