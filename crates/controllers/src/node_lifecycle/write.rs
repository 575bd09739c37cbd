//! Writes Nodes: taints and deletions.

use super::{
    COMPONENT, Metrics,
    plan::{self, Action, Step},
};
use crate::{
    api_server,
    nodes::{self, patch, taints, write_summary::WriteResult},
};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{DeleteParams, Preconditions},
};
use runtime::{
    events::{Kind, Recorder},
    informer::Store,
};
use tracing::{debug, info, warn};

/// Writes Nodes.
pub(super) struct Writer {
    api: Api<Node>,
    nodes: Store<Node>,
    recorder: Recorder,
    metrics: Metrics,
}

/// The UID of a Node that does not exist any more.
type Deleted = Option<String>;

impl Writer {
    pub(super) fn new(client: kube::Client, nodes: Store<Node>, recorder: Recorder, metrics: Metrics) -> Self {
        Self {
            api: Api::all(client),
            nodes,
            recorder,
            metrics,
        }
    }

    pub(super) async fn write(&self, action: Action) -> (WriteResult, Deleted) {
        debug!(%action, "planned");
        let Action { node, step } = action;
        match step {
            Step::Keep(_) => (WriteResult::Unchanged, None),
            Step::Taint => {
                let patch = patch::Spec::of(&node).with_taint(&taints::shutdown());
                let done = "tainted node: its machine is shut down";
                (self.patch(&node, patch, done).await, None)
            }
            Step::Untaint => {
                let positions = taints::positions(taints::of(&node), &taints::shutdown());
                let patch = patch::Spec::of(&node).without_taints(&positions);
                let done = "untainted node: it is ready again";
                (self.patch(&node, patch, done).await, None)
            }
            Step::Delete => self.delete(&node).await,
        }
    }

    /// Patches a Node. After a conflict the next pass tries again.
    async fn patch(&self, node: &Node, patch: patch::Spec<'_>, done: &'static str) -> WriteResult {
        let (name, params) = (nodes::name(node), api_server::patch_params(COMPONENT));
        match api_server::call(self.api.patch(name, &params, &patch.build())).await {
            Ok(_) => {
                info!(node = name, "{done}");
                WriteResult::Written
            }
            Err(api_server::Error::NotFound) => WriteResult::Unchanged,
            Err(error) => {
                warn!(node = name, error = error.report(), "cannot patch taints");
                refused(&error)
            }
        }
    }

    async fn delete(&self, node: &Node) -> (WriteResult, Deleted) {
        let (name, uid) = (nodes::name(node), nodes::uid(node));
        // The Node may have become ready during the call to the cloud.
        let current = self
            .nodes
            .find(name)
            .filter(|current| nodes::uid(current) == uid && !plan::is_ready(current));
        let Some(current) = current else {
            return (WriteResult::Unchanged, None);
        };
        let reference = nodes::reference(&current);
        let message = format!("Deleting node {name} because it does not exist in the cloud provider");
        self.recorder
            .event(reference.clone(), Kind::Normal, "DeletingNode", message);
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match api_server::call(self.api.delete(name, &params)).await {
            Ok(_) => {
                info!(node = name, "deleted node: its machine does not exist");
                self.metrics.deleted();
                (WriteResult::Written, Some(uid.to_owned()))
            }
            Err(api_server::Error::NotFound) => (WriteResult::Unchanged, Some(uid.to_owned())),
            Err(error) => {
                let report = error.report();
                warn!(node = name, error = report, "cannot delete node");
                let message = format!("Failed deleting node {name}: {report}");
                self.recorder
                    .event(reference, Kind::Warning, "DeletingNodeFailed", message);
                (refused(&error), None)
            }
        }
    }
}

/// A conflict with another client is not a failure of this controller.
fn refused(error: &api_server::Error) -> WriteResult {
    match error {
        api_server::Error::NotFound | api_server::Error::Conflict(_) => WriteResult::Unchanged,
        other => WriteResult::Refused(other.report()),
    }
}
