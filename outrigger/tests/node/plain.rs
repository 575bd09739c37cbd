//! From an empty cluster to a running manager with three commands, and back, as in the documents.

use crate::{
    fixture::{Fixture, IMAGE, condition, related, root},
    managers::{NAMESPACE, OBJECTS, deployment, labels, pods, works},
};
use serde_json::{Value, json};
use std::fs;

const NAME: &str = "memory";

/// Installs, changes, removes, installs again, and deletes. The operator is kept.
pub async fn story(fixture: &Fixture) {
    let object_path = format!("{OBJECTS}/{NAME}");
    fixture.assert_uninitialised(fixture.machine()).await;
    for command in commands() {
        fixture.run(&command);
    }
    fixture.run("kubectl wait ccm/memory --for=condition=Available --timeout=120s");
    fixture
        .pod(NAMESPACE, "app.kubernetes.io/name%3Doutrigger-operator", IMAGE)
        .await;
    let first = fixture.pod(NAMESPACE, &labels(NAME), IMAGE).await;
    fixture.initialised("memory://").await;
    let object = works(fixture, NAME).await;
    let made = related(&object);
    assert!(made.contains(&deployment(NAME)), "{made:#?}");
    prints(fixture);
    proves_itself(fixture).await;

    let change = json!({"spec": {"logVerbosity": 4, "extraArgs": ["--node-monitor-period=3s"]}});
    fixture.patch(&object_path, change).await;
    replaced(fixture, &first).await;
    works(fixture, NAME).await;
    no_node_for_the_second(fixture).await;

    fixture
        .patch(&object_path, json!({"spec": {"managementState": "Removed"}}))
        .await;
    for path in &made {
        fixture.gone(path).await;
    }
    fixture.gone(&pods(NAME)).await;
    let removed = async || {
        let object = fixture.find(&object_path).await.unwrap();
        let empty = related(&object).is_empty() && object["status"]["version"].as_str().unwrap_or_default().is_empty();
        empty.then_some(()).ok_or_else(|| object["status"].to_string())
    };
    fixture.until("the word that all is removed", removed).await;

    fixture
        .patch(&object_path, json!({"spec": {"managementState": "Managed"}}))
        .await;
    fixture.pod(NAMESPACE, &labels(NAME), IMAGE).await;
    let object = works(fixture, NAME).await;
    fixture.run("kubectl delete ccm memory");
    for path in related(&object) {
        fixture.gone(&path).await;
    }
    fixture.gone(&pods(NAME)).await;
}

/// Deletes the operator, too.
pub async fn uninstall(fixture: &Fixture) {
    fixture.run("kubectl delete -f deploy/kubernetes/operator.yaml -f deploy/kubernetes/crd.yaml");
    fixture.gone(&format!("/api/v1/namespaces/{NAMESPACE}")).await;
    assert_eq!(fixture.written_by_operator().await, [""; 0]);
}

/// The three commands; README and docs have the same.
fn commands() -> Vec<String> {
    let in_file = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let lines = text
            .lines()
            .filter(|line| line.starts_with("kubectl apply -f deploy/kubernetes/"));
        lines
            .map(|line| line.split('#').next().unwrap().trim().to_owned())
            .collect()
    };
    let commands = in_file("README.md");
    assert_eq!(commands.len(), 3, "{commands:?}");
    assert_eq!(commands, in_file("docs/kubernetes.md"));
    commands
}

/// Waits until another Pod has replaced this one, and has the requested flags.
async fn replaced(fixture: &Fixture, first: &Value) {
    let look = async || {
        let pods = fixture.list(&pods(NAME)).await;
        let others = pods
            .iter()
            .filter(|pod| pod["metadata"]["uid"] != first["metadata"]["uid"]);
        let with = |pod: &&Value| {
            let args = pod["spec"]["containers"][0]["args"].to_string();
            args.contains("\"--v=4\"") && args.contains("\"--node-monitor-period=3s\"")
        };
        (pods.len() == 1 && others.filter(with).count() == 1)
            .then_some(())
            .ok_or_else(|| format!("{} Pods", pods.len()))
    };
    fixture.until("another Pod", look).await;
    fixture.pod(NAMESPACE, &labels(NAME), IMAGE).await;
}

/// A replica without a node is reported while the other one works; the budget is created and deleted with the second replica.
async fn no_node_for_the_second(fixture: &Fixture) {
    let object_path = format!("{OBJECTS}/{NAME}");
    let budget = "/apis/policy/v1/namespaces/outrigger-system/poddisruptionbudgets/memory-cloud-controller-manager";
    fixture.patch(&object_path, json!({"spec": {"replicas": 2}})).await;
    let look = async || {
        let object = fixture.find(&object_path).await.unwrap();
        let (available, degraded) = (condition(&object, "Available"), condition(&object, "Degraded"));
        let is_reported = available == "True AsExpected 1 of 2 Pods are available" && degraded.starts_with("False");
        let pods = fixture.list(&pods(NAME)).await;
        let waiting = pods.iter().filter(|pod| pod["status"]["phase"] == "Pending").count();
        (is_reported && pods.len() == 2 && waiting == 1)
            .then_some(())
            .ok_or_else(|| format!("{available}; {degraded}; {} Pods", pods.len()))
    };
    fixture.until("one of two Pods", look).await;
    assert!(fixture.find(budget).await.is_some());

    fixture.patch(&object_path, json!({"spec": {"replicas": 1}})).await;
    fixture.gone(budget).await;
    works(fixture, NAME).await;
}

/// The commands in the docs print what the docs show.
fn prints(fixture: &Fixture) {
    let explained = fixture.run("kubectl explain ccm.spec.scope");
    assert!(explained.contains("DESCRIPTION"), "{explained}");
    let output = fixture.run("kubectl get ccm");
    let words: Vec<Vec<_>> = output.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        words[0],
        [
            "NAME",
            "PROVIDER",
            "STATE",
            "AVAILABLE",
            "READY",
            "VERSION",
            "AGE",
            "MESSAGE"
        ]
    );
    assert_eq!(words[1][..5], ["memory", "memory", "Managed", "True", "1"]);
    assert_eq!(words.len(), 2);
}

/// Its port has the certificate that the operator has issued, for the name of its Service.
async fn proves_itself(fixture: &Fixture) {
    let bundle = "/api/v1/namespaces/outrigger-system/configmaps/memory-cloud-controller-manager-serving-ca-bundle";
    let bundle = fixture.find(bundle).await.unwrap();
    let root = bundle["data"]["ca.crt"].as_str().unwrap();
    let name = "memory-cloud-controller-manager.outrigger-system.svc";
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_pem(root.as_bytes()).unwrap()])
        .resolve(name, (fixture.ip, 10258).into())
        .build()
        .unwrap();
    let answer = client.get(format!("https://{name}:10258/healthz")).send().await;
    assert_eq!(answer.unwrap().status(), 200);
}
