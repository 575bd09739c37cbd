//! Ports.

use crate::api::{Call, Deleted, Resource, Service, Session};
use cloud::Result;
use serde::{Deserialize, Serialize};

/// A port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Port {
    /// Its ID.
    pub id: String,
    /// The network that it is on.
    #[serde(default)]
    pub network_id: String,
    /// The device it is plugged into: the ID of a server, a router, ….
    #[serde(default)]
    pub device_id: String,
    /// The kind of the device: `compute:nova`, `network:router_interface`, ….
    #[serde(default)]
    pub device_owner: String,
    /// `ACTIVE`, `DOWN`, ….
    #[serde(default)]
    pub status: String,
    /// Its addresses.
    #[serde(default)]
    pub fixed_ips: Vec<FixedIp>,
    /// The IDs of its security groups.
    #[serde(default)]
    pub security_groups: Vec<String>,
    /// Whether its traffic is filtered; missing if the cloud has no such setting.
    pub port_security_enabled: Option<bool>,
    /// Addresses besides its own that it may send from.
    #[serde(default)]
    pub allowed_address_pairs: Vec<AddressPair>,
    /// Its sub-ports, if it is the parent of a trunk.
    pub trunk_details: Option<TrunkDetails>,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Grows with each change.
    pub revision_number: Option<u64>,
}

impl Resource for Port {
    const ONE: &'static str = "port";
    const ALL: &'static str = "ports";
}

/// An address of a port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FixedIp {
    /// The subnet that it is from.
    #[serde(default)]
    pub subnet_id: String,
    /// The address.
    pub ip_address: String,
}

/// An address, or range of addresses, that a port may send from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressPair {
    /// An IP or a CIDR.
    pub ip_address: String,
    /// From which MAC; the port's own if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
}

/// The trunk of a parent port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TrunkDetails {
    /// What is plugged into it.
    #[serde(default)]
    pub sub_ports: Vec<SubPort>,
}

/// A port that is plugged into another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SubPort {
    /// Its ID.
    pub port_id: String,
}

/// A change; `None` is not changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PortChange {
    /// All security groups that it is to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_groups: Option<Vec<String>>,
    /// All address pairs that it is to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_address_pairs: Option<Vec<AddressPair>>,
}

/// `GET /ports` with these filters; a name that comes twice means either value.
pub async fn ports(session: &Session, filters: &[(&str, &str)]) -> Result<Vec<Port>> {
    let call = Call::get(Service::Network, "port_list", ["ports"]).query(filters.iter().copied());
    session.list(call).await
}

/// `GET /ports/{id}`
pub async fn port(session: &Session, id: &str) -> Result<Option<Port>> {
    let call = Call::get(Service::Network, "port_get", ["ports", id]).about(format!("port {id}"));
    session.find_object(call).await
}

/// `PUT /ports/{id}`, only if it has not changed since it was read; otherwise the answer is 412.
pub async fn update(session: &Session, seen: &Port, change: &PortChange) -> Result<Port> {
    let call = Call::put(Service::Network, "port_update", ["ports", &seen.id])
        .object::<Port>(change)
        .about(format!("port {}", seen.id));
    session.object(call.if_revision(seen.revision_number)).await
}

/// `PUT /ports/{id}/tags/{tag}`
pub async fn add_tag(session: &Session, id: &str, tag: &str) -> Result<()> {
    let call = Call::put(Service::Network, "port_tag_add", ["ports", id, "tags", tag]).about(format!("port {id}"));
    session.send(call).await.map(drop)
}

/// `DELETE /ports/{id}/tags/{tag}`
pub async fn delete_tag(session: &Session, id: &str, tag: &str) -> Result<Deleted> {
    let call = Call::delete(Service::Network, "port_tag_delete", ["ports", id, "tags", tag]);
    session.delete(call.about(format!("tag {tag} of port {id}"))).await
}
