//! Who is who: which node runs on which server, as far as it was ever asked.

use crate::api::nova::Server;
use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// Names by the IDs of servers. An ID is never given twice, so nothing in here becomes wrong about another machine.
#[derive(Default)]
pub struct Roster(RwLock<HashMap<String, Names>>);

#[derive(PartialEq, Eq)]
struct Names {
    /// Where it is not that of the node.
    server: Option<String>,
    node: String,
}

impl Roster {
    /// This node runs on this server.
    pub fn learn(&self, server: &Server, node: &str) {
        let names = Names {
            server: (server.name != node).then(|| server.name.clone()),
            node: node.to_owned(),
        };
        if self.read().get(&server.id) != Some(&names) {
            self.write().insert(server.id.clone(), names);
        }
    }

    /// This node runs on the server with this ID.
    pub fn learn_node(&self, server: &str, node: &str) {
        if self.node_name(server).is_none() {
            let names = Names {
                server: None,
                node: node.to_owned(),
            };
            self.write().insert(server.to_owned(), names);
        }
    }

    /// This server is gone.
    pub fn forget(&self, server: &str) {
        self.write().remove(server);
    }

    /// What Nova calls a server, where that is not the name of its node.
    pub fn server_name(&self, server: &str) -> Option<String> {
        self.read().get(server)?.server.clone()
    }

    /// The node that runs on a server.
    pub fn node_name(&self, server: &str) -> Option<String> {
        self.read().get(server).map(|names| names.node.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, Names>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, Names>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
