//! Work queues with the semantics of client-go: a key is queued once however often it is added, is worked on by one
//! worker at a time, and is run again if it was added meanwhile.

mod limiter;
mod metrics;
mod workers;

pub use limiter::{Bucket, Limiter};
pub use metrics::Metrics;
pub use workers::{Next, work};

use metrics::QueueMetrics;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    hash::Hash,
    ops::Deref,
    sync::Arc,
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// A key of a queue.
pub trait Key: Eq + Hash + Clone + Send + Sync + fmt::Debug + 'static {}
impl<K: Eq + Hash + Clone + Send + Sync + fmt::Debug + 'static> Key for K {}

/// A work queue. Clones share it.
#[derive(Debug)]
pub struct Queue<K: Key>(Arc<Inner<K>>);

impl<K: Key> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[derive(Debug)]
struct Inner<K> {
    name: String,
    state: Mutex<State<K>>,
    changed: Notify,
    metrics: Option<QueueMetrics>,
}

#[derive(Debug)]
struct State<K> {
    /// Keys that are ready, in order, with the time they were added. All of them are in `dirty`.
    ready: VecDeque<(K, Instant)>,
    /// Keys that need work, whether or not they are being worked on.
    dirty: HashSet<K>,
    /// Keys being worked on, with their start time.
    running: HashMap<K, Instant>,
    /// Keys to be added later.
    delayed: HashMap<K, Instant>,
    limiter: Limiter<K>,
    /// When the last key was finished.
    finished: Option<Instant>,
    stopping: bool,
}

impl<K: Key> Queue<K> {
    /// An empty queue.
    #[must_use]
    pub fn new(name: &str, limiter: Limiter<K>, metrics: Option<&Metrics>) -> Self {
        Self(Arc::new(Inner {
            name: name.to_owned(),
            state: Mutex::new(State {
                ready: VecDeque::new(),
                dirty: HashSet::new(),
                running: HashMap::new(),
                delayed: HashMap::new(),
                limiter,
                finished: None,
                stopping: false,
            }),
            changed: Notify::new(),
            metrics: metrics.map(|metrics| metrics.of(name)),
        }))
    }

    /// The name in the metrics.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Adds the key now.
    pub fn add(&self, key: K) {
        self.0.state.lock().add(key, Instant::now(), self.0.metrics.as_ref());
        self.0.changed.notify_waiters();
    }

    /// Adds the key after a delay; the earlier of two times counts.
    pub fn add_after(&self, key: K, wait: Duration) {
        if wait.is_zero() {
            return self.add(key);
        }
        let mut state = self.0.state.lock();
        if state.stopping {
            return;
        }
        if let Some(metrics) = &self.0.metrics {
            metrics.retried();
        }
        let at = Instant::now() + wait;
        state
            .delayed
            .entry(key)
            .and_modify(|planned| *planned = at.min(*planned))
            .or_insert(at);
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Adds the key with back-off, and counts a failure.
    pub fn add_rate_limited(&self, key: K) {
        let wait = self.0.state.lock().limiter.when(&key);
        self.add_after(key, wait);
    }

    /// Resets the failures of the key.
    pub fn forget(&self, key: &K) {
        self.0.state.lock().limiter.forget(key);
    }

    /// The number of failures of the key since the last reset.
    pub fn failures(&self, key: &K) -> u32 {
        self.0.state.lock().limiter.failures(key)
    }

    /// Waits for a key; `None` once the queue is stopped and empty. Dropping the claim finishes the work on it.
    pub async fn next(&self) -> Option<Claim<K>> {
        self.next_batch(1).await.and_then(|mut claims| claims.pop())
    }

    /// The same as [`Queue::next_batch`], but waits for `gather` after the first key, so that keys that are added at the same time are
    /// returned together.
    pub async fn gather_batch(&self, max: usize, gather: Duration) -> Option<Vec<Claim<K>>> {
        let mut claims = self.next_batch(max).await?;
        tokio::time::sleep(gather).await;
        if claims.len() < max && !self.is_empty() {
            claims.extend(self.next_batch(max - claims.len()).await.unwrap_or_default());
        }
        Some(claims)
    }

    /// Waits for at least one key, and returns up to `max` that are ready; `None` once the queue is stopped and empty.
    pub async fn next_batch(&self, max: usize) -> Option<Vec<Claim<K>>> {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let wake = {
                let mut state = self.0.state.lock();
                let now = Instant::now();
                state.promote(now, self.0.metrics.as_ref());
                let keys = state.take(max, now, self.0.metrics.as_ref());
                if !keys.is_empty() {
                    return Some(
                        keys.into_iter()
                            .map(|key| Claim {
                                key,
                                queue: self.clone(),
                            })
                            .collect(),
                    );
                }
                if state.stopping {
                    return None;
                }
                state.delayed.values().min().copied()
            };
            match wake {
                Some(at) => {
                    let _ = tokio::time::timeout_at(at, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// The number of keys that are ready.
    pub fn len(&self) -> usize {
        self.0.state.lock().ready.len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time without progress: the age of the oldest key being worked on, or the time in which keys were ready and none was
    /// finished. A long queue with slow progress is not stuck.
    pub fn stillness(&self) -> Duration {
        let now = Instant::now();
        let state = self.0.state.lock();
        let waiting = state.ready.front().map(|(_, since)| state.finished.max(Some(*since)));
        let since = state.running.values().copied().chain(waiting.flatten()).min();
        since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Accepts no further keys. Ready keys are still returned, delayed keys are dropped.
    pub fn stop(&self) {
        let mut state = self.0.state.lock();
        state.stopping = true;
        state.delayed.clear();
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Updates the metrics that change with time; called before they are read.
    pub fn refresh_metrics(&self) {
        let Some(metrics) = &self.0.metrics else { return };
        let now = Instant::now();
        let state = self.0.state.lock();
        let ages = state
            .running
            .values()
            .map(|since| now.saturating_duration_since(*since));
        metrics.running(ages.clone().sum(), ages.max().unwrap_or_default());
    }

    fn finish(&self, key: &K) {
        let mut state = self.0.state.lock();
        state.finish(key, Instant::now(), self.0.metrics.as_ref());
        drop(state);
        self.0.changed.notify_waiters();
    }
}

impl<K> Inner<K> {}

impl<K: Key> State<K> {
    fn add(&mut self, key: K, now: Instant, metrics: Option<&QueueMetrics>) {
        if self.stopping || !self.dirty.insert(key.clone()) {
            return;
        }
        if let Some(metrics) = metrics {
            metrics.added();
        }
        if !self.running.contains_key(&key) {
            self.push(key, now, metrics);
        }
    }

    fn push(&mut self, key: K, now: Instant, metrics: Option<&QueueMetrics>) {
        self.ready.push_back((key, now));
        if let Some(metrics) = metrics {
            metrics.depth(self.ready.len());
        }
    }

    fn promote(&mut self, now: Instant, metrics: Option<&QueueMetrics>) {
        if self.delayed.values().all(|at| *at > now) {
            return;
        }
        let mut due: Vec<_> = self.delayed.extract_if(|_, at| *at <= now).collect();
        due.sort_by_key(|(_, at)| *at);
        for (key, _) in due {
            self.add(key, now, metrics);
        }
    }

    fn take(&mut self, max: usize, now: Instant, metrics: Option<&QueueMetrics>) -> Vec<K> {
        let count = max.min(self.ready.len());
        let taken: Vec<_> = self.ready.drain(..count).collect();
        if let (Some(metrics), false) = (metrics, taken.is_empty()) {
            metrics.depth(self.ready.len());
        }
        let hand_out = |(key, since): (K, Instant)| {
            if let Some(metrics) = metrics {
                metrics.taken(now.saturating_duration_since(since));
            }
            self.dirty.remove(&key);
            self.running.insert(key.clone(), now);
            key
        };
        taken.into_iter().map(hand_out).collect()
    }

    fn finish(&mut self, key: &K, now: Instant, metrics: Option<&QueueMetrics>) {
        self.finished = Some(now);
        if let (Some(since), Some(metrics)) = (self.running.remove(key), metrics) {
            metrics.done(now.saturating_duration_since(since));
        }
        if self.dirty.contains(key) {
            self.push(key.clone(), now, metrics);
        }
    }
}

/// A key that is being worked on. Dropping it finishes the work, also when the worker is cancelled or panics.
#[derive(Debug)]
pub struct Claim<K: Key> {
    key: K,
    queue: Queue<K>,
}

impl<K: Key> Deref for Claim<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K: Key> Claim<K> {
    /// Finishes the work on the key, and adds it again as its outcome requires.
    pub fn settle(self, next: Next) {
        match next {
            Next::Done => self.queue.forget(&self.key),
            Next::Poll(wait) => {
                self.queue.forget(&self.key);
                self.queue.add_after(self.key.clone(), wait);
            }
            Next::After(wait) => self.queue.add_after(self.key.clone(), wait),
            Next::Retry => self.queue.add_rate_limited(self.key.clone()),
        }
    }
}

impl<K: Key> Drop for Claim<K> {
    fn drop(&mut self) {
        self.queue.finish(&self.key);
    }
}

#[cfg(test)]
mod tests;
