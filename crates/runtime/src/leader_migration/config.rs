//! The file behind `--leader-migration-config`.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::{Path, PathBuf};

const GROUP: &str = "controllermanager.config.k8s.io";
const KIND: &str = "LeaderMigrationConfiguration";
const LEASES: &str = "leases";
const ENDPOINTS: &str = "endpoints";

/// The controllers under the migration lock, and the programs that run them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// The name of the Lease that is the migration lock.
    pub leader_name: String,
    /// The kind of lock: `leases`.
    pub resource_lock: String,
    /// The controllers that migrate.
    pub controller_leaders: Vec<ControllerLeader>,
}

/// The program of a migrating controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ControllerLeader {
    /// The controller.
    pub name: String,
    /// The program, for example `cloud-controller-manager`; `*` for any program.
    pub component: String,
}

/// The version of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileVersion {
    /// `v1beta1`, which programs from 1.22 on read.
    V1Beta1,
    /// `v1`, which programs from 1.24 on read.
    V1,
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the leader migration configuration {path:?}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is malformed; the text names the position.
    #[error("{0}")]
    Parse(String),
    /// The values are invalid; one sentence per problem.
    #[error("invalid leader migration configuration: {}", .0.join("; "))]
    Invalid(Vec<String>),
}

/// The default without a file. The names are historic ones: see [`Classifier`](super::Classifier).
impl Default for Config {
    fn default() -> Self {
        let anywhere = |name: &str| ControllerLeader {
            name: name.into(),
            component: "*".into(),
        };
        Self {
            leader_name: "cloud-provider-extraction-migration".into(),
            resource_lock: LEASES.into(),
            controller_leaders: [
                "route-controller",
                "service-controller",
                "cloud-node-lifecycle-controller",
            ]
            .map(anywhere)
            .into(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Header {
    api_version: String,
    kind: String,
}

/// `v1alpha1` and `v1beta1`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Beta {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    leader_name: String,
    resource_lock: String,
    controller_leaders: Option<Vec<ControllerLeader>>,
}

/// `v1`: the lock is always a Lease.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Stable {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    leader_name: String,
    controller_leaders: Option<Vec<ControllerLeader>>,
}

impl Config {
    /// Reads and parses a file; see [`Self::parse`].
    ///
    /// # Errors
    /// If it cannot be read or parsed.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
            path: path.into(),
            source,
        })?;
        Self::parse(&text).map_err(|error| match error {
            Error::Parse(reason) => Error::Parse(format!("{}: {reason}", path.display())),
            other => other,
        })
    }

    /// Parses YAML or JSON, strictly: an unknown or repeated field is an error with its position.
    ///
    /// # Errors
    /// If it is not such a file of a known version.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let Header { api_version, kind } = yaml(text)?;
        let version = api_version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/'));
        match (kind.as_str(), version) {
            (KIND, Some("v1alpha1" | "v1beta1")) => yaml(text).map(Self::from_beta),
            (KIND, Some("v1")) => yaml(text).map(Self::from_stable),
            _ => Err(Error::Parse(format!(
                "kind {kind:?} of {api_version:?} is not a {KIND} of {GROUP}/v1, /v1beta1 or /v1alpha1"
            ))),
        }
    }

    /// The file, in `v1`, or in `v1beta1` for programs older than 1.24.
    #[must_use]
    pub fn document(&self, version: FileVersion) -> String {
        let Self {
            leader_name,
            resource_lock,
            controller_leaders,
        } = self;
        let (version, lock) = match version {
            FileVersion::V1Beta1 => ("v1beta1", format!("resourceLock: {resource_lock}\n")),
            FileVersion::V1 => ("v1", String::new()),
        };
        let leaders = controller_leaders.iter().map(|ControllerLeader { name, component }| {
            // `*` alone begins an alias in YAML.
            let component = if component == "*" { "\"*\"" } else { component };
            format!("- name: {name}\n  component: {component}\n")
        });
        let leaders: String = leaders.collect();
        format!(
            "apiVersion: {GROUP}/{version}\nkind: {KIND}\nleaderName: {leader_name}\n{lock}controllerLeaders:\n{leaders}"
        )
    }

    /// All problems, one sentence each.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let Self {
            leader_name,
            resource_lock,
            controller_leaders,
        } = self;
        let mut problems = Vec::new();
        if leader_name.is_empty() {
            problems.push("leaderName must be set".into());
        }
        match resource_lock.as_str() {
            LEASES => {}
            ENDPOINTS => {
                problems.push("resourceLock \"endpoints\" no longer exists in Kubernetes: use \"leases\"".into());
            }
            other => problems.push(format!("resourceLock {other:?} must be \"leases\"")),
        }
        for (index, ControllerLeader { name, component }) in controller_leaders.iter().enumerate() {
            let fields = [("name", name), ("component", component)]
                .into_iter()
                .filter(|(_, value)| value.is_empty());
            problems.extend(fields.map(|(field, _)| format!("controllerLeaders[{index}].{field} must be set")));
        }
        problems
    }

    fn from_beta(file: Beta) -> Self {
        let Beta {
            leader_name,
            resource_lock,
            controller_leaders,
            ..
        } = file;
        Self {
            leader_name,
            resource_lock,
            controller_leaders: controller_leaders.unwrap_or_default(),
        }
    }

    fn from_stable(file: Stable) -> Self {
        let Stable {
            leader_name,
            controller_leaders,
            ..
        } = file;
        let controller_leaders = controller_leaders.unwrap_or_default();
        Self {
            leader_name,
            resource_lock: LEASES.into(),
            controller_leaders,
        }
    }
}

fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    // A number is not a name, as in Go.
    let options = serde_saphyr::options! { with_snippet: false, no_schema: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| Error::Parse(error.to_string()))
}
