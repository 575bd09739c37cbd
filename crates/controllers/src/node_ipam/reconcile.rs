//! Assigns pod CIDRs to one Node. Safe to run again at any point.

use super::{Allocator, Context, Recorded};
use crate::{
    api_server,
    nodes::{self, Scope, pod_cidrs},
};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use runtime::{
    events::{Kind, Recorder},
    health::Pulse,
    informer::{Change, Store},
    queue::Next,
};
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::{info, warn};

/// Assigns pod CIDRs to Nodes.
pub(super) struct Reconciler {
    allocator: Mutex<Allocator>,
    api: Api<Node>,
    nodes: Store<Node>,
    recorder: Recorder,
    scope: Scope,
    pulse: Pulse,
}

impl Reconciler {
    pub(super) fn new(context: Context) -> Self {
        let Context {
            client,
            nodes,
            recorder,
            queue: _,
            scope,
            pulse,
            options,
        } = context;
        Self {
            allocator: Mutex::new(Allocator::new(&options)),
            api: Api::all(client),
            nodes: nodes.store(),
            recorder,
            scope,
            pulse,
        }
    }

    /// Records the CIDRs of a Node, releases those of a deleted one, and returns a Node that has none.
    pub(super) fn handle<'a>(&self, change: &'a Change<Node>) -> Option<&'a Arc<Node>> {
        let node = match change {
            Change::Added(node) => node,
            Change::Updated { old, new } => {
                // After a gap in the watch, a Node that was deleted and created again is reported as updated.
                if old.metadata.uid != new.metadata.uid {
                    self.release(old);
                }
                new
            }
            Change::Deleted(node) => {
                self.release(node);
                return None;
            }
        };
        if pod_cidrs(node).is_empty() {
            let needs_work = node.metadata.deletion_timestamp.is_none() && self.scope.contains(node);
            return needs_work.then_some(node);
        }
        self.record(node);
        None
    }

    fn record(&self, node: &Node) {
        if let Recorded::Foreign(cidrs) = self.allocator().record(node) {
            warn!(
                node = node.name_any(),
                ?cidrs,
                "the node has pod CIDRs outside of --cluster-cidr; they are not managed"
            );
        }
    }

    fn release(&self, node: &Node) {
        self.pulse.over(&node.name_any());
        self.allocator().release(nodes::uid(node));
    }

    /// Assigns CIDRs to a Node that has none.
    pub(super) async fn reconcile(&self, name: &str) -> Next {
        let Some(node) = self.nodes.find(name).filter(|node| pod_cidrs(node).is_empty()) else {
            self.pulse.over(name);
            return Next::Done;
        };
        self.pulse.begin();
        let Some(cidrs) = self.allocator().allocate(nodes::uid(&node)) else {
            warn!(node = name, "no range is left in --cluster-cidr");
            self.report_failure(
                &node,
                "CIDRNotAvailable",
                "no range is left in --cluster-cidr".to_owned(),
            );
            return Next::Retry;
        };
        match self.write(&node, &cidrs).await {
            Ok(()) => {
                info!(node = name, ?cidrs, "assigned pod CIDRs");
                self.pulse.success();
                Next::Done
            }
            Err(error) => self.failed(&node, &error),
        }
    }

    fn failed(&self, node: &Node, error: &api_server::Error) -> Next {
        let name = node.name_any();
        let current = self.nodes.find(&name);
        let replaced = current.is_none_or(|current| current.metadata.uid != node.metadata.uid);
        match error {
            api_server::Error::NotFound | api_server::Error::Conflict(_) if replaced => {
                // Its delete event may have been handled before the CIDRs were allocated.
                self.release(node);
                self.pulse.success();
                Next::Done
            }
            // The delete event is still to come.
            api_server::Error::NotFound => {
                self.pulse.success();
                Next::Done
            }
            // The allocation is kept: if only the answer was lost, the Node has these CIDRs.
            _ => {
                let error = error.report();
                warn!(node = name, error, "cannot assign pod CIDRs");
                self.report_failure(
                    node,
                    "CIDRAssignmentFailed",
                    format!("cannot assign pod CIDRs: {error}"),
                );
                Next::Retry
            }
        }
    }

    async fn write(&self, node: &Node, cidrs: &[IpNet]) -> Result<(), api_server::Error> {
        let texts: Vec<_> = cidrs.iter().map(ToString::to_string).collect();
        // With the UID, the API server refuses (409) to patch another Node of the same name.
        let patch = Patch::Strategic(json!({
            "metadata": {"uid": node.metadata.uid},
            "spec": {"podCIDR": texts.first(), "podCIDRs": texts},
        }));
        let params = PatchParams::default();
        let patched = api_server::call(self.api.patch(nodes::name(node), &params, &patch));
        patched.await.map(drop)
    }

    fn report_failure(&self, node: &Node, reason: &'static str, cause: String) {
        let name = node.name_any();
        let message = format!("Node {name} status is now: {reason}");
        self.pulse.failure_at([name], cause);
        self.recorder
            .event(nodes::reference(node), Kind::Normal, reason, message);
    }

    pub(super) fn allocator(&self) -> MutexGuard<'_, Allocator> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
