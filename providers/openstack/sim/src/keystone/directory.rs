//! Domains, projects, users, and what they can prove themselves with.

use super::{Caller, Endpoint, Rights, Token, catalog};
use crate::exchange::Ask;
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};
use uuid::Uuid;

/// Everything that Keystone knows.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) domains: Vec<Domain>,
    pub(crate) projects: BTreeMap<String, Project>,
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) credentials: BTreeMap<String, Credential>,
    pub(crate) trusts: BTreeMap<String, Trust>,
    pub(crate) tokens: HashMap<String, Token>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) lifetime: Duration,
    roles: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Domain {
    pub(crate) id: String,
    pub(crate) name: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) domain: String,
}

#[derive(Clone)]
pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) domain: String,
    pub(crate) password: String,
    pub(crate) default_project: Option<String>,
    /// The roles in each project, by its ID.
    pub(crate) grants: BTreeMap<String, BTreeSet<String>>,
}

/// An application credential.
#[derive(Clone)]
pub(crate) struct Credential {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) secret: String,
    pub(crate) user: String,
    pub(crate) project: String,
    pub(crate) roles: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Trust {
    pub(crate) id: String,
    pub(crate) trustor: String,
    pub(crate) trustee: String,
    pub(crate) project: String,
    pub(crate) roles: BTreeSet<String>,
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// An ID as Keystone generates them.
pub(crate) fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}

impl Identity {
    pub(crate) fn new() -> Self {
        let mut identity = Self {
            domains: vec![Domain {
                id: "default".into(),
                name: "Default".into(),
            }],
            projects: BTreeMap::new(),
            users: BTreeMap::new(),
            credentials: BTreeMap::new(),
            trusts: BTreeMap::new(),
            tokens: HashMap::new(),
            endpoints: catalog::own("RegionOne"),
            lifetime: Duration::from_hours(24),
            roles: BTreeMap::new(),
        };
        for (name, roles) in [
            ("admin", &["admin", "member", "reader"][..]),
            ("demo", &["member", "reader", "load-balancer_member"]),
        ] {
            let project = identity.add_project(name, "default");
            identity.add_user(name, "labpass", "default", &project, roles);
        }
        identity
    }

    pub(crate) fn add_project(&mut self, name: &str, domain: &str) -> String {
        let (id, name, domain) = (new_id(), name.to_owned(), domain.to_owned());
        self.projects.insert(
            id.clone(),
            Project {
                id: id.clone(),
                name,
                domain,
            },
        );
        id
    }

    pub(crate) fn add_user(
        &mut self,
        name: &str,
        password: &str,
        domain: &str,
        project: &str,
        roles: &[&str],
    ) -> String {
        let user = User {
            id: new_id(),
            name: name.to_owned(),
            domain: domain.to_owned(),
            password: password.to_owned(),
            default_project: Some(project.to_owned()),
            grants: [(project.to_owned(), roles.iter().map(ToString::to_string).collect())].into(),
        };
        let id = user.id.clone();
        self.users.insert(id.clone(), user);
        id
    }

    pub(crate) fn user_named(&self, name: &str) -> Option<&User> {
        self.users.values().find(|user| user.name == name)
    }

    pub(crate) fn project_named(&self, name: &str) -> Option<&Project> {
        self.projects.values().find(|project| project.name == name)
    }

    /// The ID of a role; roles are created on first use.
    pub(crate) fn role(&mut self, name: &str) -> String {
        self.roles.entry(name.to_owned()).or_insert_with(new_id).clone()
    }

    /// The owner of the valid token in a request.
    pub(crate) fn caller(&self, ask: &Ask, now: Timestamp) -> Option<Caller> {
        let token = self.token(ask.header("x-auth-token")?, now)?;
        let user = self.users.get(&token.user)?;
        let admin = token.roles.contains("admin");
        Some(Caller {
            user: Arc::from(user.name.as_str()),
            user_id: Arc::from(user.id.as_str()),
            project: Arc::from(token.project.as_deref().unwrap_or_default()),
            rights: if admin { Rights::Admin } else { Rights::Member },
        })
    }

    /// The token of this text, if it is good.
    pub(crate) fn token(&self, text: &str, now: Timestamp) -> Option<&Token> {
        self.tokens.get(text).filter(|token| token.expires > now)
    }
}

/// An application credential of a user in his project.
pub(crate) fn new_credential(user: &User, name: &str) -> Option<Credential> {
    let (project, roles) = user.grants.iter().next()?;
    Some(Credential {
        id: new_id(),
        name: name.to_owned(),
        secret: new_id() + &new_id(),
        user: user.id.clone(),
        project: project.clone(),
        roles: roles.clone(),
    })
}
