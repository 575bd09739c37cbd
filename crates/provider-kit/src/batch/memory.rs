//! What a batch learned about the objects of a cloud.

use super::Key;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// More objects than one cluster loses while a process runs; then they are read again.
const MOST_DELETED: usize = 10_000;

/// How long a list without a name is trusted, once the name itself was searched for.
const UNUSED: Duration = Duration::from_mins(5);

#[derive(Default)]
pub(super) struct Memory(Mutex<Learned>);

#[derive(Default)]
struct Learned {
    /// How many objects the list of all had.
    total: usize,
    name_filter: NameFilter,
    /// IDs of objects that do not exist. They never exist again.
    deleted: HashSet<String>,
    /// Names that no object had, and since when that is known. An object may get them.
    unused: HashMap<String, Instant>,
    /// Names by ID, where they are not those that callers expect.
    names: HashMap<String, String>,
}

/// Whether the cloud lists the objects of several names as it should.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum NameFilter {
    #[default]
    Untested,
    Works,
    Broken,
}

impl Memory {
    pub(super) fn count(&self, total: usize) {
        self.learned().total = total;
    }

    pub(super) fn total(&self) -> usize {
        self.learned().total
    }

    pub(super) fn name_filter_works(&self) {
        let mut learned = self.learned();
        if learned.name_filter == NameFilter::Untested {
            learned.name_filter = NameFilter::Works;
        }
    }

    pub(super) fn name_filter_is_broken(&self) {
        self.learned().name_filter = NameFilter::Broken;
    }

    pub(super) fn can_filter_by_name(&self) -> bool {
        self.learned().name_filter == NameFilter::Works
    }

    pub(super) fn cannot_filter_by_name(&self) -> bool {
        self.learned().name_filter == NameFilter::Broken
    }

    /// The cloud answers that the object of this key does not exist.
    pub(super) fn learn_missing(&self, key: Key<'_>) {
        let mut learned = self.learned();
        match key {
            Key::Id(id, _) => {
                if learned.deleted.len() >= MOST_DELETED {
                    learned.deleted.clear();
                }
                learned.deleted.insert(id.to_owned());
                learned.names.remove(id);
            }
            Key::Name(name) => drop(learned.unused.insert(name.to_owned(), Instant::now())),
        }
    }

    pub(super) fn is_deleted(&self, id: &str) -> bool {
        self.learned().deleted.contains(id)
    }

    pub(super) fn is_unused(&self, name: &str) -> bool {
        self.learned()
            .unused
            .get(name)
            .is_some_and(|since| since.elapsed() < UNUSED)
    }

    pub(super) fn forget_old_names(&self) {
        self.learned().unused.retain(|_, since| since.elapsed() < UNUSED);
    }

    /// The object has this name, where callers expect another one.
    pub(super) fn learn_name(&self, id: &str, name: &str, expected: &str) {
        let mut learned = self.learned();
        if name == expected {
            learned.names.remove(id);
        } else if learned.names.get(id).is_none_or(|known| known != name) {
            learned.names.insert(id.to_owned(), name.to_owned());
        }
    }

    pub(super) fn name_of(&self, id: &str) -> Option<String> {
        self.learned().names.get(id).cloned()
    }

    fn learned(&self) -> MutexGuard<'_, Learned> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
