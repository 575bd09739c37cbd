//! Flavors.

use super::{
    Nova, error,
    version::Version,
    view::{self, Detail},
};
use crate::exchange::{Ask, Outcome, Response};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many flavors a page has at most.
const PAGE: usize = 1000;

/// A size of servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flavor {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) ram: u32,
    pub(crate) vcpus: u32,
    pub(crate) disk: u32,
    pub(crate) extra_specs: BTreeMap<String, String>,
}

impl Flavor {
    fn brief(&self, ask: &Ask) -> Value {
        json!({"id": self.id, "name": self.name, "links": view::links(ask, "flavors", &self.id)})
    }

    fn full(&self, ask: &Ask, version: Version) -> Value {
        let mut view = json!({
            "id": self.id, "name": self.name, "ram": self.ram, "disk": self.disk, "vcpus": self.vcpus, "rxtx_factor": 1.0,
            "OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false, "os-flavor-access:is_public": true,
            "swap": if version < Version(75) { json!("") } else { json!(0) },
            "links": view::links(ask, "flavors", &self.id),
        });
        if version >= Version(55) {
            view["description"] = Value::Null;
        }
        if version >= Version(61) {
            view["extra_specs"] = json!(self.extra_specs);
        }
        view
    }

    /// A flavor as a server shows its own.
    pub(super) fn embedded(&self) -> Value {
        json!({
            "vcpus": self.vcpus, "ram": self.ram, "disk": self.disk, "ephemeral": 0, "swap": 0, "original_name": self.name,
            "extra_specs": self.extra_specs,
        })
    }
}

pub(super) fn list(nova: &Nova, ask: &Ask, detail: Detail, version: Version) -> Response {
    let mut flavors: Vec<&Flavor> = nova.flavors.values().map(AsRef::as_ref).collect();
    let least: u32 = ask
        .query
        .get("minRam")
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    flavors.retain(|flavor| flavor.ram >= least);
    if ask.query.get("sort_key") == Some("memory_mb") {
        flavors.sort_by_key(|flavor| flavor.ram);
    }
    let limit: usize = ask
        .query
        .get("limit")
        .and_then(|text| text.parse().ok())
        .unwrap_or(PAGE)
        .min(PAGE);
    let marker = ask
        .query
        .get("marker")
        .and_then(|id| flavors.iter().position(|flavor| flavor.id == id));
    let page: Vec<&Flavor> = flavors
        .into_iter()
        .skip(marker.map_or(0, |at| at + 1))
        .take(limit)
        .collect();
    let next = page
        .last()
        .filter(|_| page.len() == limit)
        .map(|last| view::next(ask, &last.id));
    let views: Vec<Value> = page
        .into_iter()
        .map(|flavor| match detail {
            Detail::Brief => flavor.brief(ask),
            Detail::Full => flavor.full(ask, version),
        })
        .collect();
    let mut body = json!({"flavors": views});
    if let Some(next) = next {
        body["flavors_links"] = json!([{"rel": "next", "href": next}]);
    }
    Response::ok(body)
}

pub(super) fn show(nova: &Nova, ask: &Ask, id: &str, version: Version) -> Outcome {
    let missing = || error(404, &format!("Flavor {id} could not be found."));
    let flavor = nova.flavors.get(id).ok_or_else(missing)?;
    Ok(Response::ok(json!({"flavor": flavor.full(ask, version)})))
}
