//! Which node runs on which server, as far as it was read.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// Names of nodes by the IDs of their servers. Nova never gives an ID twice, so that no entry becomes wrong.
#[derive(Default)]
pub struct NodeIndex(RwLock<HashMap<String, String>>);

impl NodeIndex {
    /// This node runs on this server.
    pub fn learn(&self, server: &str, node: &str) {
        if self.read().get(server).is_none_or(|known| known != node) {
            self.write().insert(server.to_owned(), node.to_owned());
        }
    }

    /// This server does not exist any more.
    pub fn forget(&self, server: &str) {
        self.write().remove(server);
    }

    /// The node that runs on a server.
    pub fn find(&self, server: &str) -> Option<String> {
        self.read().get(server).cloned()
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, String>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, String>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
