//! What the cloud was asked. Pure.

use crate::Service;
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// One call that the cloud got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Counts from 0 over all services.
    pub number: u64,
    /// Whom it was for.
    pub service: Service,
    /// Its name in [`crate::OPERATIONS`], or nothing.
    pub operation: &'static str,
    /// `GET`, …
    pub method: String,
    /// The whole path, as it came.
    pub path: String,
    /// The query, as it came.
    pub query: String,
    /// The body, as it came; nothing for calls to Keystone, which have secrets in them.
    pub body: String,
    /// The name of the user whose token it bore.
    pub user: Option<String>,
    /// The `User-Agent`.
    pub agent: Option<String>,
    /// When it came, since the cloud was made.
    pub at: Duration,
    /// How long it took; `None` while it is running, and for ever if the caller gave up.
    pub took: Option<Duration>,
    /// The status of the answer; `None` if there was none.
    pub status: Option<u16>,
}

impl Call {
    /// Whether it asked for a change, and not only for a token.
    pub fn is_write(&self) -> bool {
        self.method != "GET" && self.method != "HEAD" && self.service != Service::Keystone
    }
}

/// A point in the call log, to count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// The calls, newest last, bounded; and counters, which are not.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    next: u64,
    calls: VecDeque<Call>,
    counts: BTreeMap<&'static str, u64>,
}

impl CallLog {
    pub(crate) fn open(&mut self, mut call: Call, capacity: usize) -> u64 {
        call.number = self.next;
        self.next += 1;
        *self.counts.entry(call.operation).or_default() += 1;
        self.calls.push_back(call);
        while self.calls.len() > capacity {
            self.calls.pop_front();
        }
        self.next - 1
    }

    pub(crate) fn find(&mut self, number: u64) -> Option<&mut Call> {
        let index = self.calls.binary_search_by_key(&number, |call| call.number).ok()?;
        self.calls.get_mut(index)
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.next)
    }

    pub(crate) fn since(&self, mark: Mark) -> impl Iterator<Item = &Call> {
        let first = self.calls.partition_point(|call| call.number < mark.0);
        self.calls.range(first..)
    }

    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.calls.iter()
    }

    pub(crate) fn count(&self, operation: &str) -> u64 {
        self.counts.get(operation).copied().unwrap_or_default()
    }

    pub(crate) fn total(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(operation: &'static str) -> Call {
        Call {
            number: 0,
            service: Service::Nova,
            operation,
            method: "GET".into(),
            path: "/".into(),
            query: String::new(),
            body: String::new(),
            user: None,
            agent: None,
            at: Duration::ZERO,
            took: None,
            status: None,
        }
    }

    #[test]
    fn keeps_the_newest_and_counts_all() {
        let mut log = CallLog::default();
        log.open(call("a"), 2);
        let mark = log.mark();
        log.open(call("b"), 2);
        log.open(call("a"), 2);
        assert_eq!(log.all().map(|call| call.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(log.since(mark).count(), 2);
        assert_eq!((log.count("a"), log.count("b"), log.total()), (2, 1, 3));
        assert!(log.find(0).is_none());
        log.find(2).unwrap().status = Some(200);
        assert_eq!(log.all().next_back().unwrap().status, Some(200));
    }
}
