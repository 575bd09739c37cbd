//! Writes a node's ranges into it. Safe to run again at any point.

use super::{Allocator, Options, Taken};
use crate::nodes::{self, pod_cidrs};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use runtime::{
    client::explain,
    events::{Kind, Recorder},
    health::Pulse,
    informer::{Change, Store},
    queue::Next,
};
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::{info, warn};

/// What the controller works with.
pub struct NodeIpam {
    allocator: Mutex<Allocator>,
    client: Client,
    nodes: Store<Node>,
    recorder: Recorder,
    in_scope: Arc<dyn Fn(&Node) -> bool + Send + Sync>,
    pulse: Pulse,
}

impl NodeIpam {
    /// Puts it together.
    pub fn new(
        options: &Options,
        client: Client,
        nodes: Store<Node>,
        recorder: Recorder,
        in_scope: Arc<dyn Fn(&Node) -> bool + Send + Sync>,
        pulse: Pulse,
    ) -> Self {
        Self {
            allocator: Mutex::new(Allocator::new(options)),
            client,
            nodes,
            recorder,
            in_scope,
            pulse,
        }
    }

    /// Takes note of a change: what a node has is learnt, and freed when it is gone. Answers a node that lacks its ranges.
    pub fn heed<'a>(&self, change: &'a Change<Node>) -> Option<&'a Arc<Node>> {
        let node = match change {
            Change::Added(node) => node,
            Change::Updated { old, new } => {
                // A list after a gap in the watch shows only who has the name now.
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
        self.needs_work(node).then_some(node)
    }

    fn needs_work(&self, node: &Node) -> bool {
        if pod_cidrs(node).is_empty() {
            return node.metadata.deletion_timestamp.is_none() && (self.in_scope)(node);
        }
        self.learn(node);
        false
    }

    fn learn(&self, node: &Node) {
        if pod_cidrs(node).is_empty() {
            return;
        }
        if let Taken::Foreign(cidrs) = self.allocator().learn(node) {
            warn!(
                node = node.name_any(),
                ?cidrs,
                "a node has pod ranges outside of --cluster-cidr; they are left alone"
            );
        }
    }

    /// Frees what a node had that is gone.
    fn release(&self, node: &Node) {
        self.pulse.over(&node.name_any());
        self.allocator().release(&node.uid().unwrap_or_default());
    }

    /// Gives one node its ranges, if it has none.
    pub async fn reconcile(&self, name: &str) -> Next {
        let Some(node) = self.nodes.find(name).filter(|node| pod_cidrs(node).is_empty()) else {
            self.pulse.over(name);
            return Next::Done;
        };
        self.pulse.begin();
        let uid = node.uid().unwrap_or_default();
        let Some(cidrs) = self.allocator().allocate(&uid) else {
            warn!(node = name, "no range is left in --cluster-cidr");
            self.pulse
                .failure_at([name.to_owned()], "no range is left in --cluster-cidr");
            self.tell(
                &node,
                "CIDRNotAvailable",
                format!("Node {name} status is now: CIDRNotAvailable"),
            );
            return Next::Retry;
        };
        match self.write(name, &uid, &cidrs).await {
            Ok(()) => {
                info!(node = name, ?cidrs, "gave the node its pod ranges");
                self.pulse.success();
                Next::Done
            }
            // The reservation stays: a write whose answer was lost may have been made.
            Err(error) => self.failed(&node, &error),
        }
    }

    fn failed(&self, node: &Node, error: &kube::Error) -> Next {
        let name = node.name_any();
        let now = self.nodes.find(&name);
        let replaced = now.is_none_or(|now| now.metadata.uid != node.metadata.uid);
        match error {
            // Gone, or another one of the same name. The informer will tell, or did before the range was chosen.
            kube::Error::Api(status) if status.code == 404 || (status.code == 409 && replaced) => {
                if replaced {
                    self.release(node);
                }
                self.pulse.success();
                Next::Done
            }
            _ => {
                warn!(node = name, %error, "cannot give the node its pod ranges");
                let reason = format!("cannot give nodes their pod ranges: {}", explain(error));
                self.pulse.failure_at([name.clone()], reason);
                self.tell(
                    node,
                    "CIDRAssignmentFailed",
                    format!("Node {name} status is now: CIDRAssignmentFailed"),
                );
                Next::Retry
            }
        }
    }

    async fn write(&self, name: &str, uid: &str, cidrs: &[IpNet]) -> Result<(), kube::Error> {
        let texts: Vec<_> = cidrs.iter().map(ToString::to_string).collect();
        // The UID makes the API server refuse (409) to give the ranges to another node of the same name.
        let patch = json!({"metadata": {"uid": uid}, "spec": {"podCIDR": texts.first(), "podCIDRs": texts}});
        let api: Api<Node> = Api::all(self.client.clone());
        api.patch(name, &PatchParams::default(), &Patch::Strategic(patch))
            .await
            .map(drop)
    }

    fn tell(&self, node: &Node, reason: &'static str, message: String) {
        self.recorder
            .event(nodes::reference(node), Kind::Normal, reason, message);
    }

    pub(super) fn allocator(&self) -> MutexGuard<'_, Allocator> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
