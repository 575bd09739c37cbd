//! What a token is to be for.

use super::{Identity, Project, auth::Proof, denied, token::Scope};
use crate::exchange::{Ask, Response};
use serde_json::Value;
use std::collections::BTreeSet;

type Chosen = (Scope, Option<String>, BTreeSet<String>);

/// The scope of a new token: the requested one, the proof's own, or the user's default project.
pub(super) fn choose(
    identity: &Identity,
    ask: &Ask,
    proof: &Proof,
    wanted: Option<&Value>,
) -> Result<Chosen, Response> {
    let chosen = match (wanted, &proof.bound) {
        (_, Some((project, roles))) => Some((Scope::Project, Some(project.clone()), roles.clone())),
        (Some(Value::Object(scope)), None) => {
            if let Some(project) = scope.get("project") {
                find_project(identity, project).and_then(|project| granted(identity, &proof.user, project))
            } else if let Some(domain) = scope.get("domain") {
                of_domain(identity, &proof.user, domain)
            } else {
                scope
                    .get("OS-TRUST:trust")
                    .and_then(|trust| of_trust(identity, &proof.user, trust))
            }
        }
        (Some(_), None) => Some((Scope::Nothing, None, BTreeSet::new())),
        (None, None) => Some(default_scope(identity, &proof.user)),
    };
    chosen.ok_or_else(|| denied(ask))
}

fn default_scope(identity: &Identity, user: &str) -> Chosen {
    let project = identity.users.get(user).and_then(|user| user.default_project.as_ref());
    project
        .and_then(|id| identity.projects.get(id))
        .and_then(|project| granted(identity, user, project))
        .unwrap_or((Scope::Nothing, None, BTreeSet::new()))
}

fn granted(identity: &Identity, user: &str, project: &Project) -> Option<Chosen> {
    let roles = identity.users.get(user)?.grants.get(&project.id)?;
    (!roles.is_empty()).then(|| (Scope::Project, Some(project.id.clone()), roles.clone()))
}

/// Only an administrator of anything has roles in a domain here.
fn of_domain(identity: &Identity, user: &str, wanted: &Value) -> Option<Chosen> {
    let domain = domain(identity, wanted)?;
    let roles = identity
        .users
        .get(user)?
        .grants
        .values()
        .find(|roles| roles.contains("admin"))?;
    Some((Scope::Domain(domain), None, roles.clone()))
}

fn of_trust(identity: &Identity, user: &str, wanted: &Value) -> Option<Chosen> {
    let trust = identity.trusts.get(wanted["id"].as_str()?)?;
    let chosen = (
        Scope::Trust(trust.clone()),
        Some(trust.project.clone()),
        trust.roles.clone(),
    );
    (trust.trustee == user).then_some(chosen)
}

fn find_project<'a>(identity: &'a Identity, wanted: &Value) -> Option<&'a Project> {
    if let Some(id) = wanted["id"].as_str() {
        return identity.projects.get(id);
    }
    let domain = domain(identity, &wanted["domain"])?;
    let mut projects = identity.projects.values();
    projects.find(|project| wanted["name"] == project.name.as_str() && project.domain == domain)
}

/// The ID of a domain given by ID or by name.
pub(super) fn domain(identity: &Identity, wanted: &Value) -> Option<String> {
    let mut domains = identity.domains.iter();
    let found = domains.find(|domain| wanted["id"] == domain.id.as_str() || wanted["name"] == domain.name.as_str());
    found.map(|domain| domain.id.clone())
}
