//! The manifests in `deploy/kubernetes`, on a real API server: every file is accepted unchanged, and with its permissions the operator
//! can create everything that
//! a manager needs, and little else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use k8s_openapi::api::{authorization::v1::SubjectAccessReview, core::v1::Pod, rbac::v1::PolicyRule};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
    discovery::{self, Scope},
};
use lab::ControlPlane;
use operator::{
    Object,
    standalone::{
        Context, names,
        provider::{Changes, ClusterName, Config, Credentials, Needs, Provider},
        resources, scope,
    },
};
use operator_api::{CloudControllerManager, cloud_controller_manager::PLACEHOLDER};
use rstest::rstest;
use serde_json::{Value, json};
use std::sync::LazyLock;
use tokio::sync::OnceCell;

const CRD: &str = include_str!("../../../deploy/kubernetes/crd.yaml");
const OPERATOR: &str = include_str!("../../../deploy/kubernetes/operator.yaml");
const EXAMPLES: [&str; 4] = [
    include_str!("../../../deploy/kubernetes/example-memory.yaml"),
    include_str!("../../../deploy/kubernetes/example-openstack.yaml"),
    include_str!("../../../deploy/kubernetes/example-aws.yaml"),
    include_str!("../../../deploy/kubernetes/example-vsphere.yaml"),
];
const MANAGER: &str = include_str!("../../../deploy/manager/rbac.yaml");
const DOCUMENTATION: &str = include_str!("../../../docs/kubernetes.md");
const SEVERAL_CLOUDS: &str = include_str!("../../../docs/several-clouds.md");
const README: &str = include_str!("../../../README.md");
const CONTEXT: Context<'_> = Context {
    namespace: "outrigger-system",
    image: "localhost/outrigger:dev",
    providers: PROVIDERS,
    flags: &[],
};

const PROVIDERS: &[Provider] = &[
    Provider {
        name: "aws",
        needs: Needs {
            config: Config::Optional,
            credentials: Credentials::File {
                variable: "AWS_SHARED_CREDENTIALS_FILE",
                key: "credentials",
            },
            changes: Changes::Unseen,
            cluster_name: ClusterName::Describes,
        },
    },
    Provider {
        name: "memory",
        needs: Needs {
            config: Config::Optional,
            credentials: Credentials::None,
            changes: Changes::Unseen,
            cluster_name: ClusterName::Describes,
        },
    },
    Provider {
        name: "openstack",
        needs: Needs {
            config: Config::Needed,
            credentials: Credentials::File {
                variable: "OS_CLIENT_CONFIG_FILE",
                key: "clouds.yaml",
            },
            changes: Changes::Followed,
            cluster_name: ClusterName::Owns,
        },
    },
    Provider {
        name: "vsphere",
        needs: Needs {
            config: Config::Needed,
            credentials: Credentials::None,
            changes: Changes::Followed,
            cluster_name: ClusterName::Describes,
        },
    },
];

/// A control plane of our own, because the files have the names that users have.
static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| ControlPlane::start().unwrap());
static INSTALLED: OnceCell<Vec<CloudControllerManager>> = OnceCell::const_new();

/// Applies every file once; returns the managers of the examples.
async fn installed() -> &'static [CloudControllerManager] {
    INSTALLED.get_or_init(install).await
}

async fn install() -> Vec<CloudControllerManager> {
    PLANE.install_crds(&[CRD.to_owned()]).await.unwrap();
    let client = PLANE.client();
    let mut managers = Vec::new();
    for file in [OPERATOR].into_iter().chain(EXAMPLES) {
        for object in documents(&filled_in(file)) {
            let applied = apply(&client, &object)
                .await
                .unwrap_or_else(|error| panic!("{object}: {error}"));
            if object["kind"] == "CloudControllerManager" {
                managers.push(serde_json::from_value(json!(applied)).unwrap());
            }
        }
    }
    let last = json!({"verb": "bind", "group": "rbac.authorization.k8s.io", "resource": "roles", "namespace": "kube-system",
                      "name": "extension-apiserver-authentication-reader"});
    assert!(comes_to("system:serviceaccount:outrigger-system:outrigger-operator", &last, true).await);
    managers
}

/// An example with the values of a user.
fn filled_in(file: &str) -> String {
    file.replace(PLACEHOLDER, "lab")
}

fn documents(file: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(file).unwrap()
}

/// The operator, with exactly the permissions of the file.
fn operator() -> Client {
    acting_as("system:serviceaccount:outrigger-system:outrigger-operator")
}

fn acting_as(user: &str) -> Client {
    let mut config = PLANE.config();
    config.auth_info.impersonate = Some(user.to_owned());
    config.auth_info.impersonate_groups = Some(vec!["system:authenticated".to_owned()]);
    Client::try_from(config).unwrap()
}

async fn api(object: &Value, client: &Client) -> Api<DynamicObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, text("/kind"));
    // All users may list the kinds; the administrator's client is only faster.
    let (resource, capabilities) = discovery::pinned_kind(&PLANE.client(), &kind).await.unwrap();
    match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => Api::namespaced_with(client.clone(), text("/metadata/namespace"), &resource),
    }
}

/// Applies without unknown fields.
async fn apply(client: &Client, object: &Value) -> Result<DynamicObject, kube::Error> {
    let params = PatchParams::apply("outrigger-operator").force().validation_strict();
    let name = object["metadata"]["name"].as_str().unwrap();
    api(object, client)
        .await
        .patch(name, &params, &Patch::Apply(object))
        .await
}

#[tokio::test]
async fn the_operator_may_create_and_delete_all_objects_of_a_manager() {
    let operator = operator();
    for manager in installed().await {
        let mut renamed = manager.clone();
        // Other tests use the original names.
        renamed.metadata.name = Some(format!("x-{}", manager.name_any()));
        let objects = resources(&renamed, &CONTEXT).unwrap();
        for object in &objects {
            let first = apply(&operator, object.value())
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", object.key()));
            let second = apply(&operator, object.value()).await.unwrap();
            assert_eq!(
                first.resource_version(),
                second.resource_version(),
                "{} is not stable",
                object.key()
            );
        }
        for object in objects.iter().rev() {
            let api = api(object.value(), &operator).await;
            api.delete(&object.key().name, &DeleteParams::default())
                .await
                .unwrap_or_else(|error| panic!("{}: {error}", object.key()));
        }
    }
}

/// The Pods of a manager are admitted: by the standards of the namespace, with their priority, account and volumes.
#[tokio::test]
async fn the_pods_are_admitted() {
    for manager in installed().await {
        let objects = resources(manager, &CONTEXT).unwrap();
        for object in &objects {
            apply(&operator(), object.value()).await.unwrap();
        }
        let deployment = objects.iter().find(|object| object.key().kind == "Deployment").unwrap();
        let mut pod = deployment.value()["spec"]["template"].clone();
        pod["metadata"]["name"] = json!("tried");
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let pods: Api<Pod> = Api::namespaced(PLANE.client(), CONTEXT.namespace);
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let admitted = pods.create(&dry, &pod).await.unwrap();
        assert!(
            admitted.spec.unwrap().priority.unwrap() > 1_000_000_000,
            "it is critical"
        );
    }
}

#[rstest]
#[case::rights_of_its_own_choice(json!({"verb": "create", "group": "rbac.authorization.k8s.io", "resource": "clusterroles"}))]
#[case::any_right(json!({"verb": "bind", "group": "rbac.authorization.k8s.io", "resource": "clusterroles", "name": "cluster-admin"}))]
#[case::more_than_it_has(json!({"verb": "escalate", "group": "rbac.authorization.k8s.io", "resource": "roles", "namespace": "outrigger-system"}))]
#[case::secrets_of_others(json!({"verb": "get", "resource": "secrets", "namespace": "kube-system"}))]
#[case::the_nodes(json!({"verb": "patch", "resource": "nodes"}))]
#[case::change_specs(json!({"verb": "patch", "group": "outrigger.dev", "resource": "cloudcontrollermanagers"}))]
#[case::create_workloads_elsewhere(json!({"verb": "create", "group": "apps", "resource": "deployments", "namespace": "default"}))]
#[tokio::test]
async fn the_operator_may_not_touch(#[case] attributes: Value) {
    installed().await;
    assert!(
        !may("system:serviceaccount:outrigger-system:outrigger-operator", &attributes).await,
        "{attributes}"
    );
}

/// A role that the operator does not own is refused, although it may create bindings.
#[tokio::test]
async fn the_operator_may_not_bind_any_role() {
    let objects = resources(&installed().await[0], &CONTEXT).unwrap();
    let binding = objects
        .iter()
        .find(|object| object.key().kind == "ClusterRoleBinding")
        .unwrap();
    let mut binding = binding.value().clone();
    binding["metadata"]["name"] = json!("outrigger:mine");
    binding["roleRef"]["name"] = json!("cluster-admin");
    let refusal = apply(&operator(), &binding).await.unwrap_err().to_string();
    assert!(
        refusal.contains("is attempting to grant RBAC permissions not currently held"),
        "{refusal}"
    );
}

/// RBAC lets it write every binding: the policy in the manifest confines it to its own.
#[tokio::test]
async fn the_operator_may_not_write_or_delete_bindings_of_others() {
    installed().await;
    let reader = "extension-apiserver-authentication-reader";
    let object = |kind: &str, role: &str, name: &str| {
        let mut object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"), "metadata": {"name": name},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}, "subjects": []});
        if kind == "Role" {
            object["metadata"]["namespace"] = json!("kube-system");
        }
        object
    };
    let others = [
        object("ClusterRole", names::CLUSTER_ROLE, "of-others"),
        object("Role", reader, "of-others"),
    ];
    for other in &others {
        apply(&PLANE.client(), other).await.unwrap();
        let dry = DeleteParams::default().dry_run();
        let mut patience = lab::Patience::new(std::time::Duration::from_secs(30));
        // A policy takes effect a moment after it was written.
        loop {
            let deleted = api(other, &operator()).await.delete("of-others", &dry).await;
            match deleted {
                Err(error) if error.to_string().contains("only bindings named outrigger:*") => break,
                other => assert!(!patience.is_over("allowed"), "{other:?}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let written = apply(&operator(), other).await.unwrap_err().to_string();
        assert!(written.contains("only bindings named outrigger:*"), "{written}");
    }
    let own = object("Role", reader, "outrigger:own");
    apply(&operator(), &own).await.unwrap();
    api(&own, &operator())
        .await
        .delete("outrigger:own", &DeleteParams::default())
        .await
        .unwrap();
}

/// A user who applies the example unchanged gets no load balancers with its placeholder.
#[tokio::test]
async fn the_placeholder_of_the_example_is_refused() {
    installed().await;
    let manager = documents(EXAMPLES[1])
        .into_iter()
        .find(|object| object["kind"] == "CloudControllerManager");
    let refusal = apply(&PLANE.client(), &manager.unwrap()).await.unwrap_err().to_string();
    assert!(
        refusal.contains("spec.clusterName") && refusal.contains("placeholder"),
        "{refusal}"
    );
}

#[rstest]
#[case::initialise_nodes(json!({"verb": "patch", "resource": "nodes"}), true)]
#[case::write_its_lease(
    json!({"verb": "update", "group": "coordination.k8s.io", "resource": "leases", "namespace": "outrigger-system",
           "name": "memory-cloud-controller-manager"}),
    true
)]
#[case::read_the_authorities_of_clients(
    json!({"verb": "get", "resource": "configmaps", "namespace": "kube-system", "name": "extension-apiserver-authentication"}),
    true
)]
#[case::write_another_lease(
    json!({"verb": "update", "group": "coordination.k8s.io", "resource": "leases", "namespace": "outrigger-system",
           "name": "openstack-cloud-controller-manager"}),
    false
)]
#[case::read_secrets(json!({"verb": "get", "resource": "secrets", "namespace": "outrigger-system"}), false)]
#[tokio::test]
async fn a_manager_may(#[case] attributes: Value, #[case] expected: bool) {
    let memory = installed()
        .await
        .iter()
        .find(|manager| manager.name_any() == "memory")
        .unwrap();
    for object in resources(memory, &CONTEXT).unwrap() {
        apply(&operator(), object.value()).await.unwrap();
    }
    let user = format!("system:serviceaccount:{}:{}", CONTEXT.namespace, names::full("memory"));
    assert!(comes_to(&user, &attributes, expected).await);
}

/// Permissions take effect a moment after they were written.
async fn comes_to(user: &str, attributes: &Value, expected: bool) -> bool {
    for _ in 0..50 {
        if may(user, attributes).await == expected {
            return true;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    false
}

async fn may(user: &str, attributes: &Value) -> bool {
    let review = json!({"spec": {"user": user, "groups": ["system:authenticated"], "resourceAttributes": attributes}});
    let review: SubjectAccessReview = serde_json::from_value(review).unwrap();
    let reviews: Api<SubjectAccessReview> = Api::all(PLANE.client());
    let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
    answer.status.unwrap().allowed
}

/// The permissions of a manager are those with which its own tests run.
#[test]
fn managers_get_the_rights_they_were_tested_with() {
    let rules = |file: &str, kind: &str, name: &str| -> Vec<PolicyRule> {
        let found = documents(file)
            .into_iter()
            .find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        serde_json::from_value(found.unwrap()["rules"].clone()).unwrap()
    };
    let (tested, lock) = (names::CLUSTER_ROLE, "outrigger-cloud-controller-manager");
    assert_eq!(
        rules(OPERATOR, "ClusterRole", names::CLUSTER_ROLE),
        rules(MANAGER, "ClusterRole", tested)
    );
    let manager = CloudControllerManager::new("a", serde_json::from_value(json!({"provider": "memory"})).unwrap());
    let objects = resources(&manager, &CONTEXT).unwrap();
    let role = objects.iter().find(|object| object.key().kind == "Role").unwrap();
    let granted: Vec<PolicyRule> = serde_json::from_value(role.value()["rules"].clone()).unwrap();
    let mut expected = rules(MANAGER, "Role", lock);
    // The second lock is for leader migration from another program, with its names.
    expected[1].resource_names = Some(vec![names::full("a")]);
    assert_eq!(granted, expected);
}

/// The example of the documentation, with managers whose scopes do not overlap.
#[tokio::test]
async fn the_managers_of_the_documentation_run_side_by_side() {
    installed().await;
    let (_, rest) = SEVERAL_CLOUDS.split_once("```yaml\n").unwrap();
    let (yaml, _) = rest.split_once("```").unwrap();
    let mut managers = Vec::new();
    for object in documents(yaml) {
        let applied = apply(&PLANE.client(), &object).await.unwrap();
        let manager: CloudControllerManager = serde_json::from_value(json!(applied)).unwrap();
        assert!(resources(&manager, &CONTEXT).is_ok());
        managers.push(manager);
    }
    assert_eq!(managers.len(), 2);
    assert_eq!(scope::overlaps(&managers, &[], None), []);
    managers[1].spec.secure_port = managers[0].spec.secure_port;
    assert_eq!(scope::overlaps(&managers, &[], None).len(), 1);
}

/// Every kind that the operator creates is one that it can prune.
#[test]
fn every_kind_is_known_to_the_operator() {
    let manager = CloudControllerManager::new("a", serde_json::from_value(json!({"provider": "memory"})).unwrap());
    for object in resources(&manager, &CONTEXT).unwrap() {
        let key = Object::key(&object);
        let known = operator::operands::kinds::KINDS
            .iter()
            .any(|kind| kind.kind == key.kind);
        assert!(known, "{key}");
    }
}

/// The documents describe how to set the image in the manifest, and this changes every place with an image.
#[test]
fn the_image_is_named_as_documented() {
    let line = |text: &'static str| text.lines().find(|line| line.starts_with("sed -i 's|")).unwrap();
    assert_eq!(line(README), line(DOCUMENTATION));
    let parts: Vec<&str> = line(README).split('|').collect();
    let (old, new) = (parts[1], parts[2]);
    assert!(
        line(README).ends_with("' deploy/kubernetes/operator.yaml"),
        "{}",
        line(README)
    );
    let made = format!("make image NAME={new} ");
    assert!(README.contains(&made) && DOCUMENTATION.contains(&made), "{made}");
    // Like sed: the first occurrence in every line.
    let named: Vec<String> = OPERATOR.lines().map(|line| line.replacen(old, new, 1)).collect();
    let objects = documents(&named.join("\n"));
    let of_kind = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let container = &of_kind("Deployment")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], new);
    // The managers use the same image.
    assert_eq!(OPERATOR.matches(old).count(), 1);
    let args = container["args"].to_string();
    assert!(
        args.contains("--own-pod=$(POD_NAME)") && !args.contains("--images-json"),
        "{args}"
    );
}
