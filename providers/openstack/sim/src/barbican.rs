//! Barbican: secrets and containers exist, or they do not.

use crate::exchange::{Ask, Outcome, Response, unknown};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

/// What there is in the store.
#[derive(Debug, Default)]
pub(crate) struct Barbican {
    pub(crate) secrets: BTreeMap<Uuid, String>,
    pub(crate) containers: BTreeMap<Uuid, String>,
}

impl Barbican {
    pub(crate) fn answer(&self, ask: &Ask) -> Outcome {
        match (ask.method.as_str(), ask.segments().as_slice()) {
            ("GET", []) => Ok(versions(ask)),
            ("GET", ["v1", kind @ ("secrets" | "containers"), id]) => self.show(ask, kind, id),
            _ => Err(unknown(ask)),
        }
    }

    fn show(&self, ask: &Ask, kind: &str, id: &str) -> Outcome {
        let (store, one) = match kind {
            "secrets" => (&self.secrets, "Secret"),
            _ => (&self.containers, "Container"),
        };
        let found = Uuid::parse_str(id)
            .ok()
            .and_then(|id| store.get(&id).map(|name| (id, name)));
        let missing = || {
            error(
                404,
                "Not Found",
                &format!("Not Found. Sorry but your {} is in another castle.", one.to_lowercase()),
            )
        };
        let (id, name) = found.ok_or_else(missing)?;
        Ok(Response::ok(view(kind, &format!("{}/v1/{kind}/{id}", ask.base), name)))
    }
}

fn view(kind: &str, reference: &str, name: &str) -> Value {
    match kind {
        "secrets" => json!({
            "secret_ref": reference, "name": name, "status": "ACTIVE", "secret_type": "certificate", "algorithm": null,
            "bit_length": null, "mode": null, "expiration": null, "content_types": {"default": "text/plain"},
        }),
        _ => {
            json!({"container_ref": reference, "name": name, "status": "ACTIVE", "type": "certificate", "secret_refs": [], "consumers": []})
        }
    }
}

fn versions(ask: &Ask) -> Response {
    let links = json!([{"rel": "self", "href": format!("{}/v1/", ask.base)}]);
    let media = json!([{"base": "application/json", "type": "application/vnd.openstack.key-manager-v1+json"}]);
    let v1 = json!({"id": "v1", "status": "CURRENT", "updated": "2015-04-28T00:00:00Z", "links": links, "media-types": media});
    Response::json(300, json!({"versions": {"values": [v1]}}))
}

fn error(status: u16, title: &str, description: &str) -> Response {
    Response::json(
        status,
        json!({"code": status, "title": title, "description": description}),
    )
}
