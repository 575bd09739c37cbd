//! The list of all servers, shared by those who ask at the same time.

use super::blame;
use crate::api::nova::Server;
use cloud::{Error, Result};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// So long a list serves the next who ask: the controllers ask about a big cluster in several batches. Whom it does not
/// have is asked for anyway, so that nobody is missing for having come later; a name that was nobody's a moment ago is not.
const FRESH: Duration = Duration::from_secs(2);

/// All servers of a project.
pub type Listing = Arc<[Arc<Server>]>;

type Reading = BoxFuture<'static, Result<Listing, Arc<Error>>>;

/// The list of all servers.
#[derive(Default)]
pub struct Sweep(Mutex<State>);

#[derive(Default)]
struct State {
    /// Weak, so that a list for which nobody waits any more is given up.
    under_way: Option<WeakShared<Reading>>,
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
        let listing = self.join(read).await.map_err(|error| blame::share(&error))?;
        self.state().last = Some((Instant::now(), Arc::clone(&listing)));
        Ok(listing)
    }

    fn fresh(&self) -> Option<Listing> {
        let mut state = self.state();
        state.last = state.last.take().filter(|(when, _)| when.elapsed() < FRESH);
        state.last.as_ref().map(|(_, listing)| Arc::clone(listing))
    }

    fn join(&self, read: impl FnOnce() -> BoxFuture<'static, Result<Vec<Server>>>) -> Shared<Reading> {
        let mut state = self.state();
        let running = state.under_way.as_ref().and_then(WeakShared::upgrade);
        let reading = running.filter(|reading| reading.peek().is_none()).unwrap_or_else(|| {
            let servers = read();
            let listing = async move { Ok(servers.await.map_err(Arc::new)?.into_iter().map(Arc::new).collect()) };
            listing.boxed().shared()
        });
        state.under_way = reading.downgrade();
        reading
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
