//! Users, projects, credentials, tokens and the catalog.

use crate::{
    Cloud, Endpoint, Location, Service,
    keystone::{Domain, Trust, at, new_credential, new_id},
};
use std::time::Duration;

/// An application credential, with its secret.
#[derive(Clone)]
pub struct ApplicationCredential {
    /// Its ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its secret.
    pub secret: String,
}

impl std::fmt::Debug for ApplicationCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApplicationCredential")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Cloud {
    /// The ID of a project.
    pub fn project_id(&self, name: &str) -> Option<String> {
        self.identity().project_named(name).map(|project| project.id.clone())
    }

    /// The ID of a user.
    pub fn user_id(&self, name: &str) -> Option<String> {
        self.identity().user_named(name).map(|user| user.id.clone())
    }

    /// Adds a domain, and answers its ID.
    pub fn add_domain(&self, name: &str) -> String {
        let domain = Domain {
            id: new_id(),
            name: name.to_owned(),
        };
        let id = domain.id.clone();
        self.identity().domains.push(domain);
        id
    }

    /// Adds a project to the domain with this ID, and answers its ID.
    pub fn add_project(&self, name: &str, domain: &str) -> String {
        self.identity().add_project(name, domain)
    }

    /// Adds a user to the domain with this ID, as a member of the project with this ID, and answers his ID.
    pub fn add_user(&self, name: &str, password: &str, domain: &str, project: &str) -> String {
        self.identity().add_user(
            name,
            password,
            domain,
            project,
            &["member", "reader", "load-balancer_member"],
        )
    }

    /// Gives a user another password; existing tokens become invalid, as in the real Keystone.
    pub fn set_password(&self, user: &str, password: &str) {
        let mut identity = self.identity();
        let Some(id) = identity.user_named(user).map(|user| user.id.clone()) else {
            return;
        };
        if let Some(user) = identity.users.get_mut(&id) {
            password.clone_into(&mut user.password);
        }
        identity.tokens.retain(|_, token| token.user != id);
    }

    /// Takes a user's default project away: a token without a scope is then for nothing.
    pub fn clear_default_project(&self, user: &str) {
        let mut identity = self.identity();
        for user in identity.users.values_mut().filter(|other| other.name == user) {
            user.default_project = None;
        }
    }

    /// Makes an application credential for a user in his project; `None` if there is no such user.
    pub fn add_application_credential(&self, user: &str, name: &str) -> Option<ApplicationCredential> {
        let mut identity = self.identity();
        let credential = new_credential(identity.user_named(user)?, name)?;
        let (id, secret) = (credential.id.clone(), credential.secret.clone());
        identity.credentials.insert(id.clone(), credential);
        Some(ApplicationCredential {
            id,
            name: name.to_owned(),
            secret,
        })
    }

    /// Removes an application credential, and its tokens.
    pub fn remove_application_credential(&self, id: &str) {
        let mut identity = self.identity();
        identity.credentials.remove(id);
        identity
            .tokens
            .retain(|_, token| token.credential.as_deref() != Some(id));
    }

    /// Lets one user act for another in the other's project; answers the trust's ID, or `None` if one of them does not exist.
    pub fn add_trust(&self, trustor: &str, trustee: &str) -> Option<String> {
        let mut identity = self.identity();
        let giver = identity.user_named(trustor)?;
        let (project, roles) = giver.grants.iter().next()?;
        let trust = Trust {
            id: new_id(),
            trustor: giver.id.clone(),
            trustee: identity.user_named(trustee)?.id.clone(),
            project: project.clone(),
            roles: roles.clone(),
        };
        let id = trust.id.clone();
        identity.trusts.insert(id.clone(), trust);
        Some(id)
    }

    /// How long new tokens are good.
    pub fn set_token_lifetime(&self, lifetime: Duration) {
        self.identity().lifetime = lifetime;
    }

    /// Makes all tokens bad at once.
    pub fn revoke_tokens(&self) {
        self.identity().tokens.clear();
    }

    /// How many tokens were given out and not revoked.
    pub fn token_count(&self) -> usize {
        self.identity().tokens.len()
    }

    /// The catalog.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.identity().endpoints.clone()
    }

    /// Replaces the catalog; existing tokens keep the old one.
    pub fn set_endpoints(&self, endpoints: Vec<Endpoint>) {
        self.identity().endpoints = endpoints;
    }

    /// Adds all services of a region to the catalog, below this URL ([`crate::Sim::url`]).
    pub fn add_endpoints(&self, region: &str, url: &str) {
        let more = at(region, &|path| Location::Url(format!("{url}{path}")));
        self.identity().endpoints.extend(more);
    }

    /// Takes a service out of the catalog.
    pub fn remove_service(&self, service: Service) {
        self.identity()
            .endpoints
            .retain(|endpoint| endpoint.kind != service.kind());
    }

    /// Calls the region of all endpoints otherwise.
    pub fn rename_region(&self, region: &str) {
        for endpoint in &mut self.identity().endpoints {
            region.clone_into(&mut endpoint.region);
        }
    }
}
