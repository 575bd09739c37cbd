//! Octavia: load balancers, listeners, pools, members and monitors.

mod balancers;
mod body;
mod common;
mod list;
mod listeners;
mod members;
mod monitors;
mod ovn;
mod pending;
mod pools;
mod resource;
mod tree;
mod versions;
mod vip;

pub(crate) use balancers::Balancer;
pub(crate) use common::Common;
pub use common::{Operating, Provisioning};
pub(crate) use listeners::Listener;
pub(crate) use members::Member;
pub(crate) use monitors::Monitor;
pub(crate) use pools::Pool;
pub(crate) use vip::Vip;

use crate::{
    Settings,
    exchange::{Ask, Outcome, Response, unknown},
    keystone::Rights,
    neutron::Neutron,
    state::{Now, State},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Everything that Octavia has.
#[derive(Debug, Default)]
pub(crate) struct Octavia {
    pub(crate) balancers: BTreeMap<Uuid, Balancer>,
    pub(crate) listeners: BTreeMap<Uuid, Listener>,
    pub(crate) pools: BTreeMap<Uuid, Pool>,
    pub(crate) members: BTreeMap<Uuid, Member>,
    pub(crate) monitors: BTreeMap<Uuid, Monitor>,
}

/// What an answer depends on, besides what there is.
pub(crate) struct Context<'a> {
    pub(crate) settings: &'a mut Settings,
    pub(crate) neutron: &'a mut Neutron,
    pub(crate) ask: &'a Ask,
    pub(crate) now: Now,
    /// The pool whose members the request is about.
    pub(crate) pool: Option<Uuid>,
}

/// Answers a request to Octavia.
pub(crate) fn answer(state: &mut State, ask: &Ask, now: Now) -> Outcome {
    let octavia = &mut state.octavia;
    let mut context = Context {
        settings: &mut state.settings,
        neutron: &mut state.neutron,
        ask,
        now,
        pool: None,
    };
    let segments = ask.segments();
    let method = ask.method.as_str();
    match segments.as_slice() {
        [] if method == "GET" => Ok(versions::list(ask, context.settings.octavia_minor)),
        ["v2" | "v2.0"] => Ok(Response::ok(json!("v2"))),
        ["v2" | "v2.0", "lbaas", rest @ ..] => octavia.route(&mut context, method, rest),
        _ => Err(unknown(ask)),
    }
}

impl Octavia {
    fn route(&mut self, context: &mut Context<'_>, method: &str, path: &[&str]) -> Outcome {
        match path {
            ["loadbalancers", rest @ ..] => resource::answer::<Balancer>(self, context, method, rest),
            ["listeners", rest @ ..] => resource::answer::<Listener>(self, context, method, rest),
            ["pools", pool, "members", rest @ ..] => {
                context.pool = Some(members::pool(self, context, method, pool, rest)?);
                resource::answer::<Member>(self, context, method, rest)
            }
            ["pools", rest @ ..] => resource::answer::<Pool>(self, context, method, rest),
            ["healthmonitors", rest @ ..] => resource::answer::<Monitor>(self, context, method, rest),
            ["providers"] if method == "GET" => Ok(providers(context.settings)),
            ["flavors"] if method == "GET" => Ok(named("flavors", "id", &context.settings.octavia_flavors)),
            ["availabilityzones"] if method == "GET" => {
                Ok(named("availability_zones", "name", &context.settings.octavia_zones))
            }
            ["quotas", project] => quotas(context, method, project),
            ["nothing"] => Err(Response::json(
                404,
                json!({"code": 404, "title": "Not Found", "description": ""}),
            )),
            _ => Err(unknown(context.ask)),
        }
    }
}

/// A refusal in Octavia's shape.
pub(crate) fn error(status: u16, message: &str) -> Response {
    let code = if status < 500 { "Client" } else { "Server" };
    Response::json(
        status,
        json!({"faultcode": code, "faultstring": message, "debuginfo": null}),
    )
}

fn invalid(message: &str) -> Response {
    error(400, &format!("Validation failure: {message}"))
}

fn missing(what: &str, id: &str) -> Response {
    error(404, &format!("{what} {id} not found."))
}

fn immutable(what: &str, id: Uuid) -> Response {
    error(409, &format!("{what} {id} is immutable and cannot be updated."))
}

impl Context<'_> {
    /// Refuses more of a resource, if there are enough.
    fn quota<'s>(
        &self,
        key: &str,
        name: &str,
        existing: impl Iterator<Item = &'s Common>,
        more: usize,
    ) -> Result<(), Response> {
        let Some(most) = self.settings.quota(&self.ask.caller.project, key) else {
            return Ok(());
        };
        let used = existing
            .filter(|common| common.project == self.ask.caller.project)
            .count();
        if used + more <= most {
            return Ok(());
        }
        Err(error(403, &format!("Quota has been met for resources: {name}")))
    }
}

fn quotas(context: &mut Context<'_>, method: &str, project: &str) -> Outcome {
    if context.ask.caller.rights == Rights::Member {
        return Err(error(403, "Policy does not allow this request to be performed."));
    }
    match method {
        "PUT" => {
            let given = context.ask.object("quota").unwrap_or_default();
            context.settings.set_quotas(project, &given);
            Ok(Response::json(202, json!({"quota": given})))
        }
        "DELETE" => {
            context.settings.clear_quotas(project);
            Ok(Response::empty(202))
        }
        _ => Err(unknown(context.ask)),
    }
}

fn providers(settings: &Settings) -> Response {
    let view = |name: &String| json!({"name": name, "description": format!("the simulated {name} driver")});
    let views: Vec<Value> = settings.octavia_providers.iter().map(view).collect();
    Response::ok(json!({"providers": views}))
}

fn named<'a>(many: &str, key: &str, names: impl IntoIterator<Item = &'a String>) -> Response {
    let view = |name: &String| {
        let mut view = json!({"name": name, "description": "", "enabled": true});
        view[key] = json!(name);
        view
    };
    let views: Vec<Value> = names.into_iter().map(view).collect();
    Response::ok(json!({many: views, format!("{many}_links"): []}))
}
