//! Application credentials.

use super::{
    Identity, denied,
    directory::{Credential, new_id},
};
use crate::{
    errors::keystone_error,
    exchange::{Ask, Outcome, Response},
};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) fn create(identity: &mut Identity, ask: &Ask, user: &str, now: Timestamp) -> Outcome {
    let text = ask.header("x-auth-token").unwrap_or_default();
    let token = identity.token(text, now).cloned().ok_or_else(|| denied(ask))?;
    let wanted = ask.object("application_credential").unwrap_or_default();
    let name = wanted.get("name").and_then(Value::as_str).unwrap_or_default();
    if identity
        .credentials
        .values()
        .any(|other| other.user == user && other.name == name)
    {
        let message = format!(
            "Conflict occurred attempting to store application_credential - Duplicate entry found with name {name}."
        );
        return Err(keystone_error(409, "Conflict", &message));
    }
    let secret = wanted
        .get("secret")
        .and_then(Value::as_str)
        .map_or_else(|| new_id() + &new_id(), str::to_owned);
    let credential = Credential {
        id: new_id(),
        name: name.to_owned(),
        secret,
        user: user.to_owned(),
        project: token.project.clone().unwrap_or_default(),
        roles: token.roles,
    };
    let mut view = view(identity, ask, &credential);
    view["secret"] = json!(credential.secret);
    identity.credentials.insert(credential.id.clone(), credential);
    Ok(Response::json(201, json!({"application_credential": view})))
}

pub(super) fn list(identity: &mut Identity, ask: &Ask, user: &str, now: Timestamp) -> Outcome {
    identity.caller(ask, now).ok_or_else(|| denied(ask))?;
    let owned: Vec<Credential> = identity
        .credentials
        .values()
        .filter(|one| one.user == user)
        .cloned()
        .collect();
    let views: Vec<Value> = owned.iter().map(|one| view(identity, ask, one)).collect();
    let links = json!({"self": format!("{}/{}", ask.base, ask.path.join("/")), "next": null, "previous": null});
    Ok(Response::ok(json!({"application_credentials": views, "links": links})))
}

pub(super) fn delete(identity: &mut Identity, ask: &Ask, id: &str, now: Timestamp) -> Outcome {
    identity.caller(ask, now).ok_or_else(|| denied(ask))?;
    let missing = || {
        keystone_error(
            404,
            "Not Found",
            &format!("Could not find Application Credential: {id}."),
        )
    };
    identity.credentials.remove(id).ok_or_else(missing)?;
    identity
        .tokens
        .retain(|_, token| token.credential.as_deref() != Some(id));
    Ok(Response::empty(204))
}

fn view(identity: &mut Identity, ask: &Ask, credential: &Credential) -> Value {
    let role = |name: &String, id: String| {
        let options = if name.starts_with("load-balancer") {
            json!({})
        } else {
            json!({"immutable": true})
        };
        json!({"id": id, "name": name, "domain_id": null, "description": null, "options": options})
    };
    let roles: Vec<Value> = credential
        .roles
        .iter()
        .map(|name| role(name, identity.role(name)))
        .collect();
    json!({
        "id": credential.id, "name": credential.name, "description": null, "user_id": credential.user,
        "project_id": credential.project, "system": null, "expires_at": null, "unrestricted": null, "roles": roles,
        "links": {"self": format!("{}/v3/application_credentials/{}", ask.base, credential.id)},
    })
}
