//! Events about objects, under the reasons of the Go operator.

use crate::{
    Key,
    operands::{Report, report::Severity},
    platforms::config_hash::Reference,
};
use k8s_openapi::api::core::v1::ObjectReference;
use runtime::events::{Kind, Recorder};
use std::collections::BTreeSet;
use tracing::warn;

/// A fact that is reported once for as long as it holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// These features are enabled; the namespace is that of the operands.
    Gates { namespace: String, enabled: Vec<String> },
    /// Pods of this workload cannot start without an object that does not exist.
    Missing { workload: Key, reference: Reference },
    /// A remark on the annotation of the Infrastructure.
    Annotation(String),
    /// A manager creates objects in the cloud under the name that every cluster has by default.
    DefaultClusterName { manager: String },
    /// The cluster configures TLS settings that are not supported.
    Tls(String),
}

/// The facts that were reported, so that they are not reported again.
#[derive(Debug, Default)]
pub(crate) struct Reported(BTreeSet<Event>);

impl Reported {
    /// Emits and logs the facts that were not reported before.
    pub(crate) fn report(&mut self, recorder: &Recorder, mut events: BTreeSet<Event>) {
        let is_gates = |event: &&Event| matches!(event, Event::Gates { .. });
        let gates_before = self.0.iter().find(is_gates).cloned();
        for event in events.difference(&self.0) {
            event.emit(recorder, gates_before.is_some());
        }
        // Features that cannot be read at the moment have not changed.
        if !events.iter().any(|event| is_gates(&event)) {
            events.extend(gates_before);
        }
        self.0 = events;
    }
}

impl Event {
    fn emit(&self, recorder: &Recorder, gates_are_known: bool) {
        match self {
            Self::Gates { namespace, enabled } => {
                let reason = if gates_are_known {
                    "FeatureGatesModified"
                } else {
                    "FeatureGatesInitialized"
                };
                let key = Key::namespaced("v1", "Namespace", namespace, namespace);
                recorder.event(reference(&key), Kind::Normal, reason, gates_message(enabled));
            }
            Self::Missing {
                workload,
                reference: missing,
            } => {
                warn!(%workload, %missing, "Pods cannot start before this object exists");
                let message = format!(
                    "error calculating configuration hash: {:?} \"{}\" not found",
                    missing.kind, missing.name
                );
                recorder.event(reference(workload), Kind::Warning, "ConfigurationCheckFailed", message);
            }
            Self::Annotation(remark) => {
                warn!(%remark, "the annotation of the Infrastructure");
                let key = Key::of_cluster("config.openshift.io/v1", "Infrastructure", "cluster");
                recorder.event(reference(&key), Kind::Warning, "ExternalCloudProvider", remark.clone());
            }
            Self::DefaultClusterName { manager } => {
                let message = "spec.clusterName is kubernetes, the default: another cluster with that name in the same project would take over its load \
                               balancers. Set a name of its own before the first load balancer exists; a later change leaves the existing ones behind";
                warn!(manager, "{message}");
                let key = Key::of_cluster("outrigger.dev/v1alpha1", "CloudControllerManager", manager);
                recorder.event(reference(&key), Kind::Warning, "DefaultClusterName", message.to_owned());
            }
            Self::Tls(problem) => warn!("{problem}"),
        }
    }
}

fn gates_message(enabled: &[String]) -> String {
    let names = if enabled.is_empty() {
        "none".to_owned()
    } else {
        enabled.join(", ")
    };
    format!("FeatureGates updated, enabled are: {names}")
}

/// Emits an event for each object that was changed or failed.
pub(crate) fn emit(recorder: &Recorder, report: &Report) {
    for event in report.events() {
        let kind = match event.severity {
            Severity::Normal => Kind::Normal,
            Severity::Warning => Kind::Warning,
        };
        recorder.event(reference(event.key), kind, event.reason, event.message);
    }
}

/// The object that an event is about.
fn reference(key: &Key) -> ObjectReference {
    ObjectReference {
        api_version: Some(key.api_version.clone()),
        kind: Some(key.kind.clone()),
        namespace: key.namespace.clone(),
        name: Some(key.name.clone()),
        ..ObjectReference::default()
    }
}
