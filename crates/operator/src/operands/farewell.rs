//! What is on its way out, so that it is told once when it is gone.

use crate::Key;
use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What this process has seen being deleted because it is not wanted, or not as it is, and has not seen gone.
#[derive(Default)]
pub(super) struct Leaving(Mutex<BTreeSet<Key>>);

impl Leaving {
    /// It is being deleted.
    pub(super) fn begins(&self, key: &Key) {
        self.lock().insert(key.clone());
    }

    /// It is not any more. Says whether it was.
    pub(super) fn ends(&self, key: &Key) -> bool {
        self.lock().remove(key)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
