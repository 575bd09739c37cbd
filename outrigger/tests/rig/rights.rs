//! What users of a rig may do.

use super::Rig;
use k8s_openapi::api::{
    authorization::v1::SubjectAccessReview,
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use kube::{Api, Resource, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;

/// What we tell users to grant.
const MANIFEST: &str = include_str!("../../../deploy/manager/rbac.yaml");

/// Where the lease is.
const SYSTEM: &str = "kube-system";

impl Rig {
    /// Lets a user do what the manifest grants the manager, and nothing else; the lease is that of this rig.
    pub async fn authorise(&self, user: &str) {
        self.grant(user, rules_of("ClusterRole")).await;
        let mut rules = rules_of("Role");
        for name in rules.as_array_mut().unwrap().iter_mut().flat_map(names_of) {
            if name == "cloud-controller-manager" {
                *name = json!(self.name);
            }
        }
        self.grant_in_system(user, rules).await;
        let reader = json!({"kind": "Role", "name": "extension-apiserver-authentication-reader"});
        self.bind_in_system(user, &reader).await;
        let lease = json!({"namespace": SYSTEM, "verb": "get", "group": "coordination.k8s.io", "resource": "leases",
                           "name": self.name});
        self.allowed(user, &json!({"resourceAttributes": lease})).await;
        let maps = json!({"namespace": SYSTEM, "verb": "get", "resource": "configmaps",
                          "name": "extension-apiserver-authentication"});
        self.allowed(user, &json!({"resourceAttributes": maps})).await;
        let nodes = json!({"verb": "list", "resource": "nodes"});
        self.allowed(user, &json!({"resourceAttributes": nodes})).await;
    }

    /// Lets a user do this everywhere.
    pub async fn grant(&self, user: &str, rules: Value) {
        let name = lab::unique(&self.name);
        let role: ClusterRole = parse(json!({"metadata": {"name": name}, "rules": rules}));
        create(&Api::all(self.client.clone()), &role).await;
        let to = json!({"kind": "ClusterRole", "name": name});
        let binding: ClusterRoleBinding = parse(binding(&name, user, &to));
        create(&Api::all(self.client.clone()), &binding).await;
    }

    /// Lets a user do this in `kube-system`.
    pub async fn grant_in_system(&self, user: &str, rules: Value) {
        let name = lab::unique(&self.name);
        let role: Role = parse(json!({"metadata": {"name": name}, "rules": rules}));
        create(&Api::namespaced(self.client.clone(), SYSTEM), &role).await;
        self.bind_in_system(user, &json!({"kind": "Role", "name": name})).await;
    }

    async fn bind_in_system(&self, user: &str, role: &Value) {
        let binding: RoleBinding = parse(binding(&lab::unique(&self.name), user, role));
        create(&Api::namespaced(self.client.clone(), SYSTEM), &binding).await;
    }

    /// Waits until a user may do this: `resourceAttributes` or `nonResourceAttributes` of a review.
    pub async fn allowed(&self, user: &str, attributes: &Value) {
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let mut spec = attributes.clone();
        spec["user"] = json!(user);
        let review: SubjectAccessReview = parse(json!({"metadata": {}, "spec": spec}));
        testkit::wait::until(&format!("{user} to be allowed {attributes}"), async || {
            let answer = reviews.create(&PostParams::default(), &review).await;
            let status = answer.map_err(|error| error.to_string())?.status;
            let allowed = status.is_some_and(|status| status.allowed);
            if allowed { Ok(()) } else { Err("not allowed".to_owned()) }
        })
        .await;
    }
}

/// The rules of all roles of this kind in the manifest.
fn rules_of(kind: &str) -> Value {
    let documents: Vec<Value> = serde_saphyr::from_multiple(MANIFEST).unwrap();
    let of_kind = documents.iter().filter(|document| document["kind"] == kind);
    let rules: Vec<_> = of_kind.filter_map(|role| role["rules"].as_array()).flatten().collect();
    assert!(!rules.is_empty(), "the manifest grants nothing by a {kind}");
    json!(rules)
}

fn names_of(rule: &mut Value) -> impl Iterator<Item = &mut Value> {
    rule.get_mut("resourceNames")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

fn binding(name: &str, user: &str, role: &Value) -> Value {
    let mut reference = role.clone();
    reference["apiGroup"] = json!("rbac.authorization.k8s.io");
    json!({
        "metadata": {"name": name},
        "roleRef": reference,
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

fn parse<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

async fn create<K>(api: &Api<K>, object: &K)
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned,
{
    api.create(&PostParams::default(), object).await.unwrap();
}
