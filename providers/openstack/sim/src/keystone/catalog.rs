//! Which services there are, and where.

use super::directory::new_id;
use crate::service::Service;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One place where a service can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The type of the service: `compute`, `network`, `load-balancer`, ….
    pub kind: String,
    /// The name of the service: `nova`, ….
    pub name: String,
    /// The region.
    pub region: String,
    /// `public`, `internal` or `admin`.
    pub interface: String,
    /// Where.
    pub location: Location,
    pub(crate) id: String,
}

/// Where an endpoint is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// At this path of the address at which Keystone was called.
    Here(String),
    /// At this URL.
    Url(String),
}

impl Endpoint {
    /// A place where a service can be reached.
    pub fn new(service: Service, region: &str, interface: &str, location: Location) -> Self {
        Self {
            kind: service.kind().to_owned(),
            name: service.name().to_owned(),
            region: region.to_owned(),
            interface: interface.to_owned(),
            location,
            id: new_id(),
        }
    }

    fn url(&self, origin: &str) -> String {
        match &self.location {
            Location::Here(path) => format!("{origin}{path}"),
            Location::Url(url) => url.clone(),
        }
    }
}

/// Every service at every interface of one region, all of them here.
pub(crate) fn own(region: &str) -> Vec<Endpoint> {
    at(region, &|path| Location::Here(path))
}

/// Every service at every interface of one region, all of them there.
pub(crate) fn at(region: &str, locate: &dyn Fn(String) -> Location) -> Vec<Endpoint> {
    let mut endpoints = Vec::new();
    for service in Service::ALL {
        for interface in ["public", "internal", "admin"] {
            let location = locate(format!("/{service}{}", service.version_path()));
            endpoints.push(Endpoint::new(service, region, interface, location));
        }
    }
    endpoints
}

/// The catalog of a token.
pub(crate) fn view(endpoints: &[Endpoint], origin: &str) -> Value {
    let mut services: BTreeMap<&str, (&str, Vec<Value>)> = BTreeMap::new();
    for endpoint in endpoints {
        let entry = services.entry(&endpoint.kind).or_insert((&endpoint.name, Vec::new()));
        entry.1.push(json!({
            "id": endpoint.id, "interface": endpoint.interface, "region": endpoint.region, "region_id": endpoint.region,
            "url": endpoint.url(origin),
        }));
    }
    let service = |(kind, (name, endpoints)): (&str, (&str, Vec<Value>))| {
        let id = format!(
            "{:032x}",
            kind.bytes()
                .fold(0_u128, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
        );
        json!({"id": id, "type": kind, "name": name, "endpoints": endpoints})
    };
    Value::Array(services.into_iter().map(service).collect())
}
