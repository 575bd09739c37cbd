//! The list of all servers, shared by those who ask at the same time.

use crate::api::nova::Server;
use cloud::{Error, Result};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// So long a list serves the next who ask: the controllers ask about a big cluster in several batches. Whom it does not
/// have is asked for anyway, so that nobody is missing for having come later; a name that was nobody's a moment ago is not.
/// Then it goes, because a thousand servers are a megabyte and nobody may ask for the next five minutes.
const FRESH: Duration = Duration::from_secs(2);

/// All servers of a project.
pub type Listing = Arc<[Arc<Server>]>;

type Reading = BoxFuture<'static, Result<Listing>>;

/// The list of all servers.
#[derive(Default)]
pub struct Sweep(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Weak, so that a list for which nobody waits any more is given up.
    under_way: Option<WeakShared<Reading>>,
    /// Until when it is fresh.
    last: Option<(Instant, Listing)>,
}

impl Sweep {
    /// The list that was just read or is being read; else `read` reads it.
    ///
    /// # Errors
    /// If it cannot be read to its end; everybody who waits for it gets this error.
    pub async fn get(&self, read: impl FnOnce() -> BoxFuture<'static, Result<Vec<Server>>>) -> Result<Listing> {
        if let Some(listing) = self.fresh() {
            return Ok(listing);
        }
        let listing = self.join(read).await.map_err(Error::of_batch)?;
        self.keep(&listing);
        Ok(listing)
    }

    fn keep(&self, listing: &Listing) {
        let until = Instant::now() + FRESH;
        let mut state = self.state();
        // Of those who waited together the first one keeps it.
        if state.last.as_ref().is_some_and(|(_, kept)| Arc::ptr_eq(kept, listing)) {
            return;
        }
        state.last = Some((until, Arc::clone(listing)));
        let kept = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            sleep_until(until).await;
            if let Some(kept) = kept.upgrade() {
                forget_stale(&mut lock(&kept));
            }
        });
    }

    fn fresh(&self) -> Option<Listing> {
        let mut state = self.state();
        forget_stale(&mut state);
        state.last.as_ref().map(|(_, listing)| Arc::clone(listing))
    }

    fn join(&self, read: impl FnOnce() -> BoxFuture<'static, Result<Vec<Server>>>) -> Shared<Reading> {
        let mut state = self.state();
        let running = state.under_way.as_ref().and_then(WeakShared::upgrade);
        let reading = running.filter(|reading| reading.peek().is_none()).unwrap_or_else(|| {
            let servers = read();
            let listing = async move { Ok(servers.await?.into_iter().map(Arc::new).collect()) };
            listing.boxed().shared()
        });
        state.under_way = reading.downgrade();
        reading
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget_stale(state: &mut State) {
    state.last.take_if(|(until, _)| *until <= Instant::now());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody() -> BoxFuture<'static, Result<Vec<Server>>> {
        async { Ok(Vec::new()) }.boxed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_not_kept_for_longer_than_it_serves() {
        let sweep = Sweep::default();
        let first = sweep.get(nobody).await.unwrap();
        let again = sweep.get(|| panic!("there is a fresh list")).await.unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        drop((first, again));
        tokio::time::sleep(FRESH + Duration::from_millis(1)).await;
        assert!(sweep.state().last.is_none());
    }
}
