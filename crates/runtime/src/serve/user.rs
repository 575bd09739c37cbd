//! Who asks.

use std::collections::BTreeMap;

/// The name of those who did not say who they are.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of those who did not say who they are.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group of everybody else.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of those who may do anything.
pub const MASTERS: &str = "system:masters";

/// A user, as Kubernetes knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The UID; often empty.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Whatever else the authenticator knew.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody who did not say who they are.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.into(),
            groups: vec![UNAUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// Whether nobody knows who they are.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in(UNAUTHENTICATED)
    }

    /// Whether they are in a group.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|member| member == group)
    }

    /// Puts them into the group of those who said who they are, unless something else is said already.
    #[must_use]
    pub(super) fn authenticated(mut self) -> Self {
        if self.name != ANONYMOUS && !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.into());
        }
        self
    }
}
