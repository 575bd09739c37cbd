//! The chart on a real node: installed, tested, upgraded, rolled back and removed by the real Helm.

use crate::{
    fixture::{Fixture, IMAGE},
    managers::{NAMESPACE, OBJECTS, labels, pods, works},
};
use std::time::{Duration, Instant};

const NAME: &str = "memory";
/// From the command to an initialised node, with the image on the node.
const WITHIN: Duration = Duration::from_mins(1);

/// With the operator, and then the manager alone.
pub async fn story(fixture: &Fixture) {
    with_operator(fixture).await;
    fixture.renew_node().await;
    alone(fixture).await;
}

fn helm(fixture: &Fixture, command: &str) -> String {
    let program = lab::peer::helm().unwrap();
    let (repository, tag) = IMAGE.rsplit_once(':').unwrap();
    let image = match command.split(' ').next() {
        Some("install" | "upgrade") => {
            format!(" --set image.repository={repository},image.tag={tag} --wait --timeout=120s")
        }
        _ => String::new(),
    };
    fixture.run(&format!("{} {command}{image}", program.display()))
}

async fn with_operator(fixture: &Fixture) {
    fixture.assert_uninitialised(fixture.machine()).await;
    let start = Instant::now();
    let managers = "--set managers.memory.provider=memory,managers.memory.replicas=1";
    helm(
        fixture,
        &format!("install outrigger charts/outrigger --namespace {NAMESPACE} --create-namespace {managers}"),
    );
    fixture.initialised("memory://").await;
    let took = start.elapsed();
    eprintln!("helm install to an initialised node: {:.1} s", took.as_secs_f32());
    assert!(took < WITHIN, "{took:?}");
    works(fixture, NAME).await;
    helm(fixture, &format!("test outrigger --namespace {NAMESPACE}"));
    metrics_are_served(fixture).await;

    let verbose = "--set managers.memory.provider=memory,managers.memory.replicas=1,managers.memory.logVerbosity=4";
    helm(
        fixture,
        &format!("upgrade outrigger charts/outrigger --namespace {NAMESPACE} {verbose}"),
    );
    let first = works(fixture, NAME).await;
    assert_eq!(first["spec"]["logVerbosity"], 4);
    helm(fixture, &format!("rollback outrigger 1 --namespace {NAMESPACE} --wait"));
    let back = works(fixture, NAME).await;
    assert_eq!(back["spec"]["logVerbosity"], 0);

    helm(fixture, &format!("uninstall outrigger --namespace {NAMESPACE} --wait"));
    fixture.gone(&format!("{OBJECTS}/{NAME}")).await;
    fixture.gone(&pods(NAME)).await;
    fixture
        .gone(&format!(
            "/api/v1/namespaces/{NAMESPACE}/secrets/outrigger-operator.cloud-controller-manager-serving-cert"
        ))
        .await;
    fixture.run(&format!(
        "kubectl delete namespace {NAMESPACE} && kubectl delete -f deploy/kubernetes/crd.yaml"
    ));
}

/// The operator's own port has the certificate that the operator has issued, for the name of its Service. The kubelet mounts it later than it exists.
async fn metrics_are_served(fixture: &Fixture) {
    let bundle = format!(
        "/api/v1/namespaces/{NAMESPACE}/configmaps/outrigger-operator.cloud-controller-manager-serving-ca-bundle"
    );
    let name = format!("outrigger-operator.{NAMESPACE}.svc");
    let look = async || {
        let bundle = fixture.find(&bundle).await.ok_or("there is no bundle")?;
        let root = bundle["data"]["ca.crt"].as_str().unwrap_or_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([reqwest::Certificate::from_pem(root.as_bytes()).map_err(|error| error.to_string())?])
            .resolve(&name, (fixture.ip, 9258).into())
            .build()
            .map_err(|error| error.to_string())?;
        let answer = client.get(format!("https://{name}:9258/metrics")).send().await;
        // A caller without a token may not read them.
        answer
            .map(|answer| assert_eq!(answer.status(), 403))
            .map_err(|error| format!("{error:?}"))
    };
    fixture.until("the operator's certificate", look).await;
}

async fn alone(fixture: &Fixture) {
    fixture.assert_uninitialised(fixture.machine()).await;
    helm(
        fixture,
        "install ccm charts/outrigger --namespace kube-system --set mode=manager,provider=memory,replicas=1",
    );
    fixture.initialised("memory://").await;
    let said = helm(fixture, "test ccm --namespace kube-system");
    assert!(said.contains("Succeeded"), "{said}");
    helm(fixture, "uninstall ccm --namespace kube-system --wait");
    // Helm leaves the Pod of the test.
    let manager = "app.kubernetes.io/name%3Dcloud-controller-manager";
    let pods = format!(
        "/api/v1/namespaces/kube-system/pods?labelSelector={manager},{}",
        labels("ccm")
    );
    fixture.gone(&pods).await;
}
