//! What writes objects, and what it remembers of them.

use super::{
    api::Call,
    apply::{applied::Applied, deletions::Deletions},
    report::{Action, Class, Failure},
};
use crate::{Key, Lookup};
use kube::Client;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// How many objects are worked on at a time.
pub(super) const CONCURRENCY: usize = 8;

/// How long an object may take to be gone before the run goes on without it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where objects can be read without a request to the API server.
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

/// Writes objects. It may be dropped at any moment, and the process killed: running again ends in the same state.
pub struct Engine {
    pub(super) client: Client,
    pub(super) applied: Applied,
    pub(super) deletions: Deletions,
    pub(super) patience: Duration,
    /// The kind that owns what it writes; `None` if there is no owner.
    pub(super) owner: Option<&'static str>,
}

impl Engine {
    /// Writes as this client.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            applied: Applied::default(),
            deletions: Deletions::default(),
            patience: PATIENCE,
            owner: None,
        }
    }

    /// What it writes belongs to objects of this kind. It removes nothing else.
    #[must_use]
    pub fn owned_by(mut self, kind: &'static str) -> Self {
        self.owner = Some(kind);
        self
    }

    /// How long an object may take to be gone before the run goes on without it.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The object as it is: looked up, unless what is found there is from before our own last write.
    pub(super) async fn look(&self, key: &Key, cache: &dyn Reader) -> std::result::Result<Option<Arc<Value>>, Failure> {
        match cache.find(key) {
            Lookup::Found(live) if !self.applied.is_stale(key, Some(&live)) => Ok(Some(live)),
            Lookup::Absent if !self.applied.is_stale(key, None) => Ok(None),
            _ => Ok(Call::new(&self.client, key, Action::Read).find().await?.map(Arc::new)),
        }
    }
}

/// The failure for an object that another controller owns.
pub(super) fn owned_by_other(key: &Key, owner: &str) -> Failure {
    let reason = format!("it belongs to {owner}, so it is left alone: delete that, or give it another name");
    Failure::new(key, Action::Update, Class::Refused, reason)
}
