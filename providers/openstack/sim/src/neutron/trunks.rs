//! Trunks: ports that carry other ports.

use super::{Context, Neutron, PortStatus, Standard, body, error, list::List, standard::Resource};
use crate::exchange::{Answer, Outcome, unknown};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Trunk {
    pub(crate) id: Uuid,
    pub(crate) standard: Standard,
    pub(crate) port: Uuid,
    pub(crate) subports: Vec<SubPort>,
}

/// A port that a trunk carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubPort {
    pub(crate) port: Uuid,
    pub(crate) segment: u16,
}

impl Resource for Trunk {
    const MANY: &'static str = "trunks";
    const FILTERS: &'static [&'static str] = &["port_id"];

    fn id(&self) -> Uuid {
        self.id
    }

    fn standard(&self) -> &Standard {
        &self.standard
    }

    fn standard_mut(&mut self) -> &mut Standard {
        &mut self.standard
    }

    fn missing(id: &str) -> Answer {
        error(404, "TrunkNotFound", &format!("Trunk {id} could not be found."))
    }
}

impl Trunk {
    fn view(&self) -> Value {
        self.standard.complete(json!({
            "id": self.id, "port_id": self.port, "admin_state_up": true, "status": "ACTIVE",
            "sub_ports": self.subports.iter().map(|sub| sub.view()).collect::<Vec<_>>(),
        }))
    }
}

impl SubPort {
    fn view(self) -> Value {
        json!({"port_id": self.port, "segmentation_type": "vlan", "segmentation_id": self.segment})
    }
}

impl Neutron {
    /// Makes a port one that a trunk carries.
    pub(crate) fn carry(&mut self, port: Uuid) {
        if let Some(port) = self.ports.get_mut(&port) {
            port.device_owner = Arc::from("trunk:subport");
            port.status = PortStatus::Active;
        }
    }

    /// What a port says of the trunk that it is.
    pub(super) fn trunk_details(&self, port: Uuid) -> Option<Value> {
        let trunk = self.trunks.values().find(|trunk| trunk.port == port)?;
        let view = |sub: &SubPort| {
            let mut view = sub.view();
            view["mac_address"] = json!(self.ports.get(&sub.port).map(super::Port::mac_text));
            view
        };
        let subports: Vec<Value> = trunk.subports.iter().map(view).collect();
        Some(json!({"trunk_id": trunk.id, "sub_ports": subports}))
    }
}

pub(super) fn answer(neutron: &mut Neutron, context: &Context<'_>, method: &str, path: &[&str]) -> Outcome {
    match (method, path) {
        ("GET", []) => {
            let list = List {
                rows: neutron.trunks.values().collect(),
                passed: &[],
                limit: context.settings.neutron_page,
            };
            list.answer(context.ask, Trunk::view)
        }
        ("GET", [id]) => Ok(Answer::ok(json!({"trunk": find(neutron, context, id)?.view()}))),
        ("POST", []) => create(neutron, context),
        ("DELETE", [id]) => {
            let id = find(neutron, context, id)?.id;
            neutron.trunks.remove(&id);
            Ok(Answer::empty(204))
        }
        _ => Err(unknown(context.ask)),
    }
}

fn find<'a>(neutron: &'a Neutron, context: &Context<'_>, id: &str) -> Result<&'a Trunk, Answer> {
    let found = Uuid::parse_str(id).ok().and_then(|id| neutron.trunks.get(&id));
    found
        .filter(|trunk| trunk.visible(&context.ask.caller))
        .ok_or_else(|| Trunk::missing(id))
}

fn create(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    let known = ["port_id", "sub_ports", "name", "description", "admin_state_up"];
    let fields = body::resource(context.ask, "trunk", &known)?;
    let port = body::required_id(&fields, "port_id")?;
    neutron.port(&port.to_string(), &context.ask.caller)?;
    let mut subports = Vec::new();
    for one in fields.get("sub_ports").and_then(Value::as_array).into_iter().flatten() {
        let one = one.as_object().cloned().unwrap_or_default();
        let segment = one.get("segmentation_id").and_then(Value::as_u64).unwrap_or_default();
        let port = body::required_id(&one, "port_id")?;
        subports.push(SubPort {
            port,
            segment: u16::try_from(segment).unwrap_or_default(),
        });
    }
    let name = body::text(&fields, "name").unwrap_or_default();
    let standard = Standard::new(&context.ask.caller.project, name, context.now.wall);
    let trunk = Trunk {
        id: Uuid::new_v4(),
        standard,
        port,
        subports,
    };
    let mut view = trunk.view();
    view["status"] = json!("DOWN");
    neutron.trunks.insert(trunk.id, trunk);
    Ok(Answer::json(201, json!({"trunk": view})))
}
