//! Tokens.

use super::{Identity, Trust, catalog, directory::new_id};
use crate::{exchange::Ask, timestamp};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A token that was given.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) user: String,
    pub(crate) scope: Scope,
    pub(crate) project: Option<String>,
    pub(crate) methods: Vec<&'static str>,
    pub(crate) roles: BTreeSet<String>,
    pub(crate) issued: Timestamp,
    pub(crate) expires: Timestamp,
    /// The application credential that it came from.
    pub(crate) credential: Option<String>,
    pub(crate) audit: Vec<String>,
}

/// What a token is for.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    Nothing,
    Project,
    Domain(String),
    Trust(Trust),
}

impl Identity {
    /// Gives out a token; its text is what proves it.
    pub(crate) fn issue(&mut self, token: Token) -> String {
        let text = format!("gAAAAA{}{}", new_id(), new_id());
        self.tokens.insert(text.clone(), token);
        text
    }

    /// A token as Keystone shows it.
    pub(crate) fn view(&mut self, token: &Token, ask: &Ask) -> Value {
        let mut view = json!({
            "methods": token.methods, "audit_ids": token.audit, "user": self.user_view(&token.user),
            "issued_at": timestamp::micros(token.issued), "expires_at": timestamp::micros(token.expires),
        });
        if matches!(token.scope, Scope::Nothing) {
            return json!({"token": view});
        }
        let roles: Vec<Value> = token
            .roles
            .iter()
            .map(|name| json!({"id": self.role(name), "name": name}))
            .collect();
        view["roles"] = json!(roles);
        view["catalog"] = catalog::view(&self.endpoints, &ask.origin);
        view["is_domain"] = json!(false);
        if let Some(credential) = token.credential.as_ref().and_then(|id| self.credentials.get(id)) {
            view["application_credential"] = json!({"id": credential.id, "name": credential.name, "restricted": true});
        }
        self.scope_view(token, &mut view);
        json!({"token": view})
    }

    fn scope_view(&self, token: &Token, view: &mut Value) {
        if let Some(project) = token.project.as_ref().and_then(|id| self.projects.get(id)) {
            let domain = self.domain_view(&project.domain);
            view["project"] = json!({"id": project.id, "name": project.name, "domain": domain});
        }
        match &token.scope {
            Scope::Nothing | Scope::Project => {}
            Scope::Domain(id) => view["domain"] = self.domain_view(id),
            Scope::Trust(trust) => {
                view["OS-TRUST:trust"] = json!({
                    "id": trust.id, "impersonation": true, "trustor_user": {"id": trust.trustor},
                    "trustee_user": {"id": trust.trustee},
                });
            }
        }
    }

    fn user_view(&self, id: &str) -> Value {
        let user = self.users.get(id);
        json!({
            "id": id, "name": user.map(|user| &user.name), "password_expires_at": null,
            "domain": user.map(|user| self.domain_view(&user.domain)),
        })
    }

    fn domain_view(&self, id: &str) -> Value {
        let name = self
            .domains
            .iter()
            .find(|domain| domain.id == id)
            .map(|domain| &domain.name);
        json!({"id": id, "name": name})
    }
}
