//! One list instead of many questions, when many are asked at once: after a start, or when a node comes or goes.
//!
//! The first question about something that we never changed comes after a start, and is not the last of its kind. Later a
//! few have to be asked before a list is worth it.

use cloud::Result;
use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::OnceCell, time::Instant};

/// So many different things asked for within [`WINDOW`] are a burst.
const MANY: usize = 4;

/// How long a question counts.
const WINDOW: Duration = Duration::from_secs(2);

/// How long a list is used, if nothing is known to have changed.
const LIFETIME: Duration = Duration::from_secs(5);

/// Lists of `T` that many questions share. Asking is free; what is read is read once.
#[derive(Debug)]
pub(crate) struct Burst<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    /// What was asked for, and when last.
    asked: HashMap<String, Instant>,
    /// The last list, however old.
    list: Option<List<T>>,
}

#[derive(Debug)]
struct List<T> {
    since: Instant,
    cell: Arc<OnceCell<Arc<T>>>,
}

impl<T> Default for Burst<T> {
    fn default() -> Self {
        Self(Mutex::new(State {
            asked: HashMap::new(),
            list: None,
        }))
    }
}

impl<T> Burst<T> {
    /// The list, if there is a burst of questions; else the caller asks for its one thing. A list is never older than
    /// `not_before`. Whoever comes while it is read waits for it.
    ///
    /// # Errors
    /// As reading the list; everybody else then tries for themselves.
    pub async fn list<F>(
        &self,
        key: &str,
        not_before: Option<Instant>,
        read: impl FnOnce() -> F + Send,
    ) -> Result<Option<Arc<T>>>
    where
        F: Future<Output = Result<T>> + Send,
    {
        let Some(cell) = self.cell(key, not_before) else {
            return Ok(None);
        };
        let list = Box::pin(cell.get_or_try_init(|| async { Box::pin(read()).await.map(Arc::new) })).await?;
        Ok(Some(Arc::clone(list)))
    }

    /// The list that is there, if it can still be used.
    pub fn fresh(&self) -> Option<Arc<T>> {
        let state = self.state();
        let list = state.list.as_ref()?;
        (list.since.elapsed() < LIFETIME).then(|| list.cell.get().cloned())?
    }

    fn cell(&self, key: &str, not_before: Option<Instant>) -> Option<Arc<OnceCell<Arc<T>>>> {
        let now = Instant::now();
        let mut state = self.state();
        state.asked.retain(|_, when| now.duration_since(*when) < WINDOW);
        state.asked.insert(key.to_owned(), now);
        let usable = |list: &&List<T>| {
            now.duration_since(list.since) < LIFETIME && not_before.is_none_or(|time| list.since > time)
        };
        if let Some(list) = state.list.as_ref().filter(usable) {
            return Some(Arc::clone(&list.cell));
        }
        let is_start = state.list.is_none() && not_before.is_none();
        if state.asked.len() < MANY && !is_start {
            return None;
        }
        let cell = Arc::new(OnceCell::new());
        state.list = Some(List {
            since: now,
            cell: Arc::clone(&cell),
        });
        Some(cell)
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    async fn ask(burst: &Burst<usize>, key: &str, not_before: Option<Instant>, reads: &AtomicUsize) -> Option<usize> {
        let read = || async { Ok(reads.fetch_add(1, Ordering::SeqCst)) };
        burst.list(key, not_before, read).await.unwrap().map(|list| *list)
    }

    #[tokio::test(start_paused = true)]
    async fn few_questions_are_asked_one_by_one() {
        let (burst, reads) = (Burst::default(), AtomicUsize::new(0));
        assert_eq!(ask(&burst, "a", None, &reads).await, Some(0));
        tokio::time::advance(LIFETIME).await;
        for _ in 0..10 {
            for key in ["a", "b", "c"] {
                assert_eq!(ask(&burst, key, None, &reads).await, None);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_we_made_ourselves_is_no_sign_of_a_start() {
        let (burst, reads) = (Burst::default(), AtomicUsize::new(0));
        let made = Some(Instant::now());
        assert_eq!(ask(&burst, "a", made, &reads).await, None);
        assert_eq!(ask(&burst, "b", None, &reads).await, Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn many_questions_are_one_list() {
        let (burst, reads) = (Burst::default(), AtomicUsize::new(0));
        let mut answers = Vec::new();
        for key in 0..50 {
            answers.push(ask(&burst, &key.to_string(), None, &reads).await);
        }
        assert_eq!((answers[0], answers[49]), (Some(0), Some(0)));
        assert_eq!(reads.load(Ordering::SeqCst), 1);
        tokio::time::advance(LIFETIME).await;
        let mut answers = Vec::new();
        for key in 0..50 {
            answers.push(ask(&burst, &key.to_string(), None, &reads).await);
        }
        assert_eq!((answers[2], answers[3], answers[49]), (None, Some(1), Some(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_from_before_a_change_is_not_used() {
        let (burst, reads) = (Burst::default(), AtomicUsize::new(0));
        for key in ["a", "b", "c", "d"] {
            ask(&burst, key, None, &reads).await;
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        let changed = Some(Instant::now());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(ask(&burst, "a", changed, &reads).await, Some(1));
        assert_eq!(ask(&burst, "b", None, &reads).await, Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_not_remembered() {
        let burst = Burst::<usize>::default();
        let failing = burst
            .list("d", None, || async { Err(cloud::Error::unavailable("list", "down")) })
            .await;
        assert!(failing.is_err());
        assert!(burst.fresh().is_none());
        assert_eq!(
            burst.list("d", None, || async { Ok(7) }).await.unwrap().as_deref(),
            Some(&7)
        );
    }
}
