//! The properties of a provider that the operator needs to run a manager for it. The binary passes the list.

use operator_api::cloud_controller_manager::{self, Texts};

/// A provider of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Its name in `--cloud-provider`.
    pub name: &'static str,
    /// What its Pods need.
    pub needs: Needs,
}

/// What the Pods of a provider need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Whether it needs a configuration.
    pub config: Config,
    /// Where it expects credentials.
    pub credentials: Credentials,
    /// How it handles a change of its configuration.
    pub changes: Changes,
    /// The use of the cluster's name.
    pub cluster_name: ClusterName,
}

/// How a provider uses the cluster's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterName {
    /// It identifies the provider's objects in the cloud: two clusters of the same name would use each other's objects.
    Owns,
    /// Not at all, or only in texts.
    Describes,
}

/// Whether a provider needs a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Config {
    /// It works without one.
    Optional,
    /// It does not work without one.
    Needed,
}

/// Where a provider expects credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// It expects none, or in its configuration.
    None,
    /// In a file.
    File {
        /// The variable with the path of the file.
        variable: &'static str,
        /// The key of the Secret with the file's content.
        key: &'static str,
    },
    /// In a variable.
    Variable {
        /// The variable.
        variable: &'static str,
        /// The key of the Secret with the variable's value.
        key: &'static str,
    },
}

/// How a provider handles a change of its configuration or its credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// It reloads them by itself.
    Followed,
    /// Not at all: its Pods have to be restarted.
    Unseen,
}

/// The provider of this name, if this program has it.
pub fn find<'p>(providers: &'p [Provider], name: &str) -> Option<&'p Provider> {
    providers.iter().find(|provider| provider.name == name)
}

/// The definition of the custom resource as the file `deploy/kubernetes/crd.yaml`; its texts name these providers.
#[must_use]
pub fn crd_yaml(providers: &[Provider]) -> String {
    cloud_controller_manager::crd_yaml(&texts(providers))
}

fn texts(providers: &[Provider]) -> Texts {
    let names = |providers: &mut dyn Iterator<Item = &Provider>| {
        let names: Vec<&str> = providers.map(|provider| provider.name).collect();
        names.join(", ")
    };
    let mut followers = providers
        .iter()
        .filter(|provider| provider.needs.changes == Changes::Followed);
    let credentials: Vec<String> = providers.iter().filter_map(credentials).collect();
    Texts {
        providers: names(&mut providers.iter()),
        changes: format!(
            "A change of it, or of the credentials, takes effect without a restart with these providers: {}; with the others the \
             Pods are restarted.",
            names(&mut followers)
        ),
        credentials: credentials.join(" "),
    }
}

fn credentials(provider: &Provider) -> Option<String> {
    let name = provider.name;
    match provider.needs.credentials {
        Credentials::None => None,
        Credentials::File { variable, key } => Some(format!("For {name}: the key {key}, whose file {variable} names.")),
        Credentials::Variable { variable, key } => Some(format!("For {name}: the key {key}, the value of {variable}.")),
    }
}
