//! Concurrent edits of a shared cloud object, merged into one guarded write.
//!
//! Several Services share a security group, a load balancer or a route table, and each of them edits its own part. One lane per
//! object serves them: the first caller reads the object, applies its own edit and every edit that waits at that time, and writes
//! once. If the object changed in between, it is read again and all edits are applied again. Nothing is kept between calls, so
//! that a process can stop at any time.

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use cloud::{Error, Result};
use std::{
    collections::HashMap,
    fmt::Display,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How often an object is read because another process changed it.
const ATTEMPTS: usize = 5;

/// Where shared objects of one kind are read and written.
#[async_trait]
pub trait Store: Sync {
    /// Which object.
    type Key: Clone + Eq + Hash + Display + Send + Sync;
    /// The object, with its version. Two are equal if a write of one over the other changes nothing.
    type Object: Clone + PartialEq + Send + Sync;

    /// Reads the object.
    async fn read(&self, key: &Self::Key) -> Result<Self::Object>;

    /// Writes the object, if it still has the version of `old`.
    async fn write(&self, key: &Self::Key, old: &Self::Object, new: &Self::Object) -> Result<Written>;
}

/// The result of a guarded write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The object is as written.
    Done,
    /// The object has another version by now: HTTP 412 or 409.
    Conflict,
}

/// The lanes of the objects that are being edited at this time.
pub struct Lanes<K: Eq + Hash, O>(Mutex<HashMap<K, Arc<Lane<O>>>>);

struct Lane<O> {
    /// Held by the caller that reads and writes.
    turn: tokio::sync::Mutex<()>,
    waiting: Mutex<Vec<Arc<Edit<O>>>>,
}

/// A change that can be applied again to a newer state of the object.
type Apply<O> = Box<dyn Fn(&mut O) -> Result<()> + Send + Sync>;

/// What one caller changes.
struct Edit<O> {
    apply: Apply<O>,
    outcome: Mutex<Option<Result<()>>>,
}

impl<K: Eq + Hash, O> Default for Lanes<K, O> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash + Display, O: Clone + PartialEq> Lanes<K, O> {
    /// Edits an object, and returns what the edit returned when it was applied to what is now in the cloud.
    ///
    /// `edit` may be applied several times, each time to what was just read, so it sets its part of the object
    /// and not how to get there. It writes nothing if it changes nothing. Dropped, it may have been written or not.
    ///
    /// # Errors
    /// That of the edit, which then changes nothing; that of reading or writing the object, for every caller that it concerns.
    /// If the cloud refuses several edits together, each is written by itself, and only the refused ones fail.
    pub async fn edit<S, T>(
        &self,
        store: &S,
        key: &K,
        edit: impl Fn(&mut O) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T>
    where
        S: Store<Key = K, Object = O>,
        T: Send + 'static,
    {
        let value = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&value);
        let place = self.enter(key, move |object: &mut O| {
            *lock(&slot) = Some(edit(object)?);
            Ok(())
        });
        let _turn = place.lane.turn.lock().await;
        if lock(&place.edit.outcome).is_none() {
            place.lane.serve(store, key).await;
        }
        let outcome = lock(&place.edit.outcome).take();
        let unserved = || Error::unavailable(format!("update of {key}"), "the edit was not applied");
        outcome.unwrap_or_else(|| Err(unserved()))?;
        lock(&value).take().ok_or_else(unserved)
    }

    fn enter<'a>(
        &'a self,
        key: &'a K,
        apply: impl Fn(&mut O) -> Result<()> + Send + Sync + 'static,
    ) -> Place<'a, K, O> {
        let edit = Arc::new(Edit {
            apply: Box::new(apply),
            outcome: Mutex::default(),
        });
        let mut lanes = lock(&self.0);
        let lane = lanes.entry(key.clone()).or_insert_with(|| {
            Arc::new(Lane {
                turn: tokio::sync::Mutex::default(),
                waiting: Mutex::default(),
            })
        });
        lock(&lane.waiting).push(Arc::clone(&edit));
        Place {
            lanes: self,
            key,
            lane: Arc::clone(lane),
            edit,
        }
    }
}

/// A caller in its lane. It leaves when it is dropped, and the last one removes the lane.
struct Place<'a, K: Eq + Hash, O> {
    lanes: &'a Lanes<K, O>,
    key: &'a K,
    lane: Arc<Lane<O>>,
    edit: Arc<Edit<O>>,
}

impl<K: Eq + Hash, O> Drop for Place<'_, K, O> {
    fn drop(&mut self) {
        lock(&self.lane.waiting).retain(|edit| !Arc::ptr_eq(edit, &self.edit));
        let mut lanes = lock(&self.lanes.0);
        // One reference is the map's, the other one is ours; another caller needs the map to get one.
        if Arc::strong_count(&self.lane) == 2 {
            lanes.remove(self.key);
        }
    }
}

impl<O: Clone + PartialEq> Lane<O> {
    /// Applies every edit that waits.
    async fn serve<S: Store<Object = O>>(&self, store: &S, key: &S::Key) {
        let all = || {
            let waiting = lock(&self.waiting);
            let unserved = waiting.iter().filter(|edit| lock(&edit.outcome).is_none());
            unserved.cloned().collect::<Vec<_>>()
        };
        for edit in write(store, key, all).await {
            write(store, key, || vec![Arc::clone(&edit)]).await;
        }
    }
}

/// Reads an object, applies edits and writes it, until no other process changes it in between. Returns the edits if the cloud
/// refuses several of them together.
async fn write<S: Store>(
    store: &S,
    key: &S::Key,
    edits: impl Fn() -> Vec<Arc<Edit<S::Object>>>,
) -> Vec<Arc<Edit<S::Object>>> {
    for _ in 0..ATTEMPTS {
        let read = store.read(key).await;
        // Also those of callers that came during the read.
        let edits = edits();
        let old = match read {
            Ok(old) => old,
            Err(error) => return fail(&edits, error),
        };
        let (new, outcomes) = applied(&old, &edits);
        let written = if new == old {
            Ok(Written::Done)
        } else {
            store.write(key, &old, &new).await
        };
        match written {
            Ok(Written::Done) => {
                for (edit, outcome) in edits.iter().zip(outcomes) {
                    *lock(&edit.outcome) = Some(outcome);
                }
                return Vec::new();
            }
            Ok(Written::Conflict) => {}
            Err(Error::Invalid { .. } | Error::Quota { .. }) if edits.len() > 1 => return edits,
            Err(error) => return fail(&edits, error),
        }
    }
    let busy = Error::unusable(key.to_string(), "other clients change it all the time");
    fail(&edits(), busy)
}

/// The object after all edits that succeed, and what became of each. None of it is true before it is written: an edit may fail
/// because of one before it.
fn applied<O: Clone>(old: &O, edits: &[Arc<Edit<O>>]) -> (O, Vec<Result<()>>) {
    let mut object = old.clone();
    let outcomes = edits.iter().map(|edit| {
        let mut next = object.clone();
        (edit.apply)(&mut next)?;
        object = next;
        Ok(())
    });
    let outcomes = outcomes.collect();
    (object, outcomes)
}

fn fail<O>(edits: &[Arc<Edit<O>>], error: Error) -> Vec<Arc<Edit<O>>> {
    let error = error.of_batch();
    for edit in edits {
        *lock(&edit.outcome) = Some(Err(error.clone()));
    }
    Vec::new()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
