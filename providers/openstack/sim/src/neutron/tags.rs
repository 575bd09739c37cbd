//! The tags of all resources.

use super::{
    Context, FloatingIp, Group, Network, Neutron, Port, Router, Standard, Subnet, Trunk, error, nothing,
    resource::Resource,
};
use crate::exchange::{Outcome, Response, unknown};
use serde_json::{Value, json};

pub(super) fn answer(
    neutron: &mut Neutron,
    context: &Context<'_>,
    collection: &str,
    id: &str,
    rest: &[&str],
) -> Outcome {
    if !context.is_on("standard-attr-tag") {
        return Err(nothing());
    }
    let caller = &context.ask.caller;
    let standard = match collection {
        "networks" => neutron.find_mut::<Network>(id, caller).map(Resource::standard_mut),
        "subnets" => neutron.find_mut::<Subnet>(id, caller).map(Resource::standard_mut),
        "ports" => neutron
            .find_mut::<Port>(id, caller)
            .map(Resource::standard_mut)
            .map_err(|missing| of_a_port(context, rest, missing)),
        "routers" => neutron.find_mut::<Router>(id, caller).map(Resource::standard_mut),
        "floatingips" => neutron.find_mut::<FloatingIp>(id, caller).map(Resource::standard_mut),
        "security-groups" => neutron.find_mut::<Group>(id, caller).map(Resource::standard_mut),
        "trunks" => neutron.find_mut::<Trunk>(id, caller).map(Resource::standard_mut),
        _ => Err(unknown(context.ask)),
    }?;
    change(standard, context, rest)
}

/// The real one fails on a tag for a port that does not exist.
fn of_a_port(context: &Context<'_>, rest: &[&str], missing: Response) -> Response {
    let message = "Request Failed: internal server error while processing your request.";
    match (context.ask.method.as_str(), rest) {
        ("PUT", [_]) => error(500, "HTTPInternalServerError", message),
        _ => missing,
    }
}

fn change(standard: &mut Standard, context: &Context<'_>, rest: &[&str]) -> Outcome {
    let missing = |tag: &str| error(404, "TagNotFound", &format!("Tag {tag} could not be found."));
    let answer = match (context.ask.method.as_str(), rest) {
        ("GET", []) => return Ok(Response::ok(json!({"tags": standard.tags}))),
        ("GET", [tag]) if standard.tags.contains(*tag) => return Ok(Response::empty(204)),
        ("GET", [tag]) => return Err(missing(tag)),
        ("PUT", []) => {
            let body = context.ask.json().unwrap_or_default();
            let tags = body["tags"].as_array().into_iter().flatten().filter_map(Value::as_str);
            standard.tags = tags.map(str::to_owned).collect();
            Response::ok(json!({"tags": standard.tags}))
        }
        ("PUT", [tag]) => {
            let answer = Response::json(201, Value::Null);
            if !standard.tags.insert((*tag).to_owned()) {
                return Ok(answer);
            }
            answer
        }
        ("DELETE", []) => {
            standard.tags.clear();
            Response::empty(204)
        }
        ("DELETE", [tag]) => {
            if !standard.tags.remove(*tag) {
                return Err(missing(tag));
            }
            Response::empty(204)
        }
        _ => return Err(unknown(context.ask)),
    };
    standard.revision += 1;
    Ok(answer)
}
