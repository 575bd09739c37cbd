//! The permissions of the credentials, compared with those in upstream's manifests.

use crate::manifests::one;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The permissions of cluster-cloud-controller-manager-operator, one per line.
const FACTS: &str = include_str!("upstream-permissions.txt");

fn upstream(cloud: &str) -> BTreeSet<String> {
    let lines = FACTS
        .lines()
        .filter_map(|line| line.strip_prefix(cloud)?.strip_prefix(' '));
    let facts: BTreeSet<_> = lines.map(str::to_owned).collect();
    assert!(!facts.is_empty(), "no facts of {cloud}");
    facts
}

fn spec(name: &str) -> Value {
    one("CredentialsRequest", name)["spec"]["providerSpec"].clone()
}

fn texts(list: &Value) -> BTreeSet<String> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap().to_owned()).collect()
}

#[test]
fn of_azure_are_upstreams() {
    let ours = texts(&spec("openshift-azure-cloud-controller-manager")["permissions"]);
    assert_eq!(ours, upstream("azure"));
}

/// Only permissions that the Go program uses, which are fewer than in upstream's list.
#[test]
fn of_gcp_have_nothing_to_spare() {
    let ours = texts(&spec("openshift-gcp-ccm")["permissions"]);
    for spare in [
        "compute.networks.get",
        "compute.networks.use",
        "compute.subnetworks.get",
    ] {
        assert!(!ours.contains(spare), "{spare}");
    }
}

/// Roles by their subject.
#[test]
fn of_ibm_are_upstreams() {
    for (name, cloud) in [
        ("openshift-ibm-cloud-controller-manager", "ibm"),
        ("openshift-powervs-cloud-controller-manager", "powervs"),
    ] {
        let policies = spec(name)["policies"].as_array().cloned().unwrap_or_default();
        let ours: BTreeSet<_> = policies
            .iter()
            .flat_map(|policy| {
                let about = &policy["attributes"][0];
                let about = format!(
                    "{}={}",
                    about["name"].as_str().unwrap(),
                    about["value"].as_str().unwrap()
                );
                texts(&policy["roles"])
                    .into_iter()
                    .map(move |role| format!("{about} {}", role.rsplit("::::").next().unwrap()))
            })
            .collect();
        assert_eq!(ours, upstream(cloud), "{cloud}: {}", json!(policies));
    }
}
