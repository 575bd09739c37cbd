//! With exactly the permissions of the Go operator's release, whose manifests may be in use if only the image is changed.

use crate::{
    health::event_message,
    process_fixture::Manager,
    rights::{MANAGED, OPERANDS, managed, release, seal_source, start, user},
    world::{OPERATOR_NAMESPACE, World, config_map, kind},
};
use rstest::rstest;
use serde_json::{Value, json};

const RIGHTS: &str = include_str!("upstream-rights.yaml");
const NAME: &str = "upstream-rights";
const GROUP: &str = "rbac.authorization.k8s.io";

/// Grants them, and starts the operator with them.
async fn started(world: &World) -> Manager {
    // The release also creates the accounts and roles of operands.
    drop(release(world, |_| {}).await);
    withdraw(world).await;
    let rights: Value = serde_saphyr::from_str(RIGHTS).unwrap();
    grant(world, "", rights["cluster"].clone()).await;
    for (namespace, rules) in rights["namespaces"].as_object().unwrap() {
        grant(world, namespace, rules.clone()).await;
    }
    for part in rights["admin"].as_array().unwrap() {
        let name = part.as_str().unwrap();
        bind(world, OPERANDS, name, "ClusterRole", name).await;
    }
    start(world)
}

/// Removes the permissions of our own manifests.
async fn withdraw(world: &World) {
    for (kind_, namespaces) in [
        ("ClusterRoleBinding", &[""][..]),
        (
            "RoleBinding",
            &[
                OPERANDS,
                OPERATOR_NAMESPACE,
                "openshift-config",
                "openshift-config-managed",
                "kube-system",
            ],
        ),
    ] {
        for namespace in namespaces {
            let api = world.api(&kind(kind_), namespace);
            for binding in api.list(&kube::api::ListParams::default()).await.unwrap() {
                if binding.data["subjects"]
                    .to_string()
                    .contains("\"cluster-cloud-controller-manager\"")
                {
                    let name = binding.metadata.name.unwrap();
                    api.delete(&name, &kube::api::DeleteParams::default()).await.unwrap();
                }
            }
        }
    }
}

async fn grant(world: &World, namespace: &str, rules: Value) {
    let role = if namespace.is_empty() { "ClusterRole" } else { "Role" };
    world.apply(&kind(role), namespace, NAME, json!({"rules": rules})).await;
    bind(world, namespace, NAME, role, NAME).await;
}

async fn bind(world: &World, namespace: &str, name: &str, kind_: &str, role: &str) {
    let binding = json!({
        "roleRef": {"apiGroup": GROUP, "kind": kind_, "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user()}],
    });
    let binding_kind = if namespace.is_empty() {
        "ClusterRoleBinding"
    } else {
        "RoleBinding"
    };
    world.apply(&kind(binding_kind), namespace, name, binding).await;
}

/// Every platform is installed. Objects of the previous one that may not be deleted are named with the verb, and nothing else is affected.
#[rstest]
#[case::azure("Azure", "azure", Some("clusterroles"))]
#[case::vsphere("VSphere", "vsphere", Some("clusterroles"))]
#[case::aws("AWS", "aws", Some("validatingadmissionpolicies"))]
#[case::nutanix("Nutanix", "nutanix", Some("clusterroles"))]
#[case::gcp("GCP", "gcp", Some("clusterroles"))]
#[case::openstack("OpenStack", "openstack", None)]
#[tokio::test]
async fn installs(#[case] platform: &str, #[case] name: &str, #[case] left: Option<&str>) {
    let world = World::in_namespace(OPERANDS).await;
    world.set_platform(platform).await;
    let operator = started(&world).await;
    let deployment = format!("Deployment {name}-cloud-controller-manager");
    world.runs(&operator, name).await;
    world
        .reports(&operator, &["Available=True", "Degraded=False", "Upgradeable=True"])
        .await;

    world.set_platform("IBMCloud").await;
    world.runs(&operator, "ibm").await;
    world.gone(&operator, &deployment).await;
    let Some(left) = left else {
        let conditions = world.reports(&operator, &["Available=True", "Progressing=False"]).await;
        assert!(!conditions.contains("cannot delete"), "{conditions}");
        return;
    };
    let line = operator.logged("may not be deleted").await;
    let resource = format!("cannot delete resource \\\"{left}\\\"");
    assert!(
        line.replace("\\\\", "\\").contains(&resource),
        "{resource} is not in {line}"
    );
    let conditions = world
        .reports(&operator, &["Available=True", "Degraded=False", "Progressing=False"])
        .await;
    let available = conditions
        .lines()
        .find(|line| line.starts_with("Available=True"))
        .unwrap();
    assert!(
        available.contains("cannot delete resource") && available.contains(left),
        "{available}"
    );

    // With the verb it is deleted.
    drop(release(&world, |_| {}).await);
    operator.signal("TERM");
    operator.exited().await;
    let operator = start(&world);
    let look = async || match world.conditions().await {
        conditions if conditions.contains("cannot delete") => Err(conditions),
        _ => Ok(()),
    };
    operator.until("the rest to go", look).await;
    world.gone(&operator, &format!("{name}-cloud")).await;
    world.gone(&operator, &format!("cloud-provider-{name}")).await;
}

/// An immutable managed configuration may not be replaced either: the operator reports what to do, and recreates it afterwards.
#[tokio::test]
async fn an_immutable_configuration_is_deleted_by_the_user() {
    let world = World::in_namespace(OPERANDS).await;
    world.set_gates(&["VSphereMultiVCenterDay2"]).await;
    world.set_platform("VSphere").await;
    seal_source(&world, "vc2.lab").await;
    let operator = started(&world).await;
    managed(&world, &operator, "vc2.lab").await;
    seal_source(&world, "vc3.lab").await;
    let message = event_message(&world, &operator, MANAGED, "ResourceRecreateFailed").await;
    for part in [
        "kube-cloud-config",
        "cannot delete resource",
        "it cannot be changed: delete it by hand, and it is recreated",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    let api = world.api(&config_map(), MANAGED);
    let params = kube::api::DeleteParams::default();
    api.delete("kube-cloud-config", &params).await.unwrap();
    managed(&world, &operator, "vc3.lab").await;
}
