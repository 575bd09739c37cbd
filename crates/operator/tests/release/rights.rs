//! The permissions in the roles: none too broad, none unused. Whether they are enough is tested in a cluster.

use crate::manifests::{OPERANDS, OPERATOR, all, operands};
use operator::Object;
use serde_json::Value;
use std::collections::BTreeSet;

/// A rule of the operator, with its namespace.
struct Rule {
    namespace: Option<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    verbs: Vec<String>,
}

impl Rule {
    fn new(namespace: Option<&str>, rule: &Value) -> Self {
        let list = |key: &str| {
            let values = rule[key].as_array().into_iter().flatten();
            values.map(|value| value.as_str().unwrap().to_owned()).collect()
        };
        Self {
            namespace: namespace.map(str::to_owned),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            verbs: list("verbs"),
        }
    }

    fn has(&self, verbs: &[&str]) -> bool {
        self.verbs.iter().any(|verb| verbs.contains(&verb.as_str()))
    }
}

/// The roles bound to the operator's account, except `OpenShift`'s own.
fn rules() -> Vec<Rule> {
    let all = all();
    let bindings = all.iter().filter(|manifest| {
        let subject = &manifest.value()["subjects"][0];
        subject["name"] == "cluster-cloud-controller-manager"
            && subject["namespace"] == OPERATOR
            && !manifest.is_tombstone()
    });
    let mut rules = Vec::new();
    for binding in bindings {
        let (reference, namespace) = (&binding.value()["roleRef"], binding.object.key().namespace.as_deref());
        if reference["name"] == "system:openshift:scc:hostaccess" {
            continue;
        }
        let role = all.iter().find(|manifest| {
            let key = manifest.object.key();
            reference["kind"] == key.kind.as_str()
                && reference["name"] == key.name.as_str()
                && key.namespace.as_deref() == namespace
        });
        let granted = role.unwrap().value()["rules"].as_array().unwrap().clone();
        rules.extend(granted.iter().map(|rule| Rule::new(namespace, rule)));
    }
    assert!(rules.len() > 20);
    rules
}

#[test]
fn nothing_is_granted_wholesale() {
    for rule in rules() {
        let words = rule.groups.iter().chain(&rule.resources).chain(&rule.verbs);
        assert!(words.clone().all(|word| word != "*"), "{:?}", rule.resources);
        assert!(
            !rule.has(&["escalate", "bind", "impersonate", "deletecollection"]),
            "{:?}",
            rule.verbs
        );
    }
}

/// Objects that cannot be restricted by name: their names are not known in advance.
const NAMELESS: [&str; 5] = [
    "clusteroperators",
    "events",
    "leases",
    "subjectaccessreviews",
    "tokenreviews",
];

/// Only its operands use these; the operator needs them, because it cannot grant permissions that it does not have.
const FOR_OPERANDS: [&str; 3] = ["nodes", "nodes/status", "services/status"];

#[test]
fn written_objects_have_a_name() {
    let writes = rules()
        .into_iter()
        .filter(|rule| rule.has(&["create", "update", "patch", "delete"]));
    for rule in writes.filter(|rule| rule.namespace.as_deref() != Some(OPERANDS) && rule.names.is_empty()) {
        for resource in &rule.resources {
            let known = NAMELESS.contains(&resource.as_str()) || FOR_OPERANDS.contains(&resource.as_str());
            assert!(
                known && !rule.has(&["delete"]),
                "any {resource} in {:?}",
                rule.namespace
            );
        }
    }
}

#[test]
fn secrets_are_read_in_one_namespace() {
    for rule in rules()
        .into_iter()
        .filter(|rule| rule.resources.iter().any(|resource| resource == "secrets"))
    {
        assert_eq!(rule.namespace.as_deref(), Some(OPERANDS));
    }
}

/// Server-side apply needs no `update`, but leases, the operator's own status and granted permissions do.
#[test]
fn nothing_is_overwritten() {
    let passed_on = [
        "clusteroperators/status",
        "events",
        "leases",
        "nodes",
        "services/status",
    ];
    for rule in rules().into_iter().filter(|rule| rule.has(&["update"])) {
        assert!(
            rule.resources
                .iter()
                .all(|resource| passed_on.contains(&resource.as_str())),
            "{:?}",
            rule.resources
        );
    }
}

/// A name in a rule that no platform has would be a permission without a purpose.
#[test]
fn w27_names_are_those_of_operands() {
    let kinds = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];
    let kinds = kinds
        .into_iter()
        .chain(["validatingadmissionpolicies", "validatingadmissionpolicybindings"]);
    let operands = operands();
    for kind in kinds {
        let singular = match kind {
            "validatingadmissionpolicies" => "validatingadmissionpolicy",
            plural => plural.trim_end_matches('s'),
        };
        let made = operands.iter().flat_map(|(_, objects)| objects.iter().map(Object::key));
        let made: BTreeSet<_> = made
            .filter(|key| key.kind.to_lowercase() == singular)
            .map(|key| key.name.as_str())
            .collect();
        let rules = rules();
        let named = rules
            .iter()
            .filter(|rule| rule.resources.iter().any(|resource| resource == kind));
        for name in named.flat_map(|rule| &rule.names) {
            assert!(made.contains(name.trim_end_matches("-dry-run")), "{kind} {name}");
        }
    }
}
