//! A cache of reviews: concurrent requests for one key share one review.

use super::hash::Digest;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The maximum number of entries.
const CAPACITY: usize = 1024;

/// Results by the digest of their request. Clones share them.
pub(super) struct Cache<V>(Arc<Mutex<HashMap<Digest, Slot<V>>>>);

impl<V> Clone for Cache<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> Default for Cache<V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

enum Slot<V> {
    Asking(Shared<BoxFuture<'static, Option<V>>>),
    Known { value: V, until: Instant },
}

impl<V: Clone + Send + Sync + 'static> Cache<V> {
    /// The cached result, or the result of `ask`, which is cached for `ttl`. `None` if `ask` panicked.
    ///
    /// `ask` continues if the caller is cancelled, because other callers may be waiting for it.
    pub(super) async fn get(
        &self,
        key: Digest,
        ask: impl Future<Output = V> + Send + 'static,
        ttl: impl Fn(&V) -> Duration + Send + 'static,
    ) -> Option<V> {
        let asking = match self.known_or_start(key, ask, ttl) {
            Slot::Known { value, .. } => return Some(value),
            Slot::Asking(asking) => asking,
        };
        asking.await
    }

    /// Whether the result is cached now.
    pub(super) fn knows(&self, key: &Digest) -> bool {
        matches!(self.0.lock().get(key), Some(Slot::Known { until, .. }) if Instant::now() < *until)
    }

    /// All of it happens under one lock. Otherwise `ask` could finish before its slot is inserted, and the slot would replace
    /// the result and never expire.
    fn known_or_start(
        &self,
        key: Digest,
        ask: impl Future<Output = V> + Send + 'static,
        ttl: impl Fn(&V) -> Duration + Send + 'static,
    ) -> Slot<V> {
        let mut slots = self.0.lock();
        match slots.get(&key) {
            Some(Slot::Known { value, until }) if Instant::now() < *until => {
                return Slot::Known {
                    value: value.clone(),
                    until: *until,
                };
            }
            Some(Slot::Asking(asking)) => return Slot::Asking(asking.clone()),
            Some(Slot::Known { .. }) | None => {}
        }
        make_room(&mut slots);
        let asking = self.start(key, ask, ttl);
        slots.insert(key, Slot::Asking(asking.clone()));
        Slot::Asking(asking)
    }

    fn start(
        &self,
        key: Digest,
        ask: impl Future<Output = V> + Send + 'static,
        ttl: impl Fn(&V) -> Duration + Send + 'static,
    ) -> Shared<BoxFuture<'static, Option<V>>> {
        let cache = self.clone();
        let task = tokio::spawn(async move {
            let value = ask.await;
            cache.settle(key, &value, ttl(&value));
            value
        });
        let cache = self.clone();
        let asking = async move {
            let answer = task.await.ok();
            if answer.is_none() {
                cache.0.lock().remove(&key);
            }
            answer
        };
        asking.boxed().shared()
    }

    fn settle(&self, key: Digest, value: &V, ttl: Duration) {
        let mut slots = self.0.lock();
        if ttl.is_zero() {
            slots.remove(&key);
        } else {
            slots.insert(
                key,
                Slot::Known {
                    value: value.clone(),
                    until: Instant::now() + ttl,
                },
            );
        }
    }
}

/// Removes expired entries, and if that is not enough, the entry that expires first.
fn make_room<V>(slots: &mut HashMap<Digest, Slot<V>>) {
    if slots.len() < CAPACITY {
        return;
    }
    let now = Instant::now();
    slots.retain(|_, slot| !matches!(slot, Slot::Known { until, .. } if *until <= now));
    let expiries = slots.iter().filter_map(|(key, slot)| match slot {
        Slot::Known { until, .. } => Some((*until, *key)),
        Slot::Asking(_) => None,
    });
    if let (true, Some((_, first))) = (slots.len() >= CAPACITY, expiries.min()) {
        slots.remove(&first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::{advance, sleep};

    const TTL: Duration = Duration::from_secs(10);

    async fn ask(cache: &Cache<usize>, key: u8, count: &Arc<AtomicUsize>) -> Option<usize> {
        let count = count.clone();
        let slow = async move {
            sleep(Duration::from_secs(1)).await;
            count.fetch_add(1, Ordering::SeqCst) + 1
        };
        // Odd results are cached, even ones are not.
        cache
            .get(
                [key; 32],
                slow,
                |value| if value % 2 == 1 { TTL } else { Duration::ZERO },
            )
            .await
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_result_is_requested_again() {
        let (cache, count) = (Cache::default(), Arc::default());
        assert_eq!(ask(&cache, 0, &count).await, Some(1));
        advance(TTL.saturating_sub(Duration::from_millis(1))).await;
        assert_eq!(ask(&cache, 0, &count).await, Some(1));
        advance(Duration::from_millis(1)).await;
        assert_eq!(ask(&cache, 0, &count).await, Some(2));
        assert_eq!(ask(&cache, 0, &count).await, Some(3), "2 was not to be kept");
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_callers_cause_one_request() {
        let (cache, count) = (Cache::default(), Arc::default());
        let answers = futures::future::join_all((0..10).map(|_| ask(&cache, 0, &count))).await;
        assert_eq!(answers, [Some(1); 10]);
    }

    #[tokio::test(start_paused = true)]
    async fn continues_when_the_first_caller_is_cancelled() {
        let (cache, count) = (Cache::default(), Arc::default());
        let impatient = tokio::time::timeout(Duration::from_millis(10), ask(&cache, 0, &count)).await;
        assert!(impatient.is_err());
        assert_eq!(ask(&cache, 0, &count).await, Some(1));
    }

    /// Results that are available at once, on another thread.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn caches_an_immediate_result() {
        let cache = Cache::<usize>::default();
        for turn in 0..20_000 {
            cache.get([0; 32], async { 1 }, |_| TTL).await;
            let kept = cache.0.lock().remove(&[0; 32]);
            assert!(matches!(kept, Some(Slot::Known { .. })), "turn {turn}");
        }
    }

    #[tokio::test]
    async fn a_panic_is_not_cached() {
        let cache = Cache::<usize>::default();
        let panicking = async { panic!("on purpose") };
        assert_eq!(cache.get([0; 32], panicking, |_| TTL).await, None);
        assert_eq!(cache.get([0; 32], async { 1 }, |_| TTL).await, Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn keeps_a_bounded_number() {
        let cache = Cache::<usize>::default();
        for at in 0..CAPACITY + 10 {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&at.to_be_bytes());
            cache.get(key, async { 1 }, |_| TTL).await;
            advance(Duration::from_millis(1)).await;
        }
        assert_eq!(cache.0.lock().len(), CAPACITY);
        assert!(!cache.0.lock().contains_key(&[0; 32]), "the oldest is removed first");
    }
}
