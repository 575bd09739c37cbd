//! The kinds that the operator creates: where they are served, and in which order they are written.

use crate::Key;
use operator_api::cluster_operator::ObjectReference;
use std::fmt;

/// A kind of object.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// `apps`; empty for the core.
    pub group: &'static str,
    /// `v1`
    pub version: &'static str,
    /// `Deployment`
    pub kind: &'static str,
    /// `deployments`
    pub plural: &'static str,
    /// Whether its objects are in namespaces.
    pub scope: Scope,
    /// Its place in the order in which kinds are written.
    pub rank: Rank,
}

/// Whether the objects of a kind are in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// Cluster-scoped.
    Cluster,
}

/// The order in which objects are written; they are deleted in the reverse order. An object that others need comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// Contains other objects.
    Namespace,
    /// Identities of workloads.
    Account,
    /// Permissions.
    Role,
    /// Grants permissions.
    RoleBinding,
    /// Read by workloads when they start.
    Config,
    /// Admission rules.
    Policy,
    /// Where admission rules apply.
    PolicyBinding,
    /// Objects that refer to workloads.
    Surroundings,
    /// Runs Pods.
    Workload,
}

/// A kind that the operator does not create, or a key that does not fit its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The kind is not in [`KINDS`].
    #[error("{kind} of {api_version} is not a kind that the operator manages")]
    Kind {
        /// As in the key.
        api_version: String,
        /// As in the key.
        kind: String,
    },
    /// Objects of this kind are in namespaces.
    #[error("{0} has no namespace")]
    Namespace(&'static str),
}

const fn namespaced(api: (&'static str, &'static str), kind: &'static str, plural: &'static str, rank: Rank) -> Kind {
    let (group, version) = api;
    Kind {
        group,
        version,
        kind,
        plural,
        scope: Scope::Namespaced,
        rank,
    }
}

const fn cluster(api: (&'static str, &'static str), kind: &'static str, plural: &'static str, rank: Rank) -> Kind {
    let (group, version) = api;
    Kind {
        group,
        version,
        kind,
        plural,
        scope: Scope::Cluster,
        rank,
    }
}

const CORE: (&str, &str) = ("", "v1");
const APPS: (&str, &str) = ("apps", "v1");
const RBAC: (&str, &str) = ("rbac.authorization.k8s.io", "v1");
const ADMISSION: (&str, &str) = ("admissionregistration.k8s.io", "v1");
const MONITORING: (&str, &str) = ("monitoring.coreos.com", "v1");

/// All kinds.
pub const KINDS: [Kind; 16] = [
    cluster(CORE, "Namespace", "namespaces", Rank::Namespace),
    namespaced(CORE, "ServiceAccount", "serviceaccounts", Rank::Account),
    namespaced(RBAC, "Role", "roles", Rank::Role),
    cluster(RBAC, "ClusterRole", "clusterroles", Rank::Role),
    namespaced(RBAC, "RoleBinding", "rolebindings", Rank::RoleBinding),
    cluster(RBAC, "ClusterRoleBinding", "clusterrolebindings", Rank::RoleBinding),
    namespaced(CORE, "ConfigMap", "configmaps", Rank::Config),
    namespaced(CORE, "Secret", "secrets", Rank::Config),
    cluster(
        ADMISSION,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        Rank::Policy,
    ),
    cluster(
        ADMISSION,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        Rank::PolicyBinding,
    ),
    namespaced(
        ("policy", "v1"),
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        Rank::Surroundings,
    ),
    namespaced(CORE, "Service", "services", Rank::Surroundings),
    namespaced(MONITORING, "ServiceMonitor", "servicemonitors", Rank::Surroundings),
    namespaced(MONITORING, "PrometheusRule", "prometheusrules", Rank::Surroundings),
    namespaced(APPS, "Deployment", "deployments", Rank::Workload),
    namespaced(APPS, "DaemonSet", "daemonsets", Rank::Workload),
];

impl Kind {
    /// `apps/v1`
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    fn has_version(&self, api_version: &str) -> bool {
        match (self.group, api_version.split_once('/')) {
            ("", None) => api_version == self.version,
            (group, Some(given)) => given == (group, self.version),
            (_, None) => false,
        }
    }

    /// The path of its objects.
    pub(super) fn collection(&self, namespace: Option<&str>) -> Result<String, Unknown> {
        let Self {
            group,
            version,
            kind,
            plural,
            scope,
            ..
        } = *self;
        let root = if group.is_empty() {
            "/api".to_owned()
        } else {
            format!("/apis/{group}")
        };
        match (scope, namespace) {
            (Scope::Cluster, _) => Ok(format!("{root}/{version}/{plural}")),
            (Scope::Namespaced, Some(namespace)) => Ok(format!("{root}/{version}/namespaces/{namespace}/{plural}")),
            (Scope::Namespaced, None) => Err(Unknown::Namespace(kind)),
        }
    }
}

/// The kind of an object.
///
/// # Errors
/// If the operator does not create such objects.
pub fn get(key: &Key) -> Result<&'static Kind, Unknown> {
    let found = KINDS
        .iter()
        .find(|kind| kind.kind == key.kind && kind.has_version(&key.api_version));
    found.ok_or_else(|| Unknown::Kind {
        api_version: key.api_version.clone(),
        kind: key.kind.clone(),
    })
}

/// The entry of `relatedObjects` for an object; `None` if the operator does not create its kind.
pub fn related(key: &Key) -> Option<ObjectReference> {
    let kind = get(key).ok()?;
    Some(ObjectReference {
        group: kind.group.to_owned(),
        resource: kind.plural.to_owned(),
        namespace: key.namespace.clone().unwrap_or_default(),
        name: key.name.clone(),
    })
}

/// The object of an entry of `relatedObjects`; `None` if the operator does not create its kind.
pub fn key(related: &ObjectReference) -> Option<Key> {
    let ObjectReference {
        group,
        resource,
        namespace,
        name,
    } = related;
    let kind = KINDS
        .iter()
        .find(|kind| kind.group == *group && kind.plural == *resource)?;
    Some(Key {
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        namespace: (kind.scope == Scope::Namespaced).then(|| namespace.clone()),
        name: name.clone(),
    })
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.kind, self.api_version())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::core("", "configmaps", "ns", "v1 ConfigMap ns/x")]
    #[case::group("apps", "daemonsets", "ns", "apps/v1 DaemonSet ns/x")]
    #[case::cluster(
        "rbac.authorization.k8s.io",
        "clusterroles",
        "",
        "rbac.authorization.k8s.io/v1 ClusterRole x"
    )]
    #[case::monitoring(
        "monitoring.coreos.com",
        "prometheusrules",
        "ns",
        "monitoring.coreos.com/v1 PrometheusRule ns/x"
    )]
    #[case::namespace("", "namespaces", "", "v1 Namespace x")]
    fn related_objects_name_keys(
        #[case] group: &str,
        #[case] resource: &str,
        #[case] namespace: &str,
        #[case] expected: &str,
    ) {
        let [group, resource, namespace] = [group, resource, namespace].map(str::to_owned);
        let related_object = ObjectReference {
            group,
            resource,
            namespace,
            name: "x".into(),
        };
        let found = key(&related_object).expect("a kind of ours");
        assert_eq!(format!("{} {found}", found.api_version), expected);
        assert_eq!(related(&found), Some(related_object));
    }

    #[test]
    fn other_kinds_have_no_key() {
        let other = |group: &str, resource: &str| ObjectReference {
            group: group.into(),
            resource: resource.into(),
            namespace: String::new(),
            name: "cloud-controller-manager".into(),
        };
        assert_eq!(key(&other("config.openshift.io", "clusteroperators")), None);
        assert_eq!(key(&other("", "pods")), None);
        assert_eq!(key(&other("extensions", "deployments")), None);
    }

    // Operator.md W17: the version of a Service is v1, not core/v1.
    #[rstest]
    #[case("v1", "Service", "/api/v1/namespaces/ns/services")]
    #[case("core/v1", "Service", "Service of core/v1 is not a kind that the operator manages")]
    #[case("apps/v1", "Service", "Service of apps/v1 is not a kind that the operator manages")]
    #[case("apps/v1", "Deployment", "/apis/apps/v1/namespaces/ns/deployments")]
    #[case("v1", "Namespace", "/api/v1/namespaces")]
    #[case("v1", "Pod", "Pod of v1 is not a kind that the operator manages")]
    fn w17_kinds_are_served_where_they_are(#[case] api_version: &str, #[case] kind: &str, #[case] expected: &str) {
        let key = Key {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: Some("ns".into()),
            name: "x".into(),
        };
        let found = get(&key).and_then(|kind| kind.collection(key.namespace.as_deref()));
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn w17_needed_kinds_rank_lower() {
        let order = [
            "Namespace",
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "ConfigMap",
        ];
        let later = [
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "Service",
            "Deployment",
        ];
        let rank = |name: &&str| KINDS.iter().find(|kind| kind.kind == *name).expect("a kind").rank;
        let ranks: Vec<_> = order.iter().chain(&later).map(rank).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
    }
}
