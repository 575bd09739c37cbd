//! `DescribeInstances`.

use super::{Tag, filter};
use crate::api::{Api, List, Page, Service};
use cloud::Result;
use serde::Deserialize;
use serde_json::json;

const ACTION: &str = "DescribeInstances";

/// The states of instances that are not terminated.
const ALIVE: [&str; 5] = ["pending", "running", "shutting-down", "stopping", "stopped"];

/// An instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Instance {
    pub instance_id: String,
    pub instance_type: String,
    pub instance_state: State,
    pub placement: Placement,
    pub vpc_id: String,
    pub subnet_id: String,
    pub private_dns_name: String,
    pub dns_name: String,
    /// The public address.
    pub ip_address: String,
    pub tag_set: List<Tag>,
    pub group_set: List<Group>,
    pub network_interface_set: List<NetworkInterface>,
}

/// The state of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct State {
    pub name: String,
}

/// Where an instance is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Placement {
    pub availability_zone: String,
}

/// A security group of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Group {
    pub group_id: String,
    pub group_name: String,
}

/// A network interface of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkInterface {
    pub status: String,
    pub attachment: Option<Attachment>,
    pub private_ip_addresses_set: List<PrivateAddress>,
    pub ipv6_addresses_set: List<Ipv6Address>,
}

/// How an interface is attached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Attachment {
    pub device_index: u32,
}

/// A private IPv4 address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrivateAddress {
    pub private_ip_address: String,
}

/// An IPv6 address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ipv6Address {
    pub ipv6_address: String,
}

/// A page of reservations.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reservations {
    // Without a default: an answer without the list says nothing about any instance.
    reservation_set: List<Reservation>,
    #[serde(default)]
    next_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Reservation {
    instances_set: List<Instance>,
}

impl Page for Reservations {
    type Item = Instance;

    fn next(&self) -> &str {
        &self.next_token
    }

    fn items(self) -> Vec<Instance> {
        let reservations = self.reservation_set.into_iter();
        reservations.flat_map(|reservation| reservation.instances_set).collect()
    }
}

impl Api {
    /// Reads instances by their IDs. One that does not exist is an error for all of them.
    pub async fn instances_by_id<I: AsRef<str>>(&self, ids: &[I]) -> Result<Vec<Instance>> {
        let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
        // `MaxResults` must not be sent with IDs.
        let request = json!({"InstanceId": ids});
        self.pages::<Reservations>(Service::Ec2, ACTION, &request).await
    }

    /// Reads the instances that have one of these private DNS names and are not terminated.
    pub async fn instances_by_dns_name(&self, names: &[&str]) -> Result<Vec<Instance>> {
        self.alive_instances("private-dns-name", names).await
    }

    /// Reads the instances that have one of these private addresses and are not terminated.
    pub async fn instances_by_address(&self, addresses: &[&str]) -> Result<Vec<Instance>> {
        self.alive_instances("network-interface.addresses.private-ip-address", addresses)
            .await
    }

    async fn alive_instances(&self, name: &str, values: &[&str]) -> Result<Vec<Instance>> {
        let filters = [filter(name, values), filter("instance-state-name", ALIVE)];
        let request = json!({"Filter": filters, "MaxResults": 1000});
        self.pages::<Reservations>(Service::Ec2, ACTION, &request).await
    }
}
