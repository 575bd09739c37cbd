//! `DescribeNetworkInterfaces`.

use super::{filter, instances::Ipv6Address};
use crate::api::{Api, List, Page, Service};
use cloud::Result;
use serde::Deserialize;
use serde_json::json;

/// A network interface by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Interface {
    pub private_ip_address: String,
    pub private_dns_name: String,
    pub availability_zone: String,
    pub ipv6_addresses_set: List<Ipv6Address>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Interfaces {
    network_interface_set: List<Interface>,
    #[serde(default)]
    next_token: String,
}

impl Page for Interfaces {
    type Item = Interface;

    fn next(&self) -> &str {
        &self.next_token
    }

    fn items(self) -> Vec<Interface> {
        self.network_interface_set.0
    }
}

impl Api {
    /// Reads the attached interfaces of a VPC that have one of these private addresses.
    pub async fn interfaces(&self, vpc_id: &str, addresses: &[&str]) -> Result<Vec<Interface>> {
        let filters = [
            filter("attachment.status", ["attached"]),
            filter("vpc-id", [vpc_id]),
            filter("private-ip-address", addresses),
        ];
        let request = json!({"Filter": filters, "MaxResults": 1000});
        self.pages::<Interfaces>(Service::Ec2, "DescribeNetworkInterfaces", &request)
            .await
    }
}
