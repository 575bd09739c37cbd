//! The properties of each file that a release needs: its name, its annotations, its place.

use crate::manifests::{Manifest, OPERANDS, OPERATOR, all, documents, folder, one};
use rstest::rstest;
use serde_json::json;
use std::{collections::BTreeSet, fs};

const HIGH_AVAILABILITY: &str = "include.release.openshift.io/self-managed-high-availability";
const SINGLE_NODE: &str = "include.release.openshift.io/single-node-developer";

#[test]
fn file_names_have_order_and_kind() {
    for Manifest { file, .. } in all() {
        let (level, rest) = file.split_once("_cloud-controller-manager-operator_").unwrap();
        let (order, what) = rest.split_once('_').unwrap();
        // The kinds of monitoring are created at level 50.
        assert_eq!(
            level,
            if what.contains("monitoring") {
                "0000_90"
            } else {
                "0000_26"
            },
            "{file}"
        );
        assert!(order.len() == 2 && order.parse::<u8>().is_ok(), "{file}");
    }
}

#[test]
fn every_object_names_its_cluster_profiles() {
    for manifest in all() {
        let capability = match manifest.kind() {
            "CredentialsRequest" => "CloudCredential+CloudControllerManager",
            _ => "CloudControllerManager",
        };
        let name = manifest.object.key();
        assert_eq!(
            manifest.annotation("capability.openshift.io/name"),
            Some(capability),
            "{name}"
        );
        assert_eq!(manifest.annotation(HIGH_AVAILABILITY), Some("true"), "{name}");
        assert_eq!(manifest.annotation(SINGLE_NODE), Some("true"), "{name}");
        let annotations = manifest.value()["metadata"]["annotations"].as_object().unwrap();
        let included = annotations
            .keys()
            .filter(|key| key.starts_with("include.release.openshift.io/"));
        assert_eq!(
            included.count(),
            2,
            "{name} is in clusters where another party runs the control plane"
        );
    }
}

#[test]
fn no_object_is_defined_twice() {
    let mut seen = BTreeSet::new();
    for manifest in all() {
        assert!(seen.insert(manifest.object.key().clone()), "{}", manifest.object.key());
    }
}

/// The positions of the objects that a word selects, among all objects.
fn places(word: &str) -> (usize, usize) {
    let all = all();
    let found = all.iter().enumerate().filter(|(_, manifest)| match word {
        "RBAC" => manifest.object.key().api_version.starts_with("rbac") && manifest.file.contains("_26_"),
        "monitoring" => manifest.file.contains("monitoring"),
        kind => manifest.kind() == kind,
    });
    let places: Vec<_> = found.map(|(at, _)| at).collect();
    (*places.first().unwrap(), *places.last().unwrap())
}

/// A release continues with the next file when an object exists, and for a `ClusterOperator` when it is available.
#[rstest]
#[case("Namespace", "ServiceAccount")]
#[case("Namespace", "ConfigMap")]
#[case("RBAC", "Deployment")]
#[case("ConfigMap", "Deployment")]
#[case("Service", "Deployment")]
#[case("NetworkPolicy", "Deployment")]
#[case::credentials_are_needed_to_be_available("CredentialsRequest", "ClusterOperator")]
#[case("CredentialsRequest", "Deployment")]
#[case("Deployment", "ClusterOperator")]
#[case("ClusterOperator", "monitoring")]
fn order(#[case] first: &str, #[case] then: &str) {
    assert!(places(first).1 < places(then).0, "{first} come before {then}");
}

#[test]
fn namespaces_are_watched_by_monitoring_and_reach_the_machine() {
    for name in [OPERATOR, OPERANDS] {
        let namespace = one("Namespace", name);
        let labels = json!({
            "openshift.io/run-level": "0",
            "openshift.io/cluster-monitoring": "true",
            "pod-security.kubernetes.io/enforce": "privileged",
            "pod-security.kubernetes.io/audit": "privileged",
            "pod-security.kubernetes.io/warn": "privileged",
        });
        assert_eq!(namespace["metadata"]["labels"], labels);
        let annotations = &namespace["metadata"]["annotations"];
        assert_eq!(annotations["openshift.io/node-selector"], "");
        assert_eq!(annotations["workload.openshift.io/allowed"], "management");
    }
}

/// Objects of the Go operator that ours does not need are deleted: the role of a binding cannot be changed.
#[test]
fn leftovers_of_the_go_operator_are_deleted() {
    let gone: Vec<_> = all().into_iter().filter(Manifest::is_tombstone).collect();
    let names: Vec<_> = gone.iter().map(|manifest| manifest.object.key().to_string()).collect();
    assert_eq!(
        names,
        [format!("RoleBinding {OPERANDS}/cluster-cloud-controller-manager")]
    );
    assert_eq!(
        gone[0].value()["roleRef"]["kind"],
        "Role",
        "harmless for those who apply the folder as it is"
    );
}

#[test]
fn the_cluster_operator_lists_related_objects() {
    let operator = one("ClusterOperator", "cloud-controller-manager");
    let related = operator["status"]["relatedObjects"].as_array().unwrap();
    let names: Vec<_> = related.iter().map(|object| object["name"].as_str().unwrap()).collect();
    assert_eq!(names, [OPERATOR, "cloud-controller-manager", OPERANDS]);
    let hosted = "exclude.release.openshift.io/internal-openshift-hosted";
    assert_eq!(operator["metadata"]["annotations"][hosted], "true");
    assert_eq!(
        operator["status"]["versions"],
        json!([{"name": "operator", "version": "0.0.1-snapshot"}])
    );
}

// Operator.md W27: nothing refers to deleted objects.
#[test]
fn w27_no_obsolete_objects() {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "yaml")) {
        let text = fs::read_to_string(&path).unwrap();
        documents(&text, &path.display().to_string());
        let lower = text.to_lowercase();
        for word in ["alibaba", "kubecontrollermanager", "webhook", "9443", "kube-rbac-proxy"] {
            assert!(!lower.contains(word), "{word} in {}", path.display());
        }
    }
}
