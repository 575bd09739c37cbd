//! The calls that a cloud got. Pure.

use crate::fault::Subject;
use std::{
    collections::{BTreeMap, VecDeque},
    ops::Deref,
    time::Duration,
};

/// One call. Its details can be read as fields of the call itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<D> {
    /// Counts from 0 over all calls.
    pub number: u64,
    /// When it arrived, since the cloud was created.
    pub at: Duration,
    /// How long it took; `None` while it is running, and forever if the caller gave up.
    pub took: Option<Duration>,
    /// What was called, and with which result.
    pub details: D,
}

impl<D> Deref for Call<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.details
    }
}

/// What a recorder keeps of a call besides its times.
pub trait Details: Clone + Send + 'static {
    /// What faults can be restricted to.
    fn subject(&self) -> Subject<'_>;

    /// How much of the recorder's capacity the call takes.
    fn size(&self) -> usize {
        1
    }
}

/// A point in the record, to count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// The calls, newest last, up to a capacity; and counters of all calls.
#[derive(Debug)]
pub(crate) struct Recorder<D> {
    next: u64,
    calls: VecDeque<Call<D>>,
    counts: BTreeMap<String, u64>,
    size: usize,
    capacity: usize,
}

impl<D: Details> Default for Recorder<D> {
    fn default() -> Self {
        Self {
            next: 0,
            calls: VecDeque::new(),
            counts: BTreeMap::new(),
            size: 0,
            capacity: 1_000_000,
        }
    }
}

impl<D: Details> Recorder<D> {
    /// Records that a call arrived, and returns its number.
    pub(crate) fn open(&mut self, details: D, at: Duration) -> u64 {
        let number = self.next;
        self.next += 1;
        *self.counts.entry(details.subject().operation.to_owned()).or_default() += 1;
        self.size += details.size();
        self.calls.push_back(Call {
            number,
            at,
            took: None,
            details,
        });
        self.shrink();
        number
    }

    /// Records what came of a call, if it is still kept.
    pub(crate) fn close(&mut self, number: u64, at: Duration, change: impl FnOnce(&mut D)) {
        let Ok(index) = self.calls.binary_search_by_key(&number, |call| call.number) else {
            return;
        };
        let call = &mut self.calls[index];
        call.took = Some(at.saturating_sub(call.at));
        self.size -= call.details.size();
        change(&mut call.details);
        self.size += call.details.size();
        self.shrink();
    }

    pub(crate) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.shrink();
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.counts.clear();
        self.size = 0;
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.next)
    }

    pub(crate) fn since(&self, mark: Mark) -> impl Iterator<Item = &Call<D>> {
        let first = self.calls.partition_point(|call| call.number < mark.0);
        self.calls.range(first..)
    }

    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Call<D>> {
        self.calls.iter()
    }

    pub(crate) fn count(&self, operation: &str) -> u64 {
        self.counts.get(operation).copied().unwrap_or_default()
    }

    pub(crate) fn total(&self) -> u64 {
        self.next
    }

    fn shrink(&mut self) {
        while self.size > self.capacity {
            let Some(oldest) = self.calls.pop_front() else { break };
            self.size -= oldest.details.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Debug, Clone)]
    struct Note(&'static str, usize);

    impl Details for Note {
        fn subject(&self) -> Subject<'_> {
            Subject {
                operation: self.0,
                ..Subject::default()
            }
        }

        fn size(&self) -> usize {
            self.1
        }
    }

    fn numbers(recorder: &Recorder<Note>) -> Vec<u64> {
        recorder.all().map(|call| call.number).collect()
    }

    #[rstest]
    #[case::all(100, &[0, 1, 2])]
    #[case::the_newest(8, &[1, 2])]
    #[case::one(4, &[2])]
    #[case::none(0, &[])]
    fn keeps_the_newest_and_counts_all(#[case] capacity: usize, #[case] kept: &[u64]) {
        let mut recorder = Recorder::default();
        recorder.set_capacity(capacity);
        for number in 0..3 {
            assert_eq!(recorder.open(Note("a", 4), SECOND), number);
        }
        assert_eq!(numbers(&recorder), kept);
        assert_eq!((recorder.count("a"), recorder.count("b"), recorder.total()), (3, 0, 3));
    }

    #[test]
    fn records_what_came_of_a_call() {
        let mut recorder = Recorder::default();
        recorder.set_capacity(9);
        let first = recorder.open(Note("a", 1), SECOND);
        let mark = recorder.mark();
        let second = recorder.open(Note("b", 1), SECOND);
        recorder.close(second, 3 * SECOND, |note| note.1 = 9);
        recorder.close(first, 3 * SECOND, |note| note.1 = 1);
        assert_eq!(numbers(&recorder), [second]);
        let took: Vec<_> = recorder.since(mark).map(|call| (call.0, call.took)).collect();
        assert_eq!(took, [("b", Some(2 * SECOND))]);
        recorder.clear();
        recorder.close(second, 3 * SECOND, |note| note.1 = 5);
        assert_eq!((recorder.all().count(), recorder.count("a")), (0, 0));
    }
}
