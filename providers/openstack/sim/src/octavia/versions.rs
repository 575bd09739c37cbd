//! The versions of the API, and what each brought.

use crate::exchange::{Ask, Response};
use serde_json::{Value, json};

/// The attributes that came with a version; before, they are not known.
const GATES: &[(&str, u32)] = &[
    ("timeout_client_data", 1),
    ("timeout_member_connect", 1),
    ("timeout_member_data", 1),
    ("timeout_tcp_inspect", 1),
    ("tags", 5),
    ("flavor_id", 6),
    ("client_ca_tls_container_ref", 8),
    ("client_authentication", 8),
    ("client_crl_container_ref", 8),
    ("tls_container_ref", 8),
    ("ca_tls_container_ref", 8),
    ("crl_container_ref", 8),
    ("tls_enabled", 8),
    ("http_version", 10),
    ("domain_name", 10),
    ("allowed_cidrs", 12),
    ("availability_zone", 14),
    ("tls_ciphers", 15),
    ("tls_versions", 17),
    ("alpn_protocols", 20),
    ("additional_vips", 26),
    ("hsts_max_age", 27),
    ("hsts_include_subdomains", 27),
    ("hsts_preload", 27),
    ("vip_vnic_type", 28),
    ("vnic_type", 29),
    ("vip_sg_ids", 30),
];

/// When each version came.
const UPDATED: &[&str] = &[
    "2016-12-11T00:00:00Z",
    "2018-04-20T00:00:00Z",
    "2018-07-31T00:00:00Z",
    "2018-12-18T00:00:00Z",
    "2018-12-19T00:00:00Z",
    "2019-01-21T00:00:00Z",
    "2019-01-25T00:00:00Z",
    "2018-01-25T12:00:00Z",
    "2019-02-12T00:00:00Z",
    "2019-03-04T00:00:00Z",
    "2019-03-05T00:00:00Z",
    "2019-06-24T00:00:00Z",
    "2019-09-11T00:00:00Z",
    "2019-09-13T00:00:00Z",
    "2019-11-10T00:00:00Z",
    "2020-03-10T00:00:00Z",
    "2020-03-15T00:00:00Z",
    "2020-04-29T00:00:00Z",
    "2020-04-29T01:00:00Z",
    "2020-05-12T00:00:00Z",
    "2020-08-02T00:00:00Z",
    "2020-09-03T00:00:00Z",
    "2020-09-04T00:00:00Z",
    "2020-09-07T00:00:00Z",
    "2020-10-15T00:00:00Z",
    "2021-10-02T00:00:00Z",
    "2022-08-29T00:00:00Z",
    "2023-05-05T00:00:00Z",
    "2023-11-08T00:00:00Z",
    "2024-10-15T00:00:00Z",
    "2025-02-26T00:00:00Z",
];

/// Whether this version knows an attribute.
pub(super) fn knows(minor: u32, attribute: &str) -> bool {
    GATES.iter().all(|(name, since)| *name != attribute || minor >= *since)
}

/// Takes out of a view what this version does not know.
pub(super) fn gate(minor: u32, mut view: Value) -> Value {
    if let Value::Object(fields) = &mut view {
        fields.retain(|name, _| knows(minor, name));
    }
    view
}

pub(super) fn list(ask: &Ask, minor: u32) -> Response {
    let view = |(number, updated): (usize, &&str)| {
        let current = u32::try_from(number) == Ok(minor);
        json!({
            "id": format!("v2.{number}"), "status": if current { "CURRENT" } else { "SUPPORTED" }, "updated": updated,
            "links": [{"rel": "self", "href": format!("{}/v2", ask.base)}],
        })
    };
    let count = usize::try_from(minor).unwrap_or_default() + 1;
    let views: Vec<Value> = UPDATED.iter().take(count).enumerate().map(view).collect();
    Response::ok(json!({"versions": views}))
}
