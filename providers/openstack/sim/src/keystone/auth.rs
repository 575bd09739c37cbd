//! How a token is had, shown and given back.

use super::{Identity, Token, bad_request, catalog as endpoints, denied, scope, token::Scope};
use crate::{
    errors::keystone_error,
    exchange::{Ask, Fields, Outcome, Response},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use uuid::Uuid;

/// An authenticated user.
pub(super) struct Proof {
    pub(super) user: String,
    pub(super) methods: Vec<&'static str>,
    /// The project and roles that the proof itself is for.
    pub(super) bound: Option<(String, BTreeSet<String>)>,
    pub(super) credential: Option<String>,
    /// A token from a token does not live longer.
    pub(super) expires: Option<Timestamp>,
    pub(super) audit: Vec<String>,
}

impl Proof {
    fn by(user: &str, method: &'static str) -> Self {
        Self {
            user: user.to_owned(),
            methods: vec![method],
            bound: None,
            credential: None,
            expires: None,
            audit: Vec::new(),
        }
    }
}

pub(super) fn create(identity: &mut Identity, ask: &Ask, now: Timestamp) -> Outcome {
    let auth = ask
        .object("auth")
        .ok_or_else(|| bad_request("Expecting to find auth in request body."))?;
    let proof = prove(identity, ask, &auth, now)?;
    let (scope, project, roles) = scope::choose(identity, ask, &proof, auth.get("scope"))?;
    let lifetime = SignedDuration::try_from(identity.lifetime).unwrap_or(SignedDuration::MAX);
    let latest = now.saturating_add(lifetime).unwrap_or(Timestamp::MAX);
    let mut audit = vec![Uuid::new_v4().simple().to_string()[..22].to_owned()];
    audit.extend(proof.audit);
    let user = match &scope {
        Scope::Trust(trust) => trust.trustor.clone(),
        _ => proof.user,
    };
    let token = Token {
        user,
        scope,
        project,
        roles,
        methods: proof.methods,
        issued: now,
        expires: proof.expires.map_or(latest, |expires| expires.min(latest)),
        credential: proof.credential,
        audit,
    };
    let view = identity.view(&token, ask);
    Ok(Response::json(201, view).header("X-Subject-Token", identity.issue(token)))
}

fn prove(identity: &Identity, ask: &Ask, auth: &Fields, now: Timestamp) -> Result<Proof, Response> {
    let missing = |what: &str| bad_request(&format!("Expecting to find {what}."));
    let identity_part = auth.get("identity").ok_or_else(|| missing("identity in auth"))?;
    let methods = identity_part["methods"]
        .as_array()
        .ok_or_else(|| missing("methods in identity"))?;
    let method = methods.first().and_then(Value::as_str).unwrap_or_default();
    let given = identity_part
        .get(method)
        .ok_or_else(|| missing(&format!("{method} in identity")))?;
    let proof = match method {
        "password" => by_password(identity, &given["user"]),
        "token" => by_token(identity, given["id"].as_str().unwrap_or_default(), now),
        "application_credential" => {
            if auth.contains_key("scope") {
                return Err(scoped_credential(ask));
            }
            return by_credential(identity, ask, given);
        }
        _ => None,
    };
    proof.ok_or_else(|| denied(ask))
}

fn by_password(identity: &Identity, given: &Value) -> Option<Proof> {
    let user = find_user(identity, given)?;
    let password = given["password"].as_str()?;
    (user.password == password).then(|| Proof::by(&user.id, "password"))
}

fn by_token(identity: &Identity, text: &str, now: Timestamp) -> Option<Proof> {
    let token = identity.token(text, now)?;
    let mut methods = token.methods.clone();
    if !methods.contains(&"token") {
        methods.push("token");
    }
    Some(Proof {
        methods,
        expires: Some(token.expires),
        audit: token.audit.last().cloned().into_iter().collect(),
        ..Proof::by(&token.user, "token")
    })
}

fn by_credential(identity: &Identity, ask: &Ask, given: &Value) -> Result<Proof, Response> {
    let found = if let Some(id) = given["id"].as_str() {
        let message = format!("Could not find Application Credential: {id}.");
        let missing = || keystone_error(404, "Not Found", &message);
        identity.credentials.get(id).ok_or_else(missing)?
    } else {
        let user = find_user(identity, &given["user"]).ok_or_else(|| denied(ask))?;
        let mut all = identity.credentials.values();
        all.find(|credential| given["name"] == credential.name.as_str() && credential.user == user.id)
            .ok_or_else(|| denied(ask))?
    };
    if given["secret"] != found.secret.as_str() {
        return Err(denied(ask));
    }
    Ok(Proof {
        bound: Some((found.project.clone(), found.roles.clone())),
        credential: Some(found.id.clone()),
        ..Proof::by(&found.user, "application_credential")
    })
}

fn find_user<'a>(identity: &'a Identity, given: &Value) -> Option<&'a super::User> {
    if let Some(id) = given["id"].as_str() {
        return identity.users.get(id);
    }
    let domain = scope::domain(identity, &given["domain"])?;
    let mut users = identity.users.values();
    users.find(|user| given["name"] == user.name.as_str() && user.domain == domain)
}

fn scoped_credential(ask: &Ask) -> Response {
    let message = "Error authenticating with application credential: Application credentials cannot request a scope.";
    let body = json!({"error": {"code": 401, "identity": {}, "message": message, "title": "Unauthorized"}});
    denied(ask).with_body(body.to_string())
}

pub(super) fn show(identity: &mut Identity, ask: &Ask, now: Timestamp) -> Outcome {
    identity.caller(ask, now).ok_or_else(|| denied(ask))?;
    let text = ask.header("x-subject-token").unwrap_or_default().to_owned();
    let missing = || keystone_error(404, "Not Found", "Failed to validate token");
    let token = identity.token(&text, now).cloned().ok_or_else(missing)?;
    Ok(Response::ok(identity.view(&token, ask)).header("X-Subject-Token", text))
}

pub(super) fn revoke(identity: &mut Identity, ask: &Ask, now: Timestamp) -> Outcome {
    identity.caller(ask, now).ok_or_else(|| denied(ask))?;
    identity
        .tokens
        .remove(ask.header("x-subject-token").unwrap_or_default());
    Ok(Response::empty(204))
}

pub(super) fn catalog(identity: &Identity, ask: &Ask, now: Timestamp) -> Outcome {
    identity.caller(ask, now).ok_or_else(|| denied(ask))?;
    let view = endpoints::view(&identity.endpoints, &ask.origin);
    Ok(Response::ok(
        json!({"catalog": view, "links": {"self": format!("{}/v3/auth/catalog", ask.base)}}),
    ))
}
