//! The Deployment starts the operator; and so does the Go operator's own Deployment.

use crate::manifests::{OPERATOR, documents, one};
use operator::options::{Invocation, Options, Role};
use rstest::rstest;
use runtime::flags::{GoDuration, Switch};
use serde_json::{Value, json};

fn ours() -> Value {
    one("Deployment", "cluster-cloud-controller-manager-operator")
}

fn upstream() -> Value {
    documents(include_str!("upstream-deployment.yaml"), "upstream-deployment.yaml").remove(0)
}

/// The program and the arguments at the end of a container's script.
fn command(container: &Value) -> (String, Vec<String>) {
    let words: Vec<_> = container["command"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let ["/bin/bash", "-c", script] = words.as_slice() else {
        panic!("{words:?}");
    };
    assert_eq!(container["args"], Value::Null);
    let (_, exec) = script.split_once("exec ").unwrap();
    let mut words = exec.split_whitespace().filter(|word| *word != "\\");
    let program = words.next().unwrap().trim_start_matches('/').to_owned();
    (program, words.map(|word| word.trim_matches('"').to_owned()).collect())
}

fn options(deployment: &Value, container: usize, role: Role) -> Options {
    let (program, args) = command(&deployment["spec"]["template"]["spec"]["containers"][container]);
    let expected = match role {
        Role::Operator => "cluster-controller-manager-operator",
        Role::ConfigSync => "config-sync-controllers",
    };
    assert_eq!(program, expected);
    match Options::parse(&program, role, args) {
        Ok(Invocation::Run(options)) => *options,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ours_is_one_program() {
    let deployment = ours();
    let options = options(&deployment, 0, Role::Operator);
    assert_eq!(options.health_address, "127.0.0.1:9259");
    assert_eq!(options.metrics_address, ":9258");
    assert_eq!(options.election.resource_namespace, OPERATOR);
    assert_eq!(options.election.elect, Switch::On);
    let mounts = deployment["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
        .as_array()
        .unwrap();
    let paths: Vec<_> = mounts
        .iter()
        .map(|mount| mount["mountPath"].as_str().unwrap())
        .collect();
    assert!(paths.contains(&options.cert_dir.as_str()), "{paths:?}");
    assert!(paths.iter().any(|path| options.images.starts_with(path)), "{paths:?}");
}

// Operator.md W26: with durations on the command line a single node would not get its own.
#[test]
fn w26_a_single_node_may_take_its_time() {
    let options = options(&ours(), 0, Role::Operator);
    let durations = options.election.durations();
    assert!(
        durations.iter().all(|duration| *duration == GoDuration::default()),
        "{durations:?}"
    );
}

// Operator.md W26: a program that hangs is restarted, and one that is not ready is reported.
#[rstest]
#[case("livenessProbe", "/healthz")]
#[case("readinessProbe", "/readyz")]
fn w26_probes(#[case] probe: &str, #[case] path: &str) {
    let container = &ours()["spec"]["template"]["spec"]["containers"][0];
    let get = json!({"host": "127.0.0.1", "path": path, "port": "healthz"});
    assert_eq!(container[probe]["httpGet"], get);
    let port = &container["ports"].as_array().unwrap()[1];
    let health = options(&ours(), 0, Role::Operator).health_address;
    assert_eq!(format!("127.0.0.1:{}", port["containerPort"]), health);
    assert_eq!(port["name"], "healthz");
}

// Operator.md W21: the certificate may be created later than the Pod.
#[test]
fn w21_the_certificate_may_come_later() {
    let volumes = ours()["spec"]["template"]["spec"]["volumes"].clone();
    let tls = volumes
        .as_array()
        .unwrap()
        .iter()
        .find(|volume| volume["secret"].is_object())
        .unwrap();
    assert_eq!(tls["secret"]["optional"], true);
    let service = one("Service", "cloud-controller-manager-operator");
    let secret = &service["metadata"]["annotations"]["service.beta.openshift.io/serving-cert-secret-name"];
    assert_eq!(tls["secret"]["secretName"], *secret);
}

#[test]
fn has_few_privileges_on_its_node() {
    let pod = &ours()["spec"]["template"]["spec"];
    let context = &pod["containers"][0]["securityContext"];
    assert_eq!(
        *context,
        json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
            "runAsNonRoot": true,
        })
    );
    let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
    assert!(mounts.iter().all(|mount| mount["readOnly"] == true), "{mounts:?}");
}

/// It runs before all other Pods: the network waits for the manager, and the manager for the operator.
#[test]
fn starts_before_the_network_of_the_pods() {
    let pod = &ours()["spec"]["template"]["spec"];
    assert_eq!(pod["hostNetwork"], true);
    let tolerated: Vec<_> = pod["tolerations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["key"].as_str().unwrap())
        .collect();
    for taint in [
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/not-ready",
        "node-role.kubernetes.io/master",
    ] {
        assert!(tolerated.contains(&taint), "{tolerated:?}");
    }
    let (_, args) = command(&pod["containers"][0]);
    assert!(!args.is_empty());
    let script = pod["containers"][0]["command"][2].as_str().unwrap();
    assert!(script.contains("source /etc/kubernetes/apiserver-url.env"));
}

#[test]
fn the_go_operators_deployment_starts_ours() {
    let upstream = upstream();
    let operator = options(&upstream, 0, Role::Operator);
    let sync = options(&upstream, 1, Role::ConfigSync);
    assert_eq!(
        [operator.health_address.as_str(), &sync.health_address],
        ["127.0.0.1:9259", "127.0.0.1:9260"]
    );
    assert_eq!(
        operator.election.resource_name,
        "cluster-cloud-controller-manager-leader"
    );
    assert_eq!(sync.election.resource_name, "cluster-cloud-config-sync-leader");
    for options in [operator, sync] {
        let seconds = options.election.durations().map(|duration| duration.to_string());
        assert_eq!(seconds, ["2m17s", "1m47s", "26s"]);
        assert_eq!(options.election.resource_namespace, OPERATOR);
    }
}

/// A roll-back replaces one by the other in place: their immutable fields are the same.
#[test]
fn replaces_the_go_operators() {
    let (ours, upstream) = (ours(), upstream());
    assert_eq!(ours["metadata"]["name"], upstream["metadata"]["name"]);
    assert_eq!(ours["metadata"]["namespace"], upstream["metadata"]["namespace"]);
    assert_eq!(ours["spec"]["selector"], upstream["spec"]["selector"]);
    let account = "/spec/template/spec/serviceAccountName";
    assert_eq!(ours.pointer(account), upstream.pointer(account));
}
