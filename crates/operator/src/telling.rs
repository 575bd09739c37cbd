//! Tells users about objects, in events under the names of the original.

use crate::{
    Key,
    operands::{Report, report::Severity},
    platforms::config_hash::Reference,
};
use k8s_openapi::api::core::v1::ObjectReference;
use runtime::events::{Kind, Recorder};

/// Which object an event is about.
fn reference(key: &Key) -> ObjectReference {
    ObjectReference {
        api_version: Some(key.api_version.clone()),
        kind: Some(key.kind.clone()),
        namespace: key.namespace.clone(),
        name: Some(key.name.clone()),
        ..ObjectReference::default()
    }
}

/// Tells that Pods read something that is not there.
pub(crate) fn missing(recorder: &Recorder, workload: &Key, what: &Reference) {
    let message = format!(
        "error calculating configuration hash: {:?} \"{}\" not found",
        what.kind, what.name
    );
    recorder.event(reference(workload), Kind::Warning, "ConfigurationCheckFailed", message);
}

/// Tells what came of an annotation of the Infrastructure.
pub(crate) fn annotation(recorder: &Recorder, what: &str) {
    let key = Key::of_cluster("config.openshift.io/v1", "Infrastructure", "cluster");
    recorder.event(reference(&key), Kind::Warning, "ExternalCloudProvider", what.to_owned());
}

/// Tells which features are on, at first and whenever that changes.
pub(crate) fn gates(recorder: &Recorder, namespace: &str, before: Option<&[String]>, now: &[String]) {
    let reason = match before {
        None => "FeatureGatesInitialized",
        Some(before) if before != now => "FeatureGatesModified",
        Some(_) => return,
    };
    let on = if now.is_empty() {
        "none".to_owned()
    } else {
        now.join(", ")
    };
    let key = Key::namespaced("v1", "Namespace", namespace, namespace);
    recorder.event(
        reference(&key),
        Kind::Normal,
        reason,
        format!("FeatureGates updated, enabled are: {on}"),
    );
}

/// Tells what became of objects.
pub(crate) fn tell(recorder: &Recorder, report: &Report) {
    for event in report.events() {
        let kind = match event.severity {
            Severity::Normal => Kind::Normal,
            Severity::Warning => Kind::Warning,
        };
        recorder.event(reference(event.key), kind, event.reason, event.message);
    }
}
