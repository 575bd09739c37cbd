//! A map that evicts the least recently used entry.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

/// A map with a maximum number of entries.
#[derive(Debug)]
pub(super) struct Lru<K, V> {
    capacity: usize,
    clock: u64,
    entries: HashMap<K, (V, u64)>,
    /// The keys by the time of their last use.
    used: BTreeMap<u64, K>,
}

impl<K: Copy + Eq + Hash, V> Lru<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            clock: 0,
            entries: HashMap::new(),
            used: BTreeMap::new(),
        }
    }

    /// The value of the key; `default` if it has none.
    pub(super) fn entry(&mut self, key: K, default: impl FnOnce() -> V) -> &mut V {
        if !self.entries.contains_key(&key) && self.entries.len() >= self.capacity {
            self.evict();
        }
        self.clock += 1;
        let (value, used) = self.entries.entry(key).or_insert_with(|| (default(), 0));
        self.used.remove(used);
        self.used.insert(self.clock, key);
        *used = self.clock;
        value
    }

    fn evict(&mut self) {
        if let Some((_, oldest)) = self.used.pop_first() {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evicts_the_least_recently_used() {
        let mut lru = Lru::new(2);
        lru.entry("a", || 1);
        lru.entry("b", || 2);
        assert_eq!(*lru.entry("a", || 0), 1);
        lru.entry("c", || 3);
        assert_eq!(*lru.entry("a", || 0), 1);
        assert_eq!(*lru.entry("b", || 0), 0, "b was evicted for c");
        assert_eq!((lru.entries.len(), lru.used.len()), (2, 2));
    }
}
