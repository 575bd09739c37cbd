//! Objects that are being deleted, so that their deletion is reported once.

use crate::Key;
use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The objects that this process deletes, and that still exist.
#[derive(Default)]
pub(in crate::operands) struct Deletions(Mutex<BTreeSet<Key>>);

impl Deletions {
    /// Records that it is being deleted.
    pub(in crate::operands) fn begins(&self, key: &Key) {
        self.lock().insert(key.clone());
    }

    /// Records that it does not exist any more. Returns whether it was being deleted.
    pub(in crate::operands) fn ends(&self, key: &Key) -> bool {
        self.lock().remove(key)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
