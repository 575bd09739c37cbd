//! The overlays, built by the real kustomize.

use crate::tools::{documents, kustomize, one, read, root};
use rstest::rstest;
use serde_json::Value;
use std::{fs, path::Path};

/// A copy of the overlays with the files of a user.
fn copied(test: &str) -> std::path::PathBuf {
    let target = std::env::temp_dir().join(format!("outrigger-{test}-{}", std::process::id()));
    copy(&root().join("deploy/kustomize"), &target);
    for (overlay, files) in [
        ("openstack", &["cloud.conf", "clouds.yaml"][..]),
        ("aws", &["credentials"]),
        ("digitalocean", &["access-token"]),
    ] {
        for file in files {
            fs::write(target.join(overlay).join(file), "mine\n").unwrap();
        }
    }
    target
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from} in {}", path.display());
    fs::write(path, text.replace(from, to)).unwrap();
}

fn built(folder: &Path) -> Vec<Value> {
    documents(&kustomize(folder.to_str().unwrap()).printed())
}

/// One edit in one file sets the namespace, one the image; objects in kube-system are not moved.
#[rstest]
#[case::operator("operator", "namespace: outrigger-system")]
#[case::memory("memory", "namespace: kube-system")]
#[case::openstack("openstack", "namespace: kube-system")]
#[case::aws("aws", "namespace: kube-system")]
#[case::digitalocean("digitalocean", "namespace: kube-system")]
fn namespace_and_image_are_set_in_one_place(#[case] overlay: &str, #[case] namespace: &str) {
    let copy = copied(&format!("kustomize-{overlay}"));
    let folder = copy.join(overlay);
    edit(&folder.join("namespace.yaml"), namespace, "namespace: mine");
    edit(
        &folder.join("kustomization.yaml"),
        "newName: localhost/outrigger",
        "newName: registry.example.com/outrigger",
    );
    edit(&folder.join("kustomization.yaml"), "newTag: dev", "newTag: \"1.2\"");
    let objects = built(&folder);
    let mut workloads = 0;
    for object in &objects {
        let (kind, meta) = (object["kind"].as_str().unwrap(), &object["metadata"]);
        match kind {
            "Namespace" => assert_eq!(meta["name"], "mine"),
            "ServiceAccount" | "Deployment" | "Service" | "ConfigMap" | "Secret" | "PodDisruptionBudget" => {
                assert_eq!(meta["namespace"], "mine", "{kind} {}", meta["name"]);
            }
            "Role" if meta["namespace"] == "mine" => assert_eq!(meta["name"], "outrigger-operator"),
            "Role" => assert_eq!(meta["namespace"], "kube-system"),
            _ => {}
        }
        for subject in object["subjects"].as_array().into_iter().flatten() {
            assert_eq!(subject["namespace"], "mine", "{kind} {}", meta["name"]);
        }
        for container in object["spec"]["template"]["spec"]["containers"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert_eq!(container["image"], "registry.example.com/outrigger:1.2");
            workloads += 1;
        }
    }
    assert_eq!(workloads, 1);
    assert!(!serde_json::to_string(&objects).unwrap().contains("outrigger-system"));
    fs::remove_dir_all(copy).unwrap();
}

/// Without edits, the overlays contain the objects of the manifests.
#[test]
fn the_operator_is_that_of_the_manifest() {
    let built = built(&root().join("deploy/kustomize/operator"));
    let manifest = documents(&read("deploy/kubernetes/operator.yaml"));
    let crd = documents(&read("deploy/kubernetes/crd.yaml"));
    assert_eq!(built.len(), manifest.len() + crd.len());
    for object in manifest.iter().chain(&crd) {
        assert!(built.contains(object), "{object:#}");
    }
}

/// Without the values of the user nothing is created.
#[test]
fn an_overlay_that_is_not_filled_in_is_refused() {
    let why = kustomize("deploy/kustomize/openstack").refused();
    assert!(why.contains("cloud.conf"), "{why}");
    let copy = copied("kustomize-placeholder");
    let objects = built(&copy.join("openstack"));
    // The manager rejects this name.
    assert_eq!(one(&objects, "ConfigMap")["data"]["cluster-name"], "CHANGE-ME");
    fs::remove_dir_all(copy).unwrap();
}
