//! Which node runs on which instance, as far as callers asked about it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Names of nodes by the IDs of their instances. EC2 never gives an ID twice, so that no entry becomes wrong.
#[derive(Default)]
pub struct NodeIndex(Mutex<HashMap<String, String>>);

impl NodeIndex {
    /// This node runs on this instance.
    pub fn learn(&self, instance: &str, node: &str) {
        let mut nodes = self.lock();
        if nodes.get(instance).is_none_or(|known| known != node) {
            nodes.insert(instance.to_owned(), node.to_owned());
        }
    }

    /// The node that runs on an instance.
    pub fn find(&self, instance: &str) -> Option<String> {
        self.lock().get(instance).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
