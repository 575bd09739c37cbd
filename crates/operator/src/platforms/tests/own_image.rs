//! If images.json names no manager and this project has one, it is used: its port is open.

use super::*;
use rstest::rstest;
use serde_json::json;

fn own(platform: &str) -> Setting {
    let mut setting = setting(platform, Topology::HighlyAvailable);
    setting.images = Images::parse(r#"{"cloudControllerManagerOperator": "example.test/outrigger:1"}"#).unwrap();
    setting
}

#[rstest]
#[case("AWS", "--cloud-provider=aws")]
#[case("OpenStack", "--cloud-provider=openstack")]
fn port_is_open(#[case] platform: &str, #[case] provider: &str) {
    let deployment = deployment(&own(platform));
    let container = at(&deployment, "/spec/template/spec/containers/0");
    assert_eq!(container["image"], "example.test/outrigger:1");
    let script = container["command"][2].as_str().unwrap();
    let certificate = "/etc/cloud-controller-manager/serving-cert/tls";
    for flag in [
        "--bind-address=0.0.0.0".to_owned(),
        "--secure-port=10258".to_owned(),
        format!("--tls-cert-file={certificate}.crt"),
        format!("--tls-private-key-file={certificate}.key"),
        provider.to_owned(),
    ] {
        assert_eq!(script.matches(&flag).count(), 1, "{flag}: {script}");
    }
    assert!(
        !script.contains("--secure-port=0") && !script.contains("127.0.0.1"),
        "{script}"
    );
}

#[test]
fn port_is_probed() {
    let deployment = deployment(&own("OpenStack"));
    let container = at(&deployment, "/spec/template/spec/containers/0");
    let get = |path: &str| json!({"host": "127.0.0.1", "path": path, "port": "https", "scheme": "HTTPS"});
    assert_eq!(at(container, "/livenessProbe/httpGet"), &get("/livez"));
    assert_eq!(at(container, "/readinessProbe/httpGet"), &get("/readyz"));
    let volumes = at(&deployment, "/spec/template/spec/volumes").as_array().unwrap();
    let secret = json!({"secretName": "cloud-controller-manager-serving-cert"});
    assert_eq!(
        volumes.last().unwrap(),
        &json!({"name": "serving-cert", "secret": secret})
    );
}

/// It reloads the certificate by itself.
#[test]
fn a_new_certificate_rolls_nothing() {
    let mut setting = own("OpenStack");
    let before = deployment(&setting);
    let name = "cloud-controller-manager-serving-cert".to_owned();
    setting
        .sources
        .secrets
        .insert(name, [("tls.crt".to_owned(), k8s_openapi::ByteString(vec![1]))].into());
    assert_eq!(deployment(&setting), before);
}

#[test]
fn an_image_of_another_project_is_run_unchanged() {
    let deployment = deployment(&setting("OpenStack", Topology::HighlyAvailable));
    let container = at(&deployment, "/spec/template/spec/containers/0");
    assert_eq!(container["image"], "example.test/cloudControllerManagerOpenStack:1");
    let script = container["command"][2].as_str().unwrap();
    assert!(
        script.contains("--secure-port=0") && script.contains("--bind-address=127.0.0.1"),
        "{script}"
    );
    assert_eq!(container.get("livenessProbe"), None);
    assert_eq!(container.get("readinessProbe"), None);
}

#[test]
fn only_where_we_have_one() {
    assert_eq!(
        resources(&own("GCP")).unwrap_err().to_string(),
        "images.json names no image for platform GCP: missing cloudControllerManagerGCP"
    );
}

#[rstest]
fn static_pod_too(#[values("AWS", "OpenStack")] platform: &str) {
    let pods = bootstrap_resources(&own(platform)).unwrap();
    assert_eq!(
        at(pods[0].value(), "/spec/containers/0/image"),
        "example.test/outrigger:1"
    );
}

/// One rule for every manager of ours, on any platform.
#[test]
fn has_the_probes_and_security_context_of_any_kubernetes() {
    let deployment = deployment(&own("OpenStack"));
    let here = at(&deployment, "/spec/template/spec/containers/0");
    let text = crate::standalone::DEPLOYMENT;
    let there: Value = serde_saphyr::from_str(text).unwrap();
    let there = at(&there, "/spec/template/spec/containers/0");
    assert_eq!(here["livenessProbe"], there["livenessProbe"]);
    assert_eq!(here["readinessProbe"], there["readinessProbe"]);
    let mut safe = there["securityContext"].clone();
    safe["runAsNonRoot"] = json!(true);
    safe["seccompProfile"] = json!({"type": "RuntimeDefault"});
    assert_eq!(here["securityContext"], safe);
}

/// On the control plane the other files of the folder are credentials of the cluster.
#[test]
fn sees_one_file_of_the_machine() {
    let deployment = deployment(&own("OpenStack"));
    let pod = at(&deployment, "/spec/template/spec");
    let of_host: Vec<_> = pod["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|volume| volume.get("hostPath").is_some())
        .collect();
    let path = "/etc/kubernetes/apiserver-url.env";
    assert_eq!(
        of_host,
        [&json!({"name": "host-etc-kube", "hostPath": {"path": path, "type": "FileOrCreate"}})]
    );
    let mounts = pod["containers"][0]["volumeMounts"].as_array().unwrap();
    assert!(
        mounts.contains(&json!({"name": "host-etc-kube", "mountPath": path, "readOnly": true})),
        "{mounts:#?}"
    );
}
