//! What the controller remembers of Nodes.

use crate::nodes;
use cloud::Answer;
use k8s_openapi::api::core::v1::Node;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The provider's labels as the cloud last reported them and as they were written, by the UID of the Node.
#[derive(Debug, Default)]
pub(super) struct ReportedLabels(Mutex<HashMap<String, BTreeMap<String, String>>>);

impl ReportedLabels {
    pub(super) fn find(&self, node: &Node) -> Option<BTreeMap<String, String>> {
        self.lock().get(nodes::uid(node)).cloned()
    }

    /// Records the labels of the answer, which have been written to the Node.
    pub(super) fn record(&self, node: &Node, answer: cloud::Result<Answer>) {
        let instance = answer.ok().and_then(Answer::found);
        let labels = instance.map(|instance| instance.labels).unwrap_or_default();
        if labels.is_empty() {
            self.forget(node);
        } else {
            self.lock().insert(nodes::uid(node).to_owned(), labels);
        }
    }

    pub(super) fn forget(&self, node: &Node) {
        self.lock().remove(nodes::uid(node));
    }

    /// Forgets all Nodes but these.
    pub(super) fn retain(&self, nodes: &[Arc<Node>]) {
        let uids: HashSet<&str> = nodes.iter().map(|node| nodes::uid(node)).collect();
        self.lock().retain(|uid, _| uids.contains(uid.as_str()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<String, String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
