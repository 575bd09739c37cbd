//! A list of cloud objects that concurrent callers share.
//!
//! Reading one list is cheaper than reading many objects one by one, as soon as many callers read at the same time: after a
//! start, or when a node joins. [`ListCache::get`] always lists. [`ListCache::get_if_busy`] lists only if enough callers ask
//! for different objects, and otherwise leaves the caller to read its one object.

use cloud::Result;
use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// This many different objects within [`WINDOW`] are worth a list.
const MANY: usize = 4;

/// How long a request for one object counts.
const WINDOW: Duration = Duration::from_secs(2);

/// How long a list serves callers, unless the cache was created for another time.
const LIFETIME: Duration = Duration::from_secs(5);

/// A list of type `T`. While it is being read, every caller waits for the same call.
///
/// A caller gets a list that is at most `lifetime` old, and whose reading began after the caller's own last change. A failure
/// goes to every caller that waits for it, and is not remembered. A list that no caller waits for any more is not read to its
/// end. A list is dropped when its lifetime ends.
pub struct ListCache<T> {
    lifetime: Duration,
    state: Arc<Mutex<State<T>>>,
}

type Reading<T> = BoxFuture<'static, Result<List<T>>>;

struct State<T> {
    /// The objects that callers requested within [`WINDOW`], and when last.
    requested: HashMap<String, Instant>,
    use_before: Use,
    /// Weak, so that a reading ends with the last caller that waits for it.
    reading: Option<(Instant, WeakShared<Reading<T>>)>,
    list: Option<List<T>>,
}

/// Whether a list was ever read.
#[derive(PartialEq, Eq)]
enum Use {
    Never,
    Before,
}

struct List<T> {
    /// When its reading began: later changes may be missing.
    began: Instant,
    expires: Instant,
    items: Arc<T>,
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self {
            items: Arc::clone(&self.items),
            ..*self
        }
    }
}

impl<T: Send + Sync + 'static> ListCache<T> {
    /// An empty cache whose lists serve callers for this long after they were read.
    pub fn new(lifetime: Duration) -> Self {
        let state = State {
            requested: HashMap::new(),
            use_before: Use::Never,
            reading: None,
            list: None,
        };
        Self {
            lifetime,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The list, read by `read` unless there is one that began after `changed` and is young enough.
    ///
    /// # Errors
    /// As `read`, for one object of a list: see [`cloud::Error::of_batch`].
    pub async fn get<F>(&self, changed: Option<Instant>, read: impl FnOnce() -> F) -> Result<Arc<T>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        if let Some(list) = self.newer_than(changed) {
            return Ok(list);
        }
        let list = self.join(changed, read).await.map_err(cloud::Error::of_batch)?;
        self.keep(&list);
        Ok(list.items)
    }

    /// The list, if callers ask for many different objects at this time; otherwise `None`, and the caller reads its object by
    /// itself. `key` is the object, `changed` is when the caller last changed it.
    ///
    /// The first call for an object that this process never changed is a sign of a start: more will follow, so it lists.
    ///
    /// # Errors
    /// As [`ListCache::get`].
    pub async fn get_if_busy<F>(
        &self,
        key: &str,
        changed: Option<Instant>,
        read: impl FnOnce() -> F,
    ) -> Result<Option<Arc<T>>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        if self.is_worth_it(key, changed) {
            self.get(changed, read).await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// The list, if one was read within its lifetime.
    pub fn fresh(&self) -> Option<Arc<T>> {
        self.newer_than(None)
    }

    fn newer_than(&self, changed: Option<Instant>) -> Option<Arc<T>> {
        let mut state = self.state();
        state.drop_expired();
        let list = state.list.as_ref().filter(|list| is_after(list.began, changed))?;
        Some(Arc::clone(&list.items))
    }

    fn is_worth_it(&self, key: &str, changed: Option<Instant>) -> bool {
        let now = Instant::now();
        let mut state = self.state();
        state.requested.retain(|_, when| now.duration_since(*when) < WINDOW);
        state.requested.insert(key.to_owned(), now);
        state.drop_expired();
        let is_there = state.list.as_ref().is_some_and(|list| is_after(list.began, changed));
        let is_being_read = state.running(changed).is_some();
        let is_start = state.use_before == Use::Never && changed.is_none();
        is_there || is_being_read || is_start || state.requested.len() >= MANY
    }

    fn join<F>(&self, changed: Option<Instant>, read: impl FnOnce() -> F) -> Shared<Reading<T>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let mut state = self.state();
        state.use_before = Use::Before;
        if let Some(running) = state.running(changed) {
            return running;
        }
        let (began, lifetime, items) = (Instant::now(), self.lifetime, read());
        let reading = async move {
            let items = Arc::new(items.await?);
            let expires = Instant::now() + lifetime;
            Ok(List { began, expires, items })
        };
        let reading = reading.boxed().shared();
        state.reading = reading.downgrade().map(|reading| (began, reading));
        reading
    }

    /// Keeps a list, unless another caller that waited for it already did, or a newer one exists.
    fn keep(&self, list: &List<T>) {
        let expires = list.expires;
        let mut state = self.state();
        if expires <= Instant::now() || state.list.as_ref().is_some_and(|kept| kept.began >= list.began) {
            return;
        }
        state.list = Some(list.clone());
        let state = Arc::downgrade(&self.state);
        tokio::spawn(async move {
            sleep_until(expires).await;
            if let Some(state) = state.upgrade() {
                lock(&state).drop_expired();
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        lock(&self.state)
    }
}

impl<T: Send + Sync + 'static> Default for ListCache<T> {
    fn default() -> Self {
        Self::new(LIFETIME)
    }
}

impl<T> State<T> {
    /// The reading that is under way, if it began after `changed`.
    fn running(&self, changed: Option<Instant>) -> Option<Shared<Reading<T>>> {
        let (_, reading) = self.reading.as_ref().filter(|(began, _)| is_after(*began, changed))?;
        reading.upgrade().filter(|reading| reading.peek().is_none())
    }

    fn drop_expired(&mut self) {
        self.list.take_if(|list| list.expires <= Instant::now());
    }
}

impl<T> fmt::Debug for ListCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListCache").finish_non_exhaustive()
    }
}

fn is_after(began: Instant, changed: Option<Instant>) -> bool {
    changed.is_none_or(|changed| began > changed)
}

fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
