//! Networks and subnets.

use crate::api::{Call, Resource, Service, Session};
use cloud::Result;
use serde::Deserialize;

/// A network.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Network {
    /// Its ID.
    pub id: String,
    /// Its name, which need not be unique.
    pub name: String,
    /// The IDs of its subnets.
    #[serde(default)]
    pub subnets: Vec<String>,
    /// Whether floating IPs come from it.
    #[serde(default, rename = "router:external")]
    pub external: bool,
}

impl Resource for Network {
    const ONE: &'static str = "network";
    const ALL: &'static str = "networks";
}

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Subnet {
    /// Its ID.
    pub id: String,
    /// Its name, which need not be unique.
    #[serde(default)]
    pub name: String,
    /// The network that it is of.
    pub network_id: String,
    /// Whose it is: that of its network.
    pub project_id: Option<String>,
    /// Its addresses.
    pub cidr: String,
    /// 4 or 6.
    pub ip_version: u8,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl Resource for Subnet {
    const ONE: &'static str = "subnet";
    const ALL: &'static str = "subnets";
}

/// `GET /networks` with these filters; a name that comes twice means either value.
pub async fn networks(session: &Session, filters: &[(&str, &str)]) -> Result<Vec<Network>> {
    let call = Call::get(Service::Network, "network_list", ["networks"]).query(filters.iter().copied());
    session.list(call).await
}

/// `GET /subnets` with these filters; a name that comes twice means either value.
pub async fn subnets(session: &Session, filters: &[(&str, &str)]) -> Result<Vec<Subnet>> {
    let call = Call::get(Service::Network, "subnet_list", ["subnets"]).query(filters.iter().copied());
    session.list(call).await
}

/// `GET /subnets/{id}`
pub async fn subnet(session: &Session, id: &str) -> Result<Option<Subnet>> {
    let call = Call::get(Service::Network, "subnet_get", ["subnets", id]).about(format!("subnet {id}"));
    session.find_object(call).await
}
