//! Creates, changes and deletes servers.

use super::{Flavor, Server, ServerStatus, error, version::Version, view};
use crate::{
    exchange::{Ask, Fields, Outcome, Response},
    neutron::{PortRequest, PortStatus},
    state::{Now, State},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use uuid::Uuid;

/// A new server.
#[derive(Debug, Clone)]
pub(crate) struct Boot {
    pub(crate) name: String,
    pub(crate) flavor: Arc<Flavor>,
    pub(crate) zone: Arc<str>,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) networks: Vec<Nic>,
    pub(crate) project: Arc<str>,
    pub(crate) user: Arc<str>,
}

/// What a server is to be connected with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Nic {
    Network(Uuid),
    Port(Uuid),
}

impl State {
    /// Makes a server that runs.
    pub(crate) fn boot(&mut self, boot: Boot, now: Now) -> Result<Uuid, Response> {
        let id = Uuid::new_v4();
        let owner: Arc<str> = format!("compute:{}", boot.zone).into();
        for nic in &boot.networks {
            match nic {
                Nic::Port(port) => self.neutron.plug_port(*port, &id.to_string(), &owner),
                Nic::Network(network) => {
                    let mut request = PortRequest::new(*network, &boot.project);
                    request.device_id = id.to_string();
                    request.device_owner = Arc::clone(&owner);
                    request.status = PortStatus::Active;
                    request.dns_name = view::hostname(&boot.name);
                    request.host = "compute-0".into();
                    self.neutron.create_port(request, now.wall)?;
                }
            }
        }
        self.nova.servers.insert(Server {
            id,
            name: boot.name.into(),
            project: boot.project,
            user: boot.user,
            status: ServerStatus::Active,
            flavor: boot.flavor,
            zone: boot.zone,
            created: now.wall,
            updated: now.wall,
            launched: now.wall,
            metadata: boot.metadata,
            access_v4: None,
            access_v6: None,
        });
        Ok(id)
    }

    /// Removes a server and its ports.
    pub(crate) fn remove_server(&mut self, id: Uuid, now: Now) {
        let ports: Vec<Uuid> = self.neutron.ports_of(&id.to_string()).map(|port| port.id).collect();
        for port in ports {
            self.neutron.drop_port(port);
        }
        if let Some(server) = self.nova.servers.get_mut(id) {
            server.status = ServerStatus::Deleted;
            server.updated = now.wall;
            server.metadata.clear();
        }
    }
}

pub(super) fn create(state: &mut State, ask: &Ask, now: Now) -> Outcome {
    let fields = ask.object("server").unwrap_or_default();
    let required = |name: &str| {
        let bad = || {
            error(
                400,
                &format!("Invalid input for field/attribute server. Value: {{}}. '{name}' is a required property"),
            )
        };
        fields.get(name).and_then(Value::as_str).ok_or_else(bad)
    };
    let (name, wanted) = (required("name")?, required("flavorRef")?);
    let flavor = state
        .nova
        .flavors
        .get(wanted)
        .ok_or_else(|| error(400, &format!("Flavor {wanted} could not be found.")))?;
    let metadata = fields.get("metadata").and_then(Value::as_object).into_iter().flatten();
    let boot = Boot {
        name: name.to_owned(),
        flavor: Arc::clone(flavor),
        zone: fields
            .get("availability_zone")
            .and_then(Value::as_str)
            .unwrap_or("nova")
            .into(),
        metadata: metadata
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect(),
        networks: nics(&fields)?,
        project: Arc::clone(&ask.caller.project),
        user: Arc::clone(&ask.caller.user_id),
    };
    let count = fields.get("min_count").and_then(Value::as_u64).unwrap_or(1);
    let mut first = None;
    for number in 1..=count {
        let name = if count == 1 {
            boot.name.clone()
        } else {
            format!("{}-{number}", boot.name)
        };
        first = first.or(Some(state.boot(Boot { name, ..boot.clone() }, now)?));
    }
    let id = first.unwrap_or_default().to_string();
    let links = view::links(ask, "servers", &id);
    let body = json!({"server": {
        "id": id, "links": links, "OS-DCF:diskConfig": "MANUAL", "security_groups": [{"name": "default"}], "adminPass": "simulated",
    }});
    Ok(Response::json(202, body).header("Location", format!("{}/v2.1/servers/{id}", ask.base)))
}

fn nics(fields: &Fields) -> Result<Vec<Nic>, Response> {
    let id = |one: &Value, name: &str| one[name].as_str().and_then(|text| Uuid::parse_str(text).ok());
    let nic = |one: &Value| {
        let found = id(one, "port")
            .map(Nic::Port)
            .or_else(|| id(one, "uuid").map(Nic::Network));
        found.ok_or_else(|| error(400, "Bad networks format"))
    };
    fields
        .get("networks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(nic)
        .collect()
}

pub(super) fn update(state: &mut State, ask: &Ask, id: &str, version: Version, now: Now) -> Outcome {
    let fields = ask.object("server").unwrap_or_default();
    let id = state.nova.server(id, &ask.caller)?.id;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let missing = || error(404, &format!("Instance {id} could not be found."));
    let server = state.nova.servers.get_mut(id).ok_or_else(missing)?;
    if let Some(name) = text("name") {
        server.name = name.into();
    }
    if let Some(address) = text("accessIPv4") {
        server.access_v4 = address.parse().ok();
    }
    if let Some(address) = text("accessIPv6") {
        server.access_v6 = address.parse().ok();
    }
    server.updated = now.wall;
    let mut view = view::plain(&*server, &state.neutron, ask, version);
    for address in view["addresses"]
        .as_object_mut()
        .into_iter()
        .flatten()
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
    {
        if let Value::Object(fields) = address {
            fields.retain(|name, _| !name.starts_with("OS-EXT"));
        }
    }
    Ok(Response::ok(json!({"server": view})))
}

pub(super) fn delete(state: &mut State, ask: &Ask, id: &str, now: Now) -> Outcome {
    let id = state.nova.server(id, &ask.caller)?.id;
    state.remove_server(id, now);
    Ok(Response::empty(204))
}

/// The actions that Nova knows and we do not.
const ACTIONS: &[&str] = &[
    "reboot",
    "rebuild",
    "resize",
    "confirmResize",
    "revertResize",
    "suspend",
    "resume",
    "shelve",
    "shelveOffload",
    "unshelve",
    "rescue",
    "unrescue",
    "lock",
    "unlock",
    "migrate",
    "evacuate",
    "createImage",
    "restore",
    "forceDelete",
    "addSecurityGroup",
    "removeSecurityGroup",
    "os-resetState",
];

pub(super) fn act(state: &mut State, ask: &Ask, id: &str, now: Now) -> Outcome {
    let id = state.nova.server(id, &ask.caller)?.id;
    let missing = || error(404, &format!("Instance {id} could not be found."));
    let server = state.nova.servers.get_mut(id).ok_or_else(missing)?;
    let body = ask.json().unwrap_or_default();
    let action = body
        .as_object()
        .and_then(|fields| fields.keys().next())
        .map(String::as_str)
        .unwrap_or_default();
    let (from, to, verb) = match action {
        "os-stop" => (ServerStatus::Active, ServerStatus::Shutoff, "stop"),
        "os-start" => (ServerStatus::Shutoff, ServerStatus::Active, "start"),
        "pause" => (ServerStatus::Active, ServerStatus::Paused, "pause"),
        "unpause" => (ServerStatus::Paused, ServerStatus::Active, "unpause"),
        action if ACTIONS.contains(&action) => return Err(crate::exchange::unknown(ask)),
        action => return Err(error(400, &format!("There is no such action: {action}"))),
    };
    if server.status != from {
        let message = format!(
            "Cannot '{verb}' instance {id} while it is in vm_state {}",
            server.status.words().1
        );
        return Err(error(409, &message));
    }
    server.status = to;
    server.updated = now.wall;
    Ok(Response::empty(202))
}
