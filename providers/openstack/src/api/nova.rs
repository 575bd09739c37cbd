//! Nova: servers and flavors.

use super::{Call, Resource, Service, Session};
use cloud::Result;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The oldest microversion in which a server has its flavor's name. Older clouds answer as before (2.26 and older do not know the header), or
/// with 406.
const FLAVOR_NAMES: &str = "compute 2.47";

/// The version of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Microversion {
    /// The base version: flavors by ID.
    Base,
    /// 2.47: flavors by name.
    FlavorNames,
}

/// A server.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Server {
    /// Its ID.
    pub id: String,
    /// Its name, which need not be unique.
    pub name: String,
    /// `ACTIVE`, `SHUTOFF`, ….
    #[serde(default)]
    pub status: String,
    /// The IPv4 address for access, if its owner set one.
    #[serde(default, rename = "accessIPv4")]
    pub access_ipv4: String,
    /// The same for IPv6.
    #[serde(default, rename = "accessIPv6")]
    pub access_ipv6: String,
    /// Its metadata.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Its addresses, by the name of their network.
    #[serde(default)]
    pub addresses: BTreeMap<String, Vec<ServerAddress>>,
    /// Its zone.
    #[serde(default, rename = "OS-EXT-AZ:availability_zone")]
    pub zone: Option<String>,
    /// Its flavor.
    #[serde(default)]
    pub flavor: FlavorRef,
}

impl Resource for Server {
    const ONE: &'static str = "server";
    const ALL: &'static str = "servers";
}

/// An address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServerAddress {
    /// The IP.
    pub addr: String,
    /// `fixed` or `floating`.
    #[serde(default, rename = "OS-EXT-IPS:type")]
    pub kind: Option<String>,
}

/// The flavor of a server: its name, or its ID.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct FlavorRef {
    /// Since 2.47.
    pub original_name: Option<String>,
    /// Before 2.47.
    pub id: Option<String>,
}

/// A flavor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Flavor {
    /// Its ID.
    pub id: String,
    /// Its name.
    pub name: String,
}

impl Resource for Flavor {
    const ONE: &'static str = "flavor";
    const ALL: &'static str = "flavors";
}

/// `GET /servers/{id}`
pub async fn server(session: &Session, id: &str, version: Microversion) -> Result<Option<Server>> {
    let call = Call::get(Service::Compute, "server_get", ["servers", id]).about(format!("server {id}"));
    session.find_object(version.of(call)).await
}

/// `GET /servers/detail`: those whose name matches a regular expression, or all.
pub async fn servers(session: &Session, name: Option<&str>, version: Microversion) -> Result<Vec<Server>> {
    let call = Call::get(Service::Compute, "server_list", ["servers", "detail"]);
    let call = call.query(name.map(|name| ("name", name)));
    session.list(version.of(call)).await
}

/// `GET /flavors/{id}`
pub async fn flavor(session: &Session, id: &str) -> Result<Option<Flavor>> {
    let call = Call::get(Service::Compute, "flavor_get", ["flavors", id]).about(format!("flavor {id}"));
    session.find_object(call).await
}

impl Microversion {
    fn of(self, call: Call) -> Call {
        match self {
            Self::Base => call,
            Self::FlavorNames => call.header("openstack-api-version", FLAVOR_NAMES),
        }
    }
}
