//! Trunks: ports that carry other ports.

use super::{
    Context, Neutron, Port, PortStatus, Standard, body, error,
    resource::{Resource, kept_in},
};
use crate::exchange::{Fields, Outcome, Response, unknown};
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
    const ONE: &'static str = "trunk";
    const MANY: &'static str = "trunks";
    const FILTERS: &'static [&'static str] = &["port_id"];
    const KNOWN: &'static [&'static str] = &["port_id", "sub_ports", "name", "description", "admin_state_up"];

    kept_in!(trunks);

    fn missing(id: &str) -> Response {
        error(404, "TrunkNotFound", &format!("Trunk {id} could not be found."))
    }

    fn view(&self, _: &Neutron, _: &Context<'_>) -> Value {
        self.standard.complete(json!({
            "id": self.id, "port_id": self.port, "admin_state_up": true, "status": "ACTIVE",
            "sub_ports": self.subports.iter().map(|sub| sub.view()).collect::<Vec<_>>(),
        }))
    }

    fn newborn(view: &mut Value) {
        view["status"] = json!("DOWN");
    }

    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        let port = body::required_id(fields, "port_id")?;
        neutron.find::<Port>(&port.to_string(), &context.ask.caller)?;
        let name = body::text(fields, "name").unwrap_or_default();
        let trunk = Self {
            id: Uuid::new_v4(),
            standard: Standard::new(&context.ask.caller.project, name, context.now.wall),
            port,
            subports: subports(fields)?,
        };
        let id = trunk.id;
        neutron.trunks.insert(id, trunk);
        Ok(id)
    }

    fn own(_: &mut Neutron, context: &Context<'_>, method: &str, _: &[&str]) -> Option<Outcome> {
        (method == "PUT").then(|| Err(unknown(context.ask)))
    }
}

fn subports(fields: &Fields) -> Result<Vec<SubPort>, Response> {
    let given = fields.get("sub_ports").and_then(Value::as_array).into_iter().flatten();
    let subport = |one: &Value| {
        let one = one.as_object().cloned().unwrap_or_default();
        let segment = one.get("segmentation_id").and_then(Value::as_u64).unwrap_or_default();
        Ok(SubPort {
            port: body::required_id(&one, "port_id")?,
            segment: u16::try_from(segment).unwrap_or_default(),
        })
    };
    given.map(subport).collect()
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

    /// The trunk in the view of its port.
    pub(super) fn trunk_details(&self, port: Uuid) -> Option<Value> {
        let trunk = self.trunks.values().find(|trunk| trunk.port == port)?;
        let view = |sub: &SubPort| {
            let mut view = sub.view();
            view["mac_address"] = json!(self.ports.get(&sub.port).map(Port::mac_text));
            view
        };
        let subports: Vec<Value> = trunk.subports.iter().map(view).collect();
        Some(json!({"trunk_id": trunk.id, "sub_ports": subports}))
    }
}
