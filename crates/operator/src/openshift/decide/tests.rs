use super::{super::Duties, super::observed::OwnFiles, *};
use crate::Unread;
use jiff::Timestamp;
use rstest::rstest;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

const NAMESPACE: &str = "openshift-cloud-controller-manager";

fn settings(duties: Duties) -> Settings {
    Settings {
        namespace: NAMESPACE.to_owned(),
        release: "5.0.0".to_owned(),
        images: "images.json".into(),
        system_bundle: "bundle.pem".into(),
        tls: None,
        duties,
    }
}

fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// A cluster on AWS without a Proxy; no other object was read yet.
fn aws() -> Observed {
    let gate = json!({"metadata": {"name": "cluster"}, "spec": {}, "status": {"featureGates": [
        {"version": "5.0.0", "enabled": [], "disabled": []}
    ]}});
    Observed {
        infrastructure: Ok(Some(parsed(json!({
            "metadata": {"name": "cluster"}, "spec": {},
            "status": {"infrastructureName": "lab", "platformStatus": {"type": "AWS"}},
        })))),
        network: Ok(None),
        proxy: Ok(None),
        feature_gate: Ok(Some(parsed(gate))),
        api_server: Ok(None),
        cluster_version: Ok(None),
        cluster_operator: Ok(None),
        files: OwnFiles {
            images: Ok(json!({"cloudControllerManagerAWS": "example.test/aws:1"}).to_string()),
            system_bundle: Err(Unread("not needed".to_owned())),
        },
        objects: BTreeMap::new(),
        unlisted: Ok(Vec::new()),
        now: Timestamp::UNIX_EPOCH,
    }
}

/// Reads what the decision depends on, until it is complete: no other object exists.
fn complete(mut observed: Observed, settings: &Settings) -> (Observed, Decision) {
    loop {
        let decision = decide(&observed, settings);
        let reads: Vec<_> = decision
            .reads
            .iter()
            .filter(|key| !observed.objects.contains_key(key))
            .collect();
        if reads.is_empty() {
            return (observed, decision);
        }
        observed
            .objects
            .extend(reads.into_iter().map(|key| (key.clone(), Lookup::Absent)));
    }
}

fn show(decision: &Decision) -> String {
    let objects: Vec<_> = decision.all().map(|object| object.key().kind.clone()).collect();
    format!("{} {:?} {:?}", objects.join(" "), decision.prune, decision.blocked)
}

const OPERANDS: &str =
    "Deployment ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding PodDisruptionBudget Service Unwanted None";

#[rstest]
#[case::everything(Duties::Everything, &format!("ConfigMap {OPERANDS}"))]
#[case::config_alone(Duties::ConfigSync, "ConfigMap Nothing None")]
#[case::another_process_has_not_written(Duties::Operands, " Nothing Some(ByOtherProcess(None))")]
fn installs(#[case] duties: Duties, #[case] expected: &str) {
    let (_, decision) = complete(aws(), &settings(duties));
    assert_eq!(show(&decision), expected);
}

#[test]
fn is_the_same_each_time() {
    let settings = settings(Duties::Everything);
    let (observed, first) = complete(aws(), &settings);
    let second = decide(&observed, &settings);
    assert_eq!((first.objects, first.config), (second.objects, second.config));
    assert_eq!((first.events, first.reads), (second.events, second.reads));
}

#[rstest]
#[case::no_infrastructure(|observed: &mut Observed| observed.infrastructure = Ok(None), " Nothing None")]
#[case::unread_infrastructure(
    |observed: &mut Observed| observed.infrastructure = Err(Unread("cannot read it".to_owned())),
    " Nothing Some(ByConfig)"
)]
#[case::broken_images(
    |observed: &mut Observed| observed.files.images = Ok("{".to_owned()),
    "ConfigMap Nothing Some(By(Terminal("
)]
#[case::unread_gates(
    |observed: &mut Observed| observed.feature_gate = Err(Unread("cannot read it".to_owned())),
    " Nothing Some(ByConfig)"
)]
#[case::no_search(
    |observed: &mut Observed| observed.unlisted = Err(Unread("cannot read Service x".to_owned())),
    "ConfigMap Nothing Some(By(Transient(\"cannot read Service x\")))"
)]
#[case::no_cloud(
    |observed: &mut Observed| observed.infrastructure = Ok(Some(parsed(json!({
        "metadata": {}, "spec": {}, "status": {"platformStatus": {"type": "None"}},
    })))),
    " All None"
)]
fn changes_nothing_without_knowing_what_is_desired(#[case] change: fn(&mut Observed), #[case] expected: &str) {
    let mut observed = aws();
    change(&mut observed);
    let (_, decision) = complete(observed, &settings(Duties::Everything));
    assert!(show(&decision).starts_with(expected), "{}", show(&decision));
}

#[test]
fn required_objects_are_read_and_reported() {
    let mut observed = aws();
    observed.infrastructure = Ok(Some(parsed(json!({
        "metadata": {"name": "cluster"}, "spec": {},
        "status": {"infrastructureName": "lab", "platformStatus": {"type": "GCP"}},
    }))));
    observed.files.images = Ok(json!({"cloudControllerManagerGCP": "example.test/gcp:1"}).to_string());
    let (mut observed, decision) = complete(observed, &settings(Duties::Everything));
    let secret = Key::secret(NAMESPACE, "gcp-ccm-cloud-credentials");
    assert!(decision.reads.contains(&secret));
    let is_missed = |decision: &Decision| {
        let mut events = decision.events.iter();
        events.any(|event| matches!(event, Event::Missing { reference, .. } if reference.name == secret.name))
    };
    assert!(is_missed(&decision));
    // An object that cannot be read is not missing, and causes no roll-out.
    observed
        .objects
        .insert(secret.clone(), Lookup::Unknown("403".to_owned()));
    let decision = decide(&observed, &settings(Duties::Everything));
    assert!(!is_missed(&decision) && decision.objects.is_empty());
}

/// The other process reports that it works, and `cloud-conf` was written so many seconds ago.
fn operated(observed: &mut Observed, cloud_conf: &str, seconds: i64) {
    let written = (observed.now - jiff::SignedDuration::from_secs(seconds)).to_string();
    let conditions: Vec<_> = [CLOUD_CONFIG.available, TRUSTED_CA.available]
        .map(|type_| json!({"type": type_, "status": "True", "lastTransitionTime": "2026-11-16T05:00:00Z"}))
        .into();
    observed.cluster_operator = Ok(Some(parsed(json!({
        "metadata": {}, "spec": {}, "status": {"conditions": conditions}
    }))));
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
                     "metadata": {"name": "cloud-conf", "namespace": NAMESPACE, "managedFields": [
                         {"manager": "first", "operation": "Update", "time": "1969-12-01T00:00:00Z"},
                         {"manager": "last", "operation": "Update", "time": written},
                     ]}, "data": {"cloud.conf": cloud_conf}});
    let key = Key::config_map(NAMESPACE, cloud_config::NAME);
    observed.objects.insert(key, Lookup::Found(Arc::new(map)));
}

/// Another process will revert the edit of `cloud-conf` soon: Pods are not rolled before. If it does not revert it, it
/// desires this content, as the Go operator may.
#[rstest]
#[case::edited("edited", 0, " Nothing Some(ByOtherProcess(Some(60s)))", 0)]
#[case::nearly_over("edited", 59, " Nothing Some(ByOtherProcess(Some(1s)))", 0)]
#[case::not_corrected("edited", 60, OPERANDS, 1)]
#[case::as_desired("", 0, OPERANDS, 0)]
fn waits_until_another_process_corrects_cloud_conf(
    #[case] edit: &str,
    #[case] seconds: i64,
    #[case] expected: &str,
    #[case] remarks: usize,
) {
    let settings = settings(Duties::Operands);
    let synced = sync::decide(&complete(aws(), &settings).0, &settings);
    let desired = &synced.objects().next().unwrap().value()["data"]["cloud.conf"];
    let mut observed = aws();
    operated(&mut observed, &format!("{}{edit}", desired.as_str().unwrap()), seconds);
    let (_, decision) = complete(observed, &settings);
    assert_eq!((show(&decision).as_str(), decision.remarks.len()), (expected, remarks));
}
