//! Glance: the one image that there is.

use crate::exchange::{Ask, Outcome, Response, unknown};
use serde_json::{Value, json};
use uuid::{Uuid, uuid};

/// The image `cirros`.
pub(crate) const IMAGE: Uuid = uuid!("d7ce02c2-e581-4f55-ab5a-5d33335de1bd");

pub(crate) fn answer(ask: &Ask) -> Outcome {
    match (ask.method.as_str(), ask.segments().as_slice()) {
        ("GET", []) => Ok(versions(ask)),
        ("GET", ["v2", "images"]) => Ok(list(ask)),
        ("GET", ["v2", "images", id]) if *id == IMAGE.to_string() => Ok(Response::ok(image())),
        _ => Err(unknown(ask)),
    }
}

fn versions(ask: &Ask) -> Response {
    let links = json!([{"rel": "self", "href": format!("{}/v2/", ask.base)}]);
    Response::json(
        300,
        json!({"versions": [{"id": "v2.17", "status": "CURRENT", "links": links}]}),
    )
}

fn image() -> Value {
    json!({
        "id": IMAGE, "name": "cirros", "status": "active", "visibility": "public", "disk_format": "raw",
        "container_format": "bare", "size": 300, "min_ram": 0, "min_disk": 0, "tags": [], "protected": false,
        "self": format!("/v2/images/{IMAGE}"), "file": format!("/v2/images/{IMAGE}/file"), "schema": "/v2/schemas/image",
    })
}

fn list(ask: &Ask) -> Response {
    let wanted = ask.query.get("name").is_none_or(|name| name == "cirros");
    let images: Vec<_> = wanted.then(image).into_iter().collect();
    let query = ask.query.with(&[]);
    let first = if query.is_empty() {
        "/v2/images".to_owned()
    } else {
        format!("/v2/images?{query}")
    };
    Response::ok(json!({"images": images, "first": first, "schema": "/v2/schemas/images"}))
}
