//! Sets the namespace of objects: the operator's choice, except for objects of the system.

use super::Wrong;
use serde_json::Value;

/// Objects in this namespace stay in it.
pub const SYSTEM: &str = "kube-system";

const NAMESPACED: [&str; 10] = [
    "ConfigMap",
    "DaemonSet",
    "Deployment",
    "Pod",
    "PodDisruptionBudget",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
];
const CLUSTER: [&str; 4] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// Moves an object, and the service accounts that it binds, to `namespace`.
///
/// # Errors
/// If it is not known whether objects of that kind are namespaced.
pub fn put(object: &mut Value, namespace: &str) -> Result<(), Wrong> {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        kind if NAMESPACED.contains(&kind) => put_key(&mut object["metadata"], namespace),
        kind if CLUSTER.contains(&kind) => {}
        _ => return Err(Wrong::manifest(format!("kind {kind:?} is not known"))),
    }
    let subjects = object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for subject in subjects.filter(|subject| subject["kind"] == "ServiceAccount") {
        put_key(subject, namespace);
    }
    Ok(())
}

fn put_key(owner: &mut Value, namespace: &str) {
    if owner["namespace"] != SYSTEM {
        owner["namespace"] = namespace.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::none(json!({"kind": "Pod", "metadata": {}}), json!({"kind": "Pod", "metadata": {"namespace": "here"}}))]
    #[case::another(
        json!({"kind": "Pod", "metadata": {"namespace": "openshift-cloud-controller-manager"}}),
        json!({"kind": "Pod", "metadata": {"namespace": "here"}})
    )]
    #[case::system(
        json!({"kind": "Role", "metadata": {"namespace": "kube-system"}}),
        json!({"kind": "Role", "metadata": {"namespace": "kube-system"}})
    )]
    #[case::of_the_cluster(json!({"kind": "ClusterRole", "metadata": {}}), json!({"kind": "ClusterRole", "metadata": {}}))]
    #[case::subjects(
        json!({"kind": "ClusterRoleBinding", "subjects": [
            {"kind": "ServiceAccount", "name": "a"},
            {"kind": "ServiceAccount", "name": "b", "namespace": "kube-system"},
            {"kind": "Group", "name": "c"},
        ]}),
        json!({"kind": "ClusterRoleBinding", "subjects": [
            {"kind": "ServiceAccount", "name": "a", "namespace": "here"},
            {"kind": "ServiceAccount", "name": "b", "namespace": "kube-system"},
            {"kind": "Group", "name": "c"},
        ]})
    )]
    fn puts(#[case] mut object: Value, #[case] expected: Value) {
        put(&mut object, "here").unwrap();
        assert_eq!(object, expected);
    }

    #[test]
    fn knows_its_kinds() {
        let error = put(&mut json!({"kind": "Lease"}), "here").unwrap_err();
        assert_eq!(error.to_string(), "kind \"Lease\" is not known");
    }
}
