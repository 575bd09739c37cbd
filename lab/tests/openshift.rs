//! The definitions of `OpenShift` are the real ones, and the API server checks by them.

#![expect(clippy::unwrap_used, reason = "it is a test")]

use http::Request;
use lab::{
    ControlPlane,
    openshift::{self, Variant},
};
use serde_json::{Value, json};

const INFRASTRUCTURES: &str = "/apis/config.openshift.io/v1/infrastructures";

async fn create(client: &kube::Client, path: &str, object: &Value) -> Result<Value, kube::Error> {
    let request = Request::post(path)
        .header("Content-Type", "application/json")
        .body(object.to_string().into_bytes())
        .unwrap();
    client.request(request).await
}

#[tokio::test]
async fn the_api_server_serves_them_and_checks_by_them() {
    let plane = ControlPlane::start().unwrap();
    plane.install_openshift_crds().await.unwrap();
    plane
        .install_openshift_crds()
        .await
        .expect("a second time is no problem");
    let client = plane.client();
    for path in [
        "/apis/config.openshift.io/v1/apiservers",
        "/apis/config.openshift.io/v1/clusteroperators",
        "/apis/config.openshift.io/v1/clusterversions",
        "/apis/config.openshift.io/v1/featuregates",
        INFRASTRUCTURES,
        "/apis/config.openshift.io/v1/networks",
        "/apis/config.openshift.io/v1/proxies",
        "/apis/monitoring.coreos.com/v1/servicemonitors",
        "/apis/monitoring.coreos.com/v1/prometheusrules",
    ] {
        let list: Value = client
            .request(Request::get(path).body(Vec::new()).unwrap())
            .await
            .unwrap();
        assert_eq!(list["items"], json!([]), "{path}");
    }
    let infrastructure = |platform: &str| {
        json!({"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"},
               "spec": {"platformSpec": {"type": platform}}})
    };
    let refused = create(&client, INFRASTRUCTURES, &infrastructure("Moon"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("spec.platformSpec.type: Unsupported value: \"Moon\""),
        "{refused}"
    );
    create(&client, INFRASTRUCTURES, &infrastructure("OpenStack"))
        .await
        .unwrap();
    let gates: Value = serde_json::from_str(&openshift::feature_gate(Variant::Default).unwrap()).unwrap();
    create(&client, "/apis/config.openshift.io/v1/featuregates", &gates)
        .await
        .unwrap();
}

#[test]
fn definitions_differ_by_feature_set() {
    let default = openshift::crd("infrastructures", Variant::Default).unwrap();
    let preview = openshift::crd("infrastructures", Variant::TechPreviewNoUpgrade).unwrap();
    assert!(default.contains("release.openshift.io/feature-set: Default"));
    assert!(preview.contains("release.openshift.io/feature-set: TechPreviewNoUpgrade"));
    for variant in [
        Variant::TechPreviewNoUpgrade,
        Variant::CustomNoUpgrade,
        Variant::DevPreviewNoUpgrade,
    ] {
        assert_eq!(
            openshift::crds(variant).unwrap().len(),
            lab::openshift_crds().unwrap().len()
        );
    }
    let error = openshift::crd("moons", Variant::Default).unwrap_err().to_string();
    assert_eq!(error, "the OpenShift API has no moons of the variant Default");
    assert!(openshift::feature_gate(Variant::CustomNoUpgrade).is_err());
}
