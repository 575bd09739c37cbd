//! Tells users about objects, in events under the names of the original.

use crate::operands::{Report, report::Severity};
use k8s_openapi::api::core::v1::ObjectReference;
use runtime::events::{Kind, Recorder};

/// Tells what became of objects.
pub(crate) fn tell(recorder: &Recorder, report: &Report) {
    for event in report.events() {
        let reference = ObjectReference {
            api_version: Some(event.key.api_version.clone()),
            kind: Some(event.key.kind.clone()),
            namespace: event.key.namespace.clone(),
            name: Some(event.key.name.clone()),
            ..ObjectReference::default()
        };
        let kind = match event.severity {
            Severity::Normal => Kind::Normal,
            Severity::Warning => Kind::Warning,
        };
        recorder.event(reference, kind, event.reason, event.message);
    }
}
