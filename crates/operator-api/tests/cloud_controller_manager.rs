//! What an API server makes of our own kind: its definition is accepted, its rules refuse, its defaults fill in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use lab::ControlPlane;
use operator_api::{
    CloudControllerManager,
    cloud_controller_manager::{Claim, ManagementState, OWN_FLAGS, Routes, Spec, Status, Texts, crd_yaml},
    cluster_operator::ObjectReference,
};
use rstest::rstest;
use serde_json::{Value, json};
use std::sync::LazyLock;
use tokio::sync::OnceCell;

/// A control plane of our own: what is made here would be in the way of operators.
static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| ControlPlane::start().unwrap());
static INSTALLED: OnceCell<()> = OnceCell::const_new();

async fn api() -> Api<CloudControllerManager> {
    let install = || async { PLANE.install_crds(&[crd_yaml(&Texts::default())]).await.unwrap() };
    INSTALLED.get_or_init(install).await;
    Api::all(PLANE.client())
}

/// Applies it with nothing unknown allowed.
async fn apply(name: &str, spec: &Value) -> Result<CloudControllerManager, String> {
    let object = json!({"apiVersion": "outrigger.dev/v1alpha1", "kind": "CloudControllerManager",
                        "metadata": {"name": name}, "spec": spec});
    let params = PatchParams::apply("test").validation_strict();
    let applied = api().await.patch(name, &params, &Patch::Apply(object)).await;
    applied.map_err(|error| error.to_string())
}

#[tokio::test]
async fn omitted_fields_get_their_defaults() {
    let name = lab::unique("least");
    let read = apply(&name, &json!({"provider": "memory"})).await.unwrap();
    let expected = Spec {
        provider: "memory".to_owned(),
        management_state: ManagementState::Managed,
        routes: Routes::Disabled,
        controllers: vec!["*".to_owned()],
        replicas: 2,
        secure_port: 10258,
        log_verbosity: 0,
        ..Spec::default()
    };
    assert_eq!(read.spec, expected);
    assert_eq!(
        serde_json::from_value::<Spec>(json!({"provider": "memory"})).unwrap(),
        expected,
        "the same without a server"
    );
}

#[tokio::test]
async fn all_fields_are_kept() {
    let name = lab::unique("most");
    let spec = json!({
        "provider": "openstack", "managementState": "Unmanaged", "image": "example.com/outrigger:1",
        "imagePullSecrets": [{"name": "registry"}],
        "cloudConfig": {"secret": {"name": "cloud", "key": "conf"}}, "credentials": {"secret": {"name": "keys"}},
        "clusterName": "prod", "clusterCIDRs": ["10.244.0.0/16", "fd00:1::/48"], "routes": "Enabled",
        "scope": {
            "nodeSelector": {
                "matchLabels": {"cloud": "a"},
                "matchExpressions": [{"key": "edge", "operator": "DoesNotExist"},
                                     {"key": "pool", "operator": "In", "values": ["x", "y"]}],
            },
            "providerIDSchemes": ["openstack"], "loadBalancerClasses": ["example.com/fast"],
            "servicesWithoutClass": "Ignore",
        },
        "controllers": ["*", "-node-route-controller"], "replicas": 3, "securePort": 10268, "logVerbosity": 4,
        "extraArgs": ["--node-monitor-period=10s", "--profiling"],
        "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "placement": {"nodeSelector": {"a": "b"},
                      "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}]},
        "resources": {"requests": {"cpu": 1, "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
    });
    let read = apply(&name, &spec).await.unwrap();
    assert_eq!(json!(read.spec), spec);
}

#[rstest]
#[case::nothing(json!({}), "spec.provider: Required value")]
#[case::unknown_field(json!({"provider": "memory", "colour": "red"}), "colour")]
#[case::no_provider(json!({"provider": ""}), "spec.provider")]
#[case::unknown_state(json!({"provider": "memory", "managementState": "Gone"}), "Unsupported value: \"Gone\"")]
#[case::two_configs(
    json!({"provider": "memory", "cloudConfig": {"configMap": {"name": "a"}, "secret": {"name": "b"}}}),
    "name either a configMap or a secret"
)]
#[case::no_config(json!({"provider": "memory", "cloudConfig": {}}), "name either a configMap or a secret")]
#[case::no_replicas(json!({"provider": "memory", "replicas": 0}), "spec.replicas: Invalid value: 0")]
#[case::many_replicas(json!({"provider": "memory", "replicas": 10}), "spec.replicas: Invalid value: 10")]
#[case::no_flag(json!({"provider": "memory", "extraArgs": ["profiling"]}), "spec.extraArgs[0]")]
#[case::one_dash(json!({"provider": "memory", "extraArgs": ["-v=2"]}), "spec.extraArgs[0]")]
#[case::own_flag(json!({"provider": "memory", "extraArgs": ["--profiling", "--controllers=*"]}), "set by the operator")]
#[case::own_switch(json!({"provider": "memory", "extraArgs": ["--leader-elect"]}), "set by the operator")]
#[case::routes_to_nowhere(json!({"provider": "memory", "routes": "Enabled"}), "routes need clusterCIDRs")]
#[case::no_network(json!({"provider": "memory", "clusterCIDRs": ["10.0.0.0"]}), "each is a network")]
#[case::one_family(
    json!({"provider": "memory", "clusterCIDRs": ["10.0.0.0/16", "10.1.0.0/16"]}),
    "two networks have to be of different families"
)]
#[case::no_values(
    json!({"provider": "memory", "scope": {"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}}),
    "In and NotIn need values"
)]
#[case::values(
    json!({"provider": "memory", "scope": {"nodeSelector": {"matchExpressions":
        [{"key": "a", "operator": "Exists", "values": ["b"]}]}}}),
    "Exists and DoesNotExist have none"
)]
#[case::a_whole_id(json!({"provider": "memory", "scope": {"providerIDSchemes": ["openstack://"]}}), "providerIDSchemes[0]")]
#[case::a_port_of_root(json!({"provider": "memory", "securePort": 443}), "spec.securePort")]
#[case::no_image(json!({"provider": "memory", "image": "UPPER case:::"}), "spec.image")]
#[case::a_cluster_name_with_blanks(json!({"provider": "memory", "clusterName": "a b"}), "spec.clusterName")]
#[case::no_controllers(json!({"provider": "memory", "controllers": []}), "spec.controllers")]
#[case::no_quantity(json!({"provider": "memory", "resources": {"limits": {"cpu": "much"}}}), "spec.resources.limits.cpu")]
#[tokio::test]
async fn refuses(#[case] spec: Value, #[case] because: &str) {
    let refusal = apply(&lab::unique("refused"), &spec).await.unwrap_err();
    assert!(refusal.contains(because), "{refusal}");
}

#[rstest]
#[case::short("outrigger")]
#[case::tag("registry.example.com/outrigger:v1.2.3-rc.1")]
#[case::port("localhost:5000/a/b_c/outrigger:dev")]
#[case::digest("quay.io/o/outrigger@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]
#[case::both("quay.io/o/outrigger:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")]
#[tokio::test]
async fn takes_images(#[case] image: &str) {
    let name = lab::unique("image");
    apply(&name, &json!({"provider": "memory", "image": image}))
        .await
        .unwrap();
}

#[rstest]
#[case::longest(&"a".repeat(38), Ok(()))]
#[case::too_long(&"a".repeat(39), Err("at most 38"))]
#[case::a_digit_first("1st", Err("starts with a letter"))]
#[case::dots("a.b", Err("at most 38 lower-case letters"))]
#[tokio::test]
async fn names(#[case] name: &str, #[case] expected: Result<(), &str>) {
    let applied = apply(name, &json!({"provider": "memory"})).await;
    match (applied, expected) {
        (Ok(_), Ok(())) => {}
        (Err(refusal), Err(because)) => assert!(refusal.contains(because), "{refusal}"),
        (applied, _) => panic!("{applied:?}"),
    }
}

#[tokio::test]
async fn every_flag_of_the_operator_is_refused() {
    for flag in OWN_FLAGS {
        let spec = json!({"provider": "memory", "extraArgs": [format!("{flag}=x")]});
        let refusal = apply(&lab::unique("flag"), &spec).await.unwrap_err();
        assert!(refusal.contains("set by the operator"), "{flag}: {refusal}");
    }
}

#[tokio::test]
async fn the_status_is_written_apart_from_the_spec() {
    let name = lab::unique("status");
    let made = apply(&name, &json!({"provider": "memory"})).await.unwrap();
    let taken = json!({
        "provider": "openstack", "cloudConfig": {"secret": {"name": "cloud"}}, "credentials": {"secret": {"name": "keys"}},
        "scope": {"nodeSelector": {"matchExpressions": [{"key": "edge", "operator": "Exists"}]}, "servicesWithoutClass": "Ignore"},
    });
    let status = Status {
        message: "none".to_owned(),
        observed_generation: made.metadata.generation,
        conditions: ["Available", "Progressing", "Degraded"].map(condition).to_vec(),
        related_objects: vec![ObjectReference {
            group: "apps".to_owned(),
            resource: "deployments".to_owned(),
            namespace: "outrigger-system".to_owned(),
            name: "x".to_owned(),
        }],
        claims: vec![
            Claim::of(&made.spec),
            Claim::of(&serde_json::from_value(taken).unwrap()),
        ],
        version: "0.1.0".to_owned(),
        replicas: Some(2),
        ready_replicas: Some(1),
    };
    let object = json!({"apiVersion": "outrigger.dev/v1alpha1", "kind": "CloudControllerManager", "status": status});
    let params = PatchParams::apply("test").validation_strict();
    let read = api()
        .await
        .patch_status(&name, &params, &Patch::Apply(object))
        .await
        .unwrap();
    assert_eq!(read.status, Some(status));
    assert_eq!(
        read.metadata.generation,
        made.metadata.generation,
        "{}",
        read.name_any()
    );
}

fn condition(type_: &str) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: "AsExpected".to_owned(),
        message: "all is well".to_owned(),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
        observed_generation: Some(1),
    }
}

#[tokio::test]
async fn kubectl_prints_the_columns() {
    let name = lab::unique("printed");
    apply(&name, &json!({"provider": "memory"})).await.unwrap();
    let conditions = [("Available", "False", "no"), ("Degraded", "True", "another text")];
    let conditions = conditions.map(|(type_, status, message)| Condition {
        status: status.to_owned(),
        message: message.to_owned(),
        ..condition(type_)
    });
    let status = Status {
        conditions: conditions.to_vec(),
        message: "the Secret keys does not exist".to_owned(),
        version: "0.1.0".to_owned(),
        ready_replicas: Some(0),
        ..Status::default()
    };
    let params = PatchParams::default();
    let patch = Patch::Merge(json!({ "status": status }));
    api().await.patch_status(&name, &params, &patch).await.unwrap();

    let path = format!("/apis/outrigger.dev/v1alpha1/cloudcontrollermanagers/{name}");
    let request = http::Request::get(path).header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table: Value = PLANE.client().request(request.body(Vec::new()).unwrap()).await.unwrap();
    let columns: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        columns,
        [
            "Name",
            "Provider",
            "State",
            "Available",
            "Ready",
            "Version",
            "Age",
            "Message"
        ]
    );
    let mut cells = table["rows"][0]["cells"].clone();
    cells[6] = json!("?");
    let expected = json!([
        name,
        "memory",
        "Managed",
        "False",
        0,
        "0.1.0",
        "?",
        "the Secret keys does not exist"
    ]);
    assert_eq!(cells, expected);
}

#[tokio::test]
async fn kubectl_explains_every_field() {
    api().await;
    let client = PLANE.client();
    let path = "/openapi/v3/apis/outrigger.dev/v1alpha1";
    let document: Value = loop {
        // It is published a moment after the kind is served.
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        match client.request(request).await {
            Ok(document) => break document,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
        }
    };
    let schema = &document["components"]["schemas"]["dev.outrigger.v1alpha1.CloudControllerManager"];
    let mut undescribed = Vec::new();
    for part in ["spec", "status"] {
        undescribed_in(&schema["properties"][part], part, &mut undescribed);
    }
    assert_eq!(
        undescribed,
        Vec::<String>::new(),
        "fields without a text for kubectl explain"
    );
}

fn undescribed_in(schema: &Value, path: &str, found: &mut Vec<String>) {
    if schema["description"].as_str().unwrap_or_default().is_empty() {
        found.push(path.to_owned());
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        undescribed_in(inner, &format!("{path}.{name}"), found);
    }
    for (name, inner) in schema["items"]["properties"].as_object().into_iter().flatten() {
        undescribed_in(inner, &format!("{path}[].{name}"), found);
    }
}
