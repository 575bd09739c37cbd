//! The machine that starts a cluster: a static pod from `outrigger render`, and no operator.

use crate::{
    cloud::OpenStack,
    fixture::{ETC, Fixture, IMAGE},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

const POD: &str = "openstack-cloud-controller-manager";

/// Renders the files, gives them to the kubelet, and removes them again.
pub async fn story(fixture: &Fixture, cloud: &OpenStack) {
    fixture.apply(&[cloud.credentials("kube-system", "openstack-credentials")]);
    let folder = std::env::temp_dir().join(lab::unique("render"));
    render(&folder);
    install(fixture, &folder);
    fixture.assert_uninitialised(fixture.machine()).await;

    let file = format!("{POD}-pod.yaml");
    let manifest = fs::read_to_string(folder.join("bootstrap").join(&file)).unwrap();
    fixture.cluster.node.run_static_pod(POD, &manifest).unwrap();
    fixture.initialised(&cloud.provider_id()).await;
    let mirror = format!("/api/v1/namespaces/kube-system/pods/{POD}-{}", fixture.machine());
    let look = async || {
        let pod = fixture.find(&mirror).await.unwrap_or_default();
        let status = &pod["status"]["containerStatuses"][0];
        (status["ready"] == true && status["restartCount"] == 0)
            .then_some(())
            .ok_or_else(|| pod["status"].to_string())
    };
    fixture.until("the mirror of the static pod", look).await;

    fs::remove_file(fixture.cluster.node.manifests().join(format!("{POD}.yaml"))).unwrap();
    fixture.gone(&mirror).await;
    fs::remove_dir_all(&folder).unwrap();
}

/// Runs `render` with the files of an installer.
fn render(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let map = |key: &str, value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key}, "data": {key: value}});
    let infrastructure = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"},
        "spec": {"cloudConfig": {"name": "cloud-provider-config", "key": "config"}},
        "status": {"infrastructureName": "lab-x7k2p", "platformStatus": {"type": "OpenStack"}},
    });
    let images = json!({"cloudControllerManagerOperator": IMAGE}).to_string();
    let files = [
        ("infrastructure.yaml", infrastructure),
        ("images.yaml", map("images.json", &images)),
        ("config.yaml", map("config", &OpenStack::config())),
    ];
    for (name, content) in files {
        fs::write(folder.join(name), content.to_string()).unwrap();
    }
    let flag = |flag: &str, name: &str| format!("--{flag}={}", folder.join(name).display());
    let status = Command::new(env!("CARGO_BIN_EXE_outrigger"))
        .args([
            "render".to_owned(),
            flag("dest-dir", ""),
            flag("cluster-infrastructure-file", "infrastructure.yaml"),
            flag("images-file", "images.yaml"),
            flag("cloud-config-file", "config.yaml"),
        ])
        .status();
    assert!(status.unwrap().success());
}

/// Installs the configuration and the credentials of such a machine.
fn install(fixture: &Fixture, rendered: &Path) {
    let (secrets, configs) = (
        Path::new(ETC).join("bootstrap-secrets"),
        Path::new(ETC).join("bootstrap-configs"),
    );
    for folder in [&secrets, &configs] {
        fs::create_dir_all(folder).unwrap();
        fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();
    }
    fs::copy(rendered.join("config/cloud.conf"), configs.join("cloud.conf")).unwrap();
    let kubeconfig = secrets.join("kubeconfig");
    fs::write(&kubeconfig, whole(&fixture.cluster.plane.kubeconfig())).unwrap();
    fs::set_permissions(kubeconfig, PermissionsExt::from_mode(0o600)).unwrap();
}

/// A kubeconfig that refers to no other file.
fn whole(kubeconfig: &Path) -> String {
    let mut config: Value = serde_json::from_str(&fs::read_to_string(kubeconfig).unwrap()).unwrap();
    embed(&mut config["clusters"][0]["cluster"], &["certificate-authority"]);
    embed(&mut config["users"][0]["user"], &["client-certificate", "client-key"]);
    config.to_string()
}

fn embed(entry: &mut Value, keys: &[&str]) {
    for key in keys {
        let file = entry[key].as_str().unwrap().to_owned();
        entry[format!("{key}-data")] = json!(STANDARD.encode(fs::read(file).unwrap()));
        entry.as_object_mut().unwrap().remove(*key);
    }
}
