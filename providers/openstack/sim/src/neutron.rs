//! Neutron: networks and everything on them.

mod address;
mod body;
mod extensions;
mod floating_ips;
mod list;
mod networks;
mod ports;
mod resource;
mod routers;
mod routes;
mod rules;
mod security_groups;
mod standard;
mod subnets;
mod tags;
mod trunks;

pub(crate) use address::{Fixed, gateway};
pub(crate) use floating_ips::FloatingIp;
pub(crate) use networks::Network;
pub(crate) use ports::{Port, Request as PortRequest, Status as PortStatus, Wanted};
pub(crate) use routers::Router;
pub(crate) use routes::Route;
pub(crate) use rules::Rule;
pub(crate) use security_groups::Group;
pub(crate) use standard::Standard;
pub(crate) use subnets::Subnet;
pub(crate) use trunks::{SubPort, Trunk};

use crate::{
    Settings,
    exchange::{Ask, Outcome, Response, unknown},
    keystone::Rights,
    state::{Now, State},
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

/// Everything that Neutron has.
#[derive(Debug, Default)]
pub(crate) struct Neutron {
    pub(crate) networks: BTreeMap<Uuid, Network>,
    pub(crate) subnets: BTreeMap<Uuid, Subnet>,
    pub(crate) ports: BTreeMap<Uuid, Port>,
    /// The ports of each device; the device's ID is any text.
    pub(crate) devices: HashMap<Box<str>, Vec<Uuid>>,
    pub(crate) routers: BTreeMap<Uuid, Router>,
    pub(crate) floating_ips: BTreeMap<Uuid, FloatingIp>,
    pub(crate) groups: BTreeMap<Uuid, Group>,
    pub(crate) rules: BTreeMap<Uuid, Rule>,
    pub(crate) trunks: BTreeMap<Uuid, Trunk>,
}

/// Answers a request to Neutron.
pub(crate) fn answer(state: &mut State, ask: &Ask, now: Now) -> Outcome {
    let segments = ask.segments();
    match (ask.method.as_str(), segments.as_slice()) {
        ("GET", []) => Ok(versions(ask)),
        ("GET", ["v2.0"]) => Ok(resources(ask)),
        (method, ["v2.0", "quotas", project]) => quotas(&mut state.settings, ask, method, project),
        (method, ["v2.0", rest @ ..]) => route(&mut state.neutron, &state.settings, ask, method, rest, now),
        _ => Err(nothing()),
    }
}

fn route(neutron: &mut Neutron, settings: &Settings, ask: &Ask, method: &str, path: &[&str], now: Now) -> Outcome {
    let context = Context { settings, ask, now };
    match (method, path) {
        ("GET", ["extensions"]) => Ok(extensions::list(settings)),
        ("GET", ["extensions", alias]) => extensions::show(settings, alias),
        (_, [collection, id, "tags", rest @ ..]) => tags::answer(neutron, &context, collection, id, rest),
        (_, ["trunks", ..]) if !extensions::is_on(settings, "trunk") => Err(nothing()),
        (_, ["nothing", ..]) => Err(nothing()),
        (_, [collection, rest @ ..]) => {
            let answer = kind(collection).ok_or_else(|| unknown(ask))?;
            answer(neutron, &context, method, rest)
        }
        _ => Err(unknown(ask)),
    }
}

/// How requests about a kind are answered; the path is what comes after its name.
type Kind = fn(&mut Neutron, &Context<'_>, method: &str, path: &[&str]) -> Outcome;

/// A kind by what it is called in paths.
fn kind(collection: &str) -> Option<Kind> {
    Some(match collection {
        "networks" => resource::answer::<Network>,
        "subnets" => resource::answer::<Subnet>,
        "ports" => resource::answer::<Port>,
        "routers" => resource::answer::<Router>,
        "floatingips" => resource::answer::<FloatingIp>,
        "security-groups" => resource::answer::<Group>,
        "security-group-rules" => resource::answer::<Rule>,
        "trunks" => resource::answer::<Trunk>,
        _ => return None,
    })
}

/// What an answer depends on, besides what there is.
pub(crate) struct Context<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) ask: &'a Ask,
    pub(crate) now: Now,
}

impl Context<'_> {
    fn is_on(&self, extension: &str) -> bool {
        extensions::is_on(self.settings, extension)
    }

    /// Refuses one more of a resource, if there are enough.
    fn quota<'s>(
        &self,
        resource: &str,
        mut existing: impl Iterator<Item = &'s Standard>,
        more: usize,
    ) -> Result<(), Response> {
        let Some(most) = self.settings.quota(&self.ask.caller.project, resource) else {
            return Ok(());
        };
        let used = existing
            .by_ref()
            .filter(|standard| standard.project == self.ask.caller.project)
            .count();
        if used + more <= most {
            return Ok(());
        }
        Err(error(
            409,
            "OverQuota",
            &format!("Quota exceeded for resources: ['{resource}']."),
        ))
    }

    /// Refuses a change of another revision than the one it was meant for.
    fn guard(&self, standard: &Standard) -> Result<(), Response> {
        let Some(wanted) = self
            .ask
            .header("if-match")
            .and_then(|text| text.strip_prefix("revision_number="))
        else {
            return Ok(());
        };
        if wanted.parse() == Ok(standard.revision) {
            return Ok(());
        }
        let message = format!("Constrained to {wanted}, but current revision is {}", standard.revision);
        Err(error(412, "RevisionNumberConstraintFailed", &message))
    }
}

/// A refusal in Neutron's shape.
pub(crate) fn error(status: u16, kind: &str, message: &str) -> Response {
    Response::json(
        status,
        json!({"NeutronError": {"type": kind, "message": message, "detail": ""}}),
    )
}

fn bad_request(message: &str) -> Response {
    error(400, "HTTPBadRequest", message)
}

fn nothing() -> Response {
    error(404, "HTTPNotFound", "The resource could not be found.")
}

fn quotas(settings: &mut Settings, ask: &Ask, method: &str, project: &str) -> Outcome {
    if ask.caller.rights == Rights::Member {
        return Err(error(
            403,
            "PolicyNotAuthorized",
            "rule:update_quota is disallowed by policy",
        ));
    }
    match method {
        "PUT" => {
            let given = ask.object("quota").unwrap_or_default();
            settings.set_quotas(project, &given);
            Ok(Response::ok(json!({"quota": given})))
        }
        "DELETE" => {
            settings.clear_quotas(project);
            Ok(Response::empty(204))
        }
        _ => Err(unknown(ask)),
    }
}

fn versions(ask: &Ask) -> Response {
    let links = json!([{"rel": "self", "href": format!("{}/v2.0/", ask.base)}]);
    Response::ok(json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]}))
}

fn resources(ask: &Ask) -> Response {
    let view = |one: &str| {
        let links = json!([{"rel": "self", "href": format!("{}/v2.0/{one}s", ask.base)}]);
        json!({"name": one, "collection": format!("{one}s"), "links": links})
    };
    let views: Vec<Value> = ["network", "subnet", "subnetpool", "port"].map(view).into();
    Response::ok(json!({"resources": views}))
}
