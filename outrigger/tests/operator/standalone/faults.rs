//! Refused writes and unknown or unreadable objects are reported in the manager's conditions, which name the object.

use super::cluster::{Cluster, definition, managers, scope};
use crate::{
    objects::{deployment, kind},
    policies::{allow, refuse},
};
use kube::api::ListParams;
use serde_json::{Value, json};

/// Reported at once, with the message of the policy; everything else is created; and the report ends without a restart.
#[tokio::test]
async fn a_policy_refuses_an_operand() {
    let world = Cluster::new().await;
    let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let attempt = json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod}});
    refuse(&world, &deployment(), &["CREATE"], attempt).await;
    world.manager("lab", json!({"provider": "memory"})).await;
    let operator = world.start();
    let conditions = world.reports(&operator, "lab", &["Degraded=True SyncingFailed"]).await;
    let object = format!(
        "cannot create Deployment {}/lab-cloud-controller-manager: ",
        world.namespace
    );
    for part in [
        object.as_str(),
        "no Deployments on Mondays",
        "Available=False SyncingFailed",
    ] {
        assert!(conditions.contains(part), "{part} is not in {conditions}");
    }
    let budgets = kind("PodDisruptionBudget");
    let budgets = world.api(&budgets, &world.namespace);
    assert!(budgets.get_opt("lab-cloud-controller-manager").await.unwrap().is_some());

    allow(&world, &deployment()).await;
    world.installed(&operator, "lab").await;
}

/// It may be temporary, so it is reported without an alert.
#[tokio::test]
async fn the_namespace_is_terminating() {
    let world = Cluster::new().await;
    world.manager("lab", json!({"provider": "memory"})).await;
    world.delete(&kind("Namespace"), "", &world.namespace).await;
    let operator = world.operator().flag("--leader-elect=false").start();
    let conditions = world
        .reports(&operator, "lab", &["Progressing=True Retrying", "Degraded=False"])
        .await;
    let object = format!(
        "cannot create Deployment {}/lab-cloud-controller-manager: ",
        world.namespace
    );
    for part in [object.as_str(), "because it is being terminated"] {
        assert!(conditions.contains(part), "{part} is not in {conditions}");
    }
    let bound = world.api(&kind("ClusterRoleBinding"), "");
    let name = "outrigger:lab-cloud-controller-manager";
    assert!(
        bound.get_opt(name).await.unwrap().is_some(),
        "what belongs to the cluster"
    );
}

/// Grants a user all permissions of the operator, except to list and watch some resources.
async fn grant_all_but(world: &Cluster, user: &str, hidden: &str) {
    let all = [
        "cloudcontrollermanagers",
        "cloudcontrollermanagers/status",
        "serviceaccounts",
        "services",
        "configmaps",
        "secrets",
        "roles",
        "clusterroles",
        "rolebindings",
        "clusterrolebindings",
        "poddisruptionbudgets",
        "deployments",
        "servicemonitors",
        "prometheusrules",
        "pods",
        "events",
        "leases",
    ];
    let seen: Vec<_> = all.into_iter().filter(|resource| *resource != hidden).collect();
    // A user can only grant permissions that it has.
    let rules = json!({"rules": [
        {"apiGroups": ["*"], "resources": seen, "verbs": ["*"]},
        {"apiGroups": ["*"], "resources": [hidden], "verbs": ["get", "create", "patch", "delete"]},
    ]});
    world.apply(&kind("ClusterRole"), "", user, rules).await;
    let binding = json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    });
    world.apply(&kind("ClusterRoleBinding"), "", user, binding).await;
}

fn hash(deployment: &Value) -> Value {
    deployment["spec"]["template"]["metadata"]["annotations"]["operator.openshift.io/config-hash"].clone()
}

/// A configuration that cannot be read is not missing: Pods are not rolled for it.
#[tokio::test]
async fn an_unknown_configuration_rolls_nothing() {
    let world = Cluster::new().await;
    world.config("cloud", "{}").await;
    let map = json!({"name": "cloud", "key": "cloud.conf"});
    world
        .manager("lab", json!({"provider": "memory", "cloudConfig": {"configMap": map}}))
        .await;
    let operator = world.start();
    world.installed(&operator, "lab").await;
    world.settled().await;
    operator.signal("TERM");
    operator.exited().await;
    let before = world.deployment("lab").await.unwrap();
    assert!(hash(&before).is_string(), "{before:#}");

    grant_all_but(&world, "blind", "configmaps").await;
    let mark = world.mark();
    let operator = world.operator_as(&world.plane().kubeconfig_for("blind", &[])).start();
    let conditions = world.reports(&operator, "lab", &["Progressing=True Retrying"]).await;
    let object = format!("cannot read ConfigMap {}/cloud: ", world.namespace);
    for part in [object.as_str(), "Available=True", "Degraded=False"] {
        assert!(conditions.contains(part), "{part} is not in {conditions}");
    }
    world.settled().await;
    let after = world.deployment("lab").await.unwrap();
    assert_eq!(after["metadata"]["generation"], before["metadata"]["generation"]);
    assert_eq!(hash(&after), hash(&before));
    let others = |write: &&String| !write.contains("cloudcontrollermanagers");
    let writes = world.writes_since(mark);
    assert_eq!(writes.iter().filter(others).count(), 0, "{writes:#?}");

    grant_all_but(&world, "blind", "nothing").await;
    world
        .reports(
            &operator,
            "lab",
            &["Available=True", "Progressing=False", "Degraded=False"],
        )
        .await;
    assert_eq!(hash(&world.deployment("lab").await.unwrap()), hash(&before));
}

/// The definition without its rules, as in another version.
fn lax() -> String {
    let mut definition: Value = serde_saphyr::from_str(&definition()).unwrap();
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        let schema = &mut version["schema"]["openAPIV3Schema"];
        *schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }});
        version.as_object_mut().unwrap().remove("additionalPrinterColumns");
    }
    definition.to_string()
}

/// An object that cannot be parsed is not changed, and its invalid field is reported; a manager that may overlap with it waits.
#[tokio::test]
async fn an_unreadable_manager_is_reported() {
    let world = Cluster::with(lax()).await;
    let spec = |zone: &str, port: u16| json!({"provider": "memory", "securePort": port, "scope": scope(zone)});
    world.manager("first", spec("first", 10300)).await;
    let operator = world.start();
    world.installed(&operator, "first").await;
    let mut odd = spec("odd", 10301);
    odd["replicas"] = json!("two");
    world.manager("odd", odd).await;
    let conditions = world.reports(&operator, "odd", &["Degraded=True Unreadable"]).await;
    assert!(
        conditions.contains("spec.replicas: invalid type: string \"two\""),
        "{conditions}"
    );
    operator.logged("spec.replicas: invalid type").await;

    world.manager("second", spec("second", 10302)).await;
    let conditions = world
        .reports(&operator, "second", &["Degraded=True ScopeUnknown"])
        .await;
    assert!(conditions.contains("\"odd\""), "{conditions}");
    assert_eq!(world.related("second").await, [""; 0]);
    let first = world.conditions("first").await;
    assert!(first[0].starts_with("Available=True"), "{first:#?}");

    world.manager("odd", spec("odd", 10301)).await;
    world.reports(&operator, "odd", &["Degraded=False"]).await;
    world
        .reports(&operator, "second", &["Degraded=False", "Progressing=True"])
        .await;
    assert_eq!(
        world
            .api(&managers(), "")
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        3
    );
}

/// The events with this reason about a manager's Deployment: count and message.
async fn events(world: &Cluster, reason: &str) -> Vec<String> {
    let api = world.api(&kind("Event"), &world.namespace);
    let events = api.list(&ListParams::default()).await.unwrap();
    let mut lines: Vec<_> = events
        .into_iter()
        .filter(|event| event.data["reason"] == reason)
        .map(|event| {
            let (about, text) = (&event.data["involvedObject"], |key: &str| {
                event.data[key].as_str().unwrap().to_owned()
            });
            assert_eq!(about["kind"], "Deployment", "{about}");
            assert_eq!(about["name"], "lab-cloud-controller-manager", "{about}");
            format!("{} {}x {}", text("type"), event.data["count"], text("message"))
        })
        .collect();
    lines.sort();
    lines
}

/// Pods that cannot start because an input is missing: this is reported, with the reason of the Go program, once and not in every
/// pass, whether the provider reloads changes by itself or not.
#[rstest::rstest]
#[case::read_once("memory", json!({"cloudConfig": {"configMap": {"name": "cloud"}}}), &["ConfigMap \"cloud\""])]
#[case::followed(
    "openstack",
    json!({"cloudConfig": {"configMap": {"name": "cloud"}}, "credentials": {"secret": {"name": "keys"}}}),
    &["ConfigMap \"cloud\"", "Secret \"keys\""]
)]
#[tokio::test]
async fn missing_inputs_of_pods_are_reported(
    #[case] provider: &str,
    #[case] mut spec: Value,
    #[case] missing: &[&str],
) {
    let world = Cluster::new().await;
    spec["provider"] = json!(provider);
    world.manager("lab", spec.clone()).await;
    let operator = world.start();
    let expected = |times: usize| -> Vec<String> {
        let event = |what: &&str| format!("Warning {times}x error calculating configuration hash: {what} not found");
        missing.iter().map(event).collect()
    };
    let comes_to = async |times: usize| {
        let look = async || match events(&world, "ConfigurationCheckFailed").await {
            found if found == expected(times) => Ok(()),
            found => Err(format!("{found:#?}")),
        };
        operator.until(&format!("{times} events"), look).await;
    };
    comes_to(1).await;
    // One more pass, with everything else unchanged.
    world.installed(&operator, "lab").await;
    spec["logVerbosity"] = json!(3);
    world.manager("lab", spec).await;
    world.installed(&operator, "lab").await;
    world.settled().await;
    assert_eq!(events(&world, "ConfigurationCheckFailed").await, expected(1));

    // It is created, and deleted again.
    let secret = kind("Secret");
    world.config("cloud", "{}").await;
    world
        .apply(
            &secret,
            &world.namespace,
            "keys",
            json!({"stringData": {"clouds.yaml": "{}"}}),
        )
        .await;
    world.settled().await;
    assert_eq!(events(&world, "ConfigurationCheckFailed").await, expected(1));
    for resource in [secret, kind("ConfigMap")] {
        let name = if resource.kind == "Secret" { "keys" } else { "cloud" };
        world.delete(&resource, &world.namespace, name).await;
    }
    comes_to(2).await;
}
