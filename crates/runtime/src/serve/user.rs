//! The user of a request.

use std::collections::BTreeMap;

/// The name of unauthenticated users.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of unauthenticated users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group of authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of users that may do everything.
pub const MASTERS: &str = "system:masters";

/// A user, as in Kubernetes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The UID; often empty.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Extra values of the authenticator.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The unauthenticated user.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.into(),
            groups: vec![UNAUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// Whether the user is not authenticated.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in(UNAUTHENTICATED)
    }

    /// Whether the user is in a group.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|member| member == group)
    }

    /// Adds the group of authenticated users, unless the user is in one of the two groups.
    #[must_use]
    pub(super) fn authenticated(mut self) -> Self {
        if self.name != ANONYMOUS && !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.into());
        }
        self
    }
}
