//! The tags of all resources.

use super::{Context, Neutron, Standard, error, nothing, standard::Resource};
use crate::exchange::{Answer, Outcome, unknown};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

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
    let standard = match collection {
        "networks" => find(&mut neutron.networks, context, id),
        "subnets" => find(&mut neutron.subnets, context, id),
        "ports" => find(&mut neutron.ports, context, id),
        "routers" => find(&mut neutron.routers, context, id),
        "floatingips" => find(&mut neutron.floating_ips, context, id),
        "security-groups" => find(&mut neutron.groups, context, id),
        "trunks" => find(&mut neutron.trunks, context, id),
        _ => Err(unknown(context.ask)),
    }?;
    change(standard, context, rest)
}

fn find<'a, R: Resource>(
    all: &'a mut BTreeMap<Uuid, R>,
    context: &Context<'_>,
    id: &str,
) -> Result<&'a mut Standard, Answer> {
    let found = Uuid::parse_str(id).ok().and_then(|id| all.get_mut(&id));
    let visible = found.filter(|one| one.visible(&context.ask.caller));
    visible.map(Resource::standard_mut).ok_or_else(|| R::missing(id))
}

fn change(standard: &mut Standard, context: &Context<'_>, rest: &[&str]) -> Outcome {
    let missing = |tag: &str| error(404, "TagNotFound", &format!("Tag {tag} could not be found."));
    let answer = match (context.ask.method.as_str(), rest) {
        ("GET", []) => return Ok(Answer::ok(json!({"tags": standard.tags}))),
        ("GET", [tag]) if standard.tags.contains(*tag) => return Ok(Answer::empty(204)),
        ("GET", [tag]) => return Err(missing(tag)),
        ("PUT", []) => {
            let body = context.ask.json().unwrap_or_default();
            let tags = body["tags"].as_array().into_iter().flatten().filter_map(Value::as_str);
            standard.tags = tags.map(str::to_owned).collect();
            Answer::ok(json!({"tags": standard.tags}))
        }
        ("PUT", [tag]) => {
            standard.tags.insert((*tag).to_owned());
            Answer::json(201, Value::Null)
        }
        ("DELETE", []) => {
            standard.tags.clear();
            Answer::empty(204)
        }
        ("DELETE", [tag]) => {
            if !standard.tags.remove(*tag) {
                return Err(missing(tag));
            }
            Answer::empty(204)
        }
        _ => return Err(unknown(context.ask)),
    };
    standard.revision += 1;
    Ok(answer)
}
