//! `DescribeRouteTables`, `CreateRoute`, `DeleteRoute`, and the attribute without which an instance drops what is not for itself.

use super::{Tag, filter};
use crate::api::{Api, Done, List, Page, Service};
use cloud::Result;
use cloud_http::Idempotency;
use ipnet::IpNet;
use serde::Deserialize;
use serde_json::{Value, json};

/// A route table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteTable {
    pub route_table_id: String,
    pub vpc_id: String,
    pub route_set: List<Route>,
    pub association_set: List<Association>,
    pub tag_set: List<Tag>,
}

/// A route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Route {
    pub destination_cidr_block: String,
    pub destination_ipv6_cidr_block: String,
    pub gateway_id: String,
    pub instance_id: String,
    /// `active` or `blackhole`.
    pub state: String,
}

/// A subnet that uses a route table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Association {
    pub subnet_id: String,
    /// Whether subnets without a table of their own use it.
    pub main: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RouteTables {
    route_table_set: List<RouteTable>,
    #[serde(default)]
    next_token: String,
}

impl Page for RouteTables {
    type Item = RouteTable;

    fn next(&self) -> &str {
        &self.next_token
    }

    fn items(self) -> Vec<RouteTable> {
        self.route_table_set.0
    }
}

impl Api {
    /// Reads one route table.
    pub async fn route_table(&self, id: &str) -> Result<Vec<RouteTable>> {
        self.described_route_tables(&json!({"RouteTableId": [id]})).await
    }

    /// Reads the route tables of a VPC.
    pub async fn route_tables(&self, vpc_id: &str) -> Result<Vec<RouteTable>> {
        self.described_route_tables(&json!({"Filter": [filter("vpc-id", [vpc_id])]}))
            .await
    }

    async fn described_route_tables(&self, request: &Value) -> Result<Vec<RouteTable>> {
        self.pages::<RouteTables>(Service::Ec2, "DescribeRouteTables", request)
            .await
    }

    /// Creates a route to an instance.
    pub async fn create_route(&self, table: &str, destination: &IpNet, instance_id: &str) -> Result<()> {
        let mut request = at(table, destination);
        request["InstanceId"] = instance_id.into();
        // A second one is refused with a code of its own.
        self.done("CreateRoute", &request).await
    }

    /// Deletes a route. One that does not exist is a success.
    pub async fn delete_route(&self, table: &str, destination: &IpNet) -> Result<()> {
        let request = at(table, destination);
        self.find::<Done>(Service::Ec2, "DeleteRoute", Idempotency::Idempotent, &request)
            .await
            .map(drop)
    }

    /// Lets an instance pass on what is not for itself.
    pub async fn disable_source_dest_check(&self, instance_id: &str) -> Result<()> {
        let request = json!({"InstanceId": instance_id, "SourceDestCheck": {"Value": false}});
        self.done("ModifyInstanceAttribute", &request).await
    }

    async fn done(&self, action: &'static str, request: &Value) -> Result<()> {
        self.call::<Done>(Service::Ec2, action, Idempotency::Idempotent, request)
            .await
            .map(drop)
    }
}

fn at(table: &str, destination: &IpNet) -> Value {
    let (v4, v6) = match destination {
        IpNet::V4(net) => (Some(net.to_string()), None),
        IpNet::V6(net) => (None, Some(net.to_string())),
    };
    json!({"RouteTableId": table, "DestinationCidrBlock": v4, "DestinationIpv6CidrBlock": v6})
}
