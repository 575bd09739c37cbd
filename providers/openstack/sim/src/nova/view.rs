//! A server as Nova shows it.

use super::{Server, ServerStatus, version::Version};
use crate::{exchange::Ask, glance, keystone::Rights, neutron::Neutron, timestamp};
use serde_json::{Map, Value, json};
use std::net::IpAddr;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Brief,
    Full,
}

pub(super) fn links(ask: &Ask, kind: &str, id: &str) -> Value {
    json!([
        {"rel": "self", "href": format!("{}/v2.1/{kind}/{id}", ask.base)},
        {"rel": "bookmark", "href": format!("{}/{kind}/{id}", ask.base)},
    ])
}

/// Where the next page is.
pub(super) fn next(ask: &Ask, marker: &str) -> String {
    let text = ask.query.with(&[]);
    let mut parts: Vec<String> = text
        .split('&')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    parts.sort_unstable();
    let new = format!("marker={marker}");
    match parts.iter_mut().find(|part| part.starts_with("marker=")) {
        Some(old) => *old = new,
        None => parts.push(new),
    }
    format!("{}/{}?{}", ask.base, ask.path.join("/"), parts.join("&"))
}

pub(super) fn brief(server: &Server, ask: &Ask) -> Value {
    json!({"id": server.id, "name": server.name, "links": links(ask, "servers", &server.id.to_string())})
}

/// What is common to all views but the brief one.
pub(super) fn plain(server: &Server, neutron: &Neutron, ask: &Ask, version: Version) -> Value {
    let bookmark = |kind: &str, id: &str| json!([{"rel": "bookmark", "href": format!("{}/{kind}/{id}", ask.base)}]);
    let flavor = if version >= Version(47) {
        server.flavor.embedded()
    } else {
        json!({"id": server.flavor.id, "links": bookmark("flavors", &server.flavor.id)})
    };
    let image = glance::IMAGE.to_string();
    let mut view = json!({
        "id": server.id, "name": server.name, "status": server.status.as_str(), "tenant_id": server.project,
        "user_id": server.user, "metadata": server.metadata, "hostId": host_id(&server.project),
        "image": {"id": image, "links": bookmark("images", &image)}, "flavor": flavor,
        "created": timestamp::seconds(server.created), "updated": timestamp::seconds(server.updated),
        "addresses": addresses(server, neutron),
        "accessIPv4": server.access_v4.map(|address| address.to_string()).unwrap_or_default(),
        "accessIPv6": server.access_v6.map(|address| address.to_string()).unwrap_or_default(),
        "links": links(ask, "servers", &server.id.to_string()), "OS-DCF:diskConfig": "MANUAL",
    });
    if matches!(server.status, ServerStatus::Active | ServerStatus::Build) {
        view["progress"] = json!(0);
    }
    if server.status == ServerStatus::Error {
        view["fault"] = json!({"code": 500, "created": timestamp::seconds(server.updated), "message": "simulated"});
    }
    view
}

pub(super) fn full(server: &Server, neutron: &Neutron, ask: &Ask, version: Version) -> Value {
    let mut view = plain(server, neutron, ask, version);
    let (_, vm_state, power) = server.status.words();
    let gone = server.status == ServerStatus::Deleted;
    let moment = |at| format!("{}.000000", timestamp::bare(at));
    view["OS-EXT-AZ:availability_zone"] = json!(server.zone);
    view["config_drive"] = json!("");
    view["key_name"] = Value::Null;
    view["OS-SRV-USG:launched_at"] = json!(moment(server.launched));
    view["OS-SRV-USG:terminated_at"] = if gone {
        json!(moment(server.updated))
    } else {
        Value::Null
    };
    view["OS-EXT-STS:task_state"] = Value::Null;
    view["OS-EXT-STS:vm_state"] = json!(vm_state);
    view["OS-EXT-STS:power_state"] = json!(power);
    view["os-extended-volumes:volumes_attached"] = json!([]);
    if !gone {
        view["security_groups"] = json!([{"name": "default"}]);
    }
    newer(&mut view, server, version);
    if ask.caller.rights == Rights::Admin {
        view["OS-EXT-SRV-ATTR:host"] = json!("compute-0");
        view["OS-EXT-SRV-ATTR:hypervisor_hostname"] = json!("compute-0");
        view["OS-EXT-SRV-ATTR:instance_name"] = json!("instance-00000001");
    }
    view
}

fn newer(view: &mut Value, server: &Server, version: Version) {
    let added = [
        (9, "locked", json!(false)),
        (19, "description", json!(server.name)),
        (26, "tags", json!([])),
        (63, "trusted_image_certificates", Value::Null),
        (73, "locked_reason", Value::Null),
        (90, "OS-EXT-SRV-ATTR:hostname", json!(hostname(&server.name))),
        (96, "pinned_availability_zone", Value::Null),
        (100, "scheduler_hints", json!({})),
    ];
    for (since, name, value) in added {
        if version >= Version(since) {
            view[name] = value;
        }
    }
}

/// The host name that Nova derives from a server's name.
pub(super) fn hostname(name: &str) -> String {
    name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

/// By network: the fixed ones, then the floating ones.
fn addresses(server: &Server, neutron: &Neutron) -> Value {
    let mut networks: Map<String, Value> = Map::new();
    let mut push = |network: uuid::Uuid, address: IpAddr, kind: &str, mac: &str| {
        let name = neutron
            .networks
            .get(&network)
            .map(|network| network.standard.name.to_string())
            .unwrap_or_default();
        let list = networks.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            let version = if address.is_ipv4() { 4 } else { 6 };
            list.push(
                json!({"version": version, "addr": address, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": mac}),
            );
        }
    };
    let ports: Vec<_> = neutron.ports_of(&server.id.to_string()).collect();
    for port in &ports {
        let mac = port.mac_text();
        port.fixed
            .iter()
            .for_each(|fixed| push(port.network, fixed.address, "fixed", &mac));
    }
    for port in ports {
        let mac = port.mac_text();
        for floating in neutron.floating_on(port) {
            push(port.network, floating.address, "floating", &mac);
        }
    }
    Value::Object(networks)
}

fn host_id(project: &str) -> String {
    format!("{project:0<56.56}")
}
