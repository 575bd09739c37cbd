//! The operator's operands, the manifests and the chart are the same, except where they have to differ.

use crate::tools::{documents, one, read, template};
use k8s_openapi::api::rbac::v1::PolicyRule;
use operator::{
    Object,
    standalone::{
        Context, names,
        provider::{Changes, ClusterName, Config, Credentials, Needs, Provider},
        resources,
    },
};
use operator_api::CloudControllerManager;
use rstest::rstest;
use serde_json::{Value, json};

const MEMORY: &[Provider] = &[Provider {
    name: "memory",
    needs: Needs {
        config: Config::Optional,
        credentials: Credentials::None,
        changes: Changes::Unseen,
        cluster_name: ClusterName::Describes,
    },
}];

/// The operands of a manager.
fn operands(spec: Value) -> Vec<Value> {
    let context = Context {
        namespace: "clouds",
        image: "localhost/outrigger:0.1.0",
        providers: MEMORY,
        flags: &[],
    };
    let manager = CloudControllerManager::new("outrigger", serde_json::from_value(spec).unwrap());
    let objects = resources(&manager, &context).unwrap();
    objects.into_iter().map(Object::into_value).collect()
}

fn chart() -> Vec<Value> {
    documents(&template(&["--set=mode=manager,provider=memory"]).printed())
}

fn manifests() -> Vec<Value> {
    ["rbac", "deployment"]
        .iter()
        .flat_map(|name| documents(&read(&format!("deploy/manager/{name}.yaml"))))
        .collect()
}

/// A Pod without the parts that differ: names, flags, and the certificate that only the operator issues.
fn comparable(mut deployment: Value) -> Value {
    let selector = deployment["spec"]["selector"]["matchLabels"].clone();
    let spec = &mut deployment["spec"];
    assert_eq!(
        spec["template"]["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
            ["matchLabels"],
        selector
    );
    assert_eq!(
        spec["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
        selector
    );
    for label in selector.as_object().unwrap().keys() {
        assert_eq!(spec["template"]["metadata"]["labels"][label], selector[label]);
    }
    let pod = &mut spec["template"]["spec"];
    pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"] =
        Value::Null;
    pod["topologySpreadConstraints"][0]["labelSelector"] = Value::Null;
    for field in ["volumes", "serviceAccountName"] {
        pod[field] = Value::Null;
    }
    for field in ["args", "env", "volumeMounts", "image"] {
        pod["containers"][0][field] = Value::Null;
    }
    json!({"replicas": spec["replicas"], "strategy": spec["strategy"], "revisionHistoryLimit": spec["revisionHistoryLimit"], "pod": spec["template"]["spec"]})
}

#[rstest]
#[case::chart(chart())]
#[case::manifests(manifests())]
fn pods_are_the_operators(#[case] objects: Vec<Value>) {
    let expected = comparable(one(&operands(json!({"provider": "memory"})), "Deployment").clone());
    assert_eq!(comparable(one(&objects, "Deployment").clone()), expected);
}

#[rstest]
#[case::chart(chart())]
#[case::manifests(manifests())]
fn services_and_budgets_are_the_operators(#[case] objects: Vec<Value>) {
    let operands = operands(json!({"provider": "memory"}));
    let ports = |objects: &[Value]| one(objects, "Service")["spec"]["ports"].clone();
    assert_eq!(ports(&objects), ports(&operands));
    let budget = |objects: &[Value]| {
        let mut spec = one(objects, "PodDisruptionBudget")["spec"].clone();
        spec["selector"] = Value::Null;
        spec
    };
    assert_eq!(budget(&objects), budget(&operands));
}

fn rules(objects: &[Value], kind: &str, name: &str) -> Vec<PolicyRule> {
    let found = objects.iter().find(|object| {
        object["kind"] == kind
            && object["metadata"]["name"]
                .as_str()
                .is_some_and(|full| full.starts_with(name))
    });
    serde_json::from_value(found.unwrap_or_else(|| panic!("no {kind} {name}"))["rules"].clone()).unwrap()
}

/// The same permissions, wherever they are installed.
#[test]
fn permissions_are_the_same_everywhere() {
    let expected = rules(
        &documents(&read("deploy/kubernetes/operator.yaml")),
        "ClusterRole",
        names::CLUSTER_ROLE,
    );
    assert_eq!(expected.len(), 7);
    let operator = documents(&template(&[]).printed());
    let overlay = documents(&read("deploy/kustomize/base/manager/rbac.yaml"));
    assert_eq!(rules(&operator, "ClusterRole", names::CLUSTER_ROLE), expected);
    assert_eq!(rules(&manifests(), "ClusterRole", names::CLUSTER_ROLE), expected);
    assert_eq!(rules(&overlay, "ClusterRole", names::CLUSTER_ROLE), expected);
    assert_eq!(rules(&chart(), "ClusterRole", "outrigger:clouds:"), expected);
    // Those of the operator itself.
    let manifest = documents(&read("deploy/kubernetes/operator.yaml"));
    for kind in ["ClusterRole", "Role"] {
        assert_eq!(
            rules(&operator, kind, "outrigger-operator"),
            rules(&manifest, kind, "outrigger-operator"),
            "{kind}"
        );
    }
}

/// The chart and the operator set the same flags for the same settings.
#[test]
fn flags_are_the_operators() {
    let spec = json!({"provider": "memory", "clusterName": "prod", "securePort": 10300, "logVerbosity": 4, "controllers": ["*", "-service"],
                      "cloudConfig": {"secret": {"name": "cloud-config"}}, "extraArgs": ["--node-monitor-period=3s"]});
    let args = |objects: &[Value]| -> Vec<String> {
        serde_json::from_value(one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"].clone())
            .unwrap()
    };
    let set = "mode=manager,provider=memory,cluster.name=prod,securePort=10300,logVerbosityLevel=4,secret.create=false,\
               leaderElection.name=outrigger-cloud-controller-manager,leaderElection.namespace=clouds";
    let chart = template(&[
        &format!("--set={set}"),
        "--set=enabledControllers={*,-service}",
        "--set=controllerExtraArgs={--node-monitor-period=3s}",
    ]);
    let mut chart = args(&documents(&chart.printed()));
    let mut operator = args(&operands(spec));
    // The operator issues the certificate, and disables routes.
    operator.retain(|flag| !flag.starts_with("--tls-") && !flag.starts_with("--configure-cloud-routes"));
    chart.sort();
    operator.sort();
    assert_eq!(chart, operator);
}

/// The image and the namespace are named once each, except for the objects in the namespace.
#[test]
fn the_image_is_named_once() {
    for file in [
        "deploy/kubernetes/operator.yaml",
        "deploy/manager/deployment.yaml",
        "deploy/manager/daemonset.yaml",
        "deploy/manager/static-pod.yaml",
    ] {
        assert_eq!(read(file).matches(operator::packaging::IMAGE).count(), 1, "{file}");
    }
}
