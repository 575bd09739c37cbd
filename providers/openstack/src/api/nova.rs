//! Nova: servers and flavors.

use super::{Call, Listed, Service, Session};
use cloud::Result;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The oldest microversion in which a server tells its flavor's name. Clouds that are older answer as they always did
/// (before 2.27 they do not know the header), or with 406.
const FLAVOR_NAMES: &str = "compute 2.47";

/// In which version Nova is to answer.
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
    /// The address that its owner gave for access.
    #[serde(default, rename = "accessIPv4")]
    pub access_ipv4: String,
    /// The same for IPv6.
    #[serde(default, rename = "accessIPv6")]
    pub access_ipv6: String,
    /// What its owner noted.
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

impl Listed for Server {
    const KEY: &'static str = "servers";
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

/// What a server tells about its flavor: its name, or its ID.
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

/// `GET /servers/{id}`
pub async fn server(session: &Session, id: &str, version: Microversion) -> Result<Option<Server>> {
    #[derive(Deserialize)]
    struct Body {
        server: Server,
    }
    let call = Call::get(Service::Compute, "server_get", ["servers", id]).about(format!("server {id}"));
    let body: Option<Body> = session.find(version.of(call)).await?;
    Ok(body.map(|body| body.server))
}

/// `GET /servers/detail`: those whose name matches a regular expression, or all.
pub async fn servers(session: &Session, name: Option<&str>, version: Microversion) -> Result<Vec<Server>> {
    let call = Call::get(Service::Compute, "server_list", ["servers", "detail"]);
    let call = call.query(name.map(|name| ("name", name)));
    session.list(version.of(call)).await
}

/// `GET /flavors/{id}`
pub async fn flavor(session: &Session, id: &str) -> Result<Option<Flavor>> {
    #[derive(Deserialize)]
    struct Body {
        flavor: Flavor,
    }
    let call = Call::get(Service::Compute, "flavor_get", ["flavors", id]).about(format!("flavor {id}"));
    let body: Option<Body> = session.find(call).await?;
    Ok(body.map(|body| body.flavor))
}

impl Microversion {
    fn of(self, call: Call) -> Call {
        match self {
            Self::Base => call,
            Self::FlavorNames => call.header("openstack-api-version", FLAVOR_NAMES),
        }
    }
}
