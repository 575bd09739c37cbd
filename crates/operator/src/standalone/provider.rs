//! What the operator has to know about a provider to start a manager for it.

/// A provider that this program has.
#[derive(Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name in `--cloud-provider`.
    pub name: &'static str,
    /// Whether it can do without a configuration.
    pub config: Config,
    /// The variable that says where the credentials are, and their key in the Secret.
    pub credentials: Option<(&'static str, &'static str)>,
    /// What it does when its configuration changes.
    pub changes: Changes,
}

/// What a provider does when its configuration changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// It follows by itself.
    Followed,
    /// Nothing: its Pods have to be rolled.
    Unseen,
}

/// Whether a provider can do without a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Config {
    /// It can.
    Optional,
    /// It cannot.
    Needed,
}

/// All of them.
pub const PROVIDERS: [Provider; 2] = [
    Provider {
        name: "memory",
        config: Config::Optional,
        credentials: None,
        changes: Changes::Unseen,
    },
    Provider {
        name: "openstack",
        config: Config::Needed,
        credentials: Some(("OS_CLIENT_CONFIG_FILE", "clouds.yaml")),
        changes: Changes::Followed,
    },
];

/// The provider of this name, if it is one of ours.
pub fn find(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}
