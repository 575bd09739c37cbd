//! Writes objects, and remembers what it wrote.

use super::{
    api::Call,
    apply::{applied::Applied, deletions::Deletions},
    report::{Class, Failure, Operation},
};
use crate::{Key, Lookup};
use kube::Client;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// How many objects are written at the same time.
pub(super) const CONCURRENCY: usize = 8;

/// How long a run waits for the deletion of an object.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reads objects without a request to the API server.
pub trait Reader: Send + Sync {
    /// The object as last seen, with its `managedFields`.
    fn find(&self, key: &Key) -> Lookup;
}

/// No cache: every object is read from the API server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uncached;

impl Reader for Uncached {
    fn find(&self, _: &Key) -> Lookup {
        Lookup::Unknown("it is not cached".to_owned())
    }
}

/// Writes objects. It may be dropped, and the process killed, at any time: running again ends in the same state.
pub struct Engine {
    pub(super) client: Client,
    pub(super) applied: Applied,
    pub(super) deletions: Deletions,
    pub(super) patience: Duration,
    /// The kind that owns the written objects; `None` if there is no owner.
    pub(super) owner: Option<&'static str>,
}

impl Engine {
    /// Writes with this client.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            applied: Applied::default(),
            deletions: Deletions::default(),
            patience: PATIENCE,
            owner: None,
        }
    }

    /// The same for objects that are owned by objects of this kind. It deletes no others.
    #[must_use]
    pub fn owned_by(mut self, kind: &'static str) -> Self {
        self.owner = Some(kind);
        self
    }

    /// How long a run waits for the deletion of an object.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The existing object: from the cache, unless that is older than our own last write.
    pub(super) async fn current(
        &self,
        key: &Key,
        cache: &dyn Reader,
    ) -> std::result::Result<Option<Arc<Value>>, Failure> {
        match cache.find(key) {
            Lookup::Found(live) if !self.applied.is_stale(key, Some(&live)) => Ok(Some(live)),
            Lookup::Absent if !self.applied.is_stale(key, None) => Ok(None),
            _ => Ok(Call::new(&self.client, key, Operation::Read)
                .find()
                .await?
                .map(Arc::new)),
        }
    }
}

/// The failure for an object that another controller owns.
pub(super) fn owned_by_other(key: &Key, owner: &str) -> Failure {
    let reason = format!("it belongs to {owner}, so it is left alone: delete that, or give it another name");
    Failure::new(key, Operation::Update, Class::Refused, reason)
}
