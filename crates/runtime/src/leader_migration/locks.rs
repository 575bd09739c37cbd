//! The protocol of the two locks: first the main lock, then the migration lock; losing either of them ends the leadership.

use super::Config;
use crate::lease::{Elector, Leadership, Lost, NotReleased, Params};
use tokio_util::sync::CancellationToken;

/// The migration lock of a main lock: same namespace, identity and timings.
#[must_use]
pub fn params(main: &Params, config: &Config) -> Params {
    Params {
        name: config.leader_name.clone(),
        ..main.clone()
    }
}

/// The main lock is held. Start the controllers that do not migrate, then call [`Self::migrate`].
#[derive(Debug)]
pub struct Main {
    leadership: Leadership,
    migration: Elector,
}

/// Both locks are held.
#[derive(Debug)]
pub struct Both {
    main: Leadership,
    migration: Leadership,
}

/// The result of waiting for the migration lock.
#[derive(Debug)]
pub enum Next {
    /// It is held, too. Start the controllers that migrate.
    Both(Both),
    /// Cancelled. The main lock is still held and should be released.
    Cancelled(Leadership),
    /// The main lock was lost.
    Lost(Lost),
}

impl Main {
    /// Waits for the main lock. `None` if cancelled.
    pub async fn acquire(main: Elector, migration: Elector, cancel: &CancellationToken) -> Option<Self> {
        main.acquire(cancel)
            .await
            .map(|leadership| Self { leadership, migration })
    }

    /// Resolves when the main lock is lost.
    pub async fn lost(&self) -> Lost {
        self.leadership.lost().await
    }

    /// Waits for the migration lock, possibly forever: another program may hold it.
    pub async fn migrate(self, cancel: &CancellationToken) -> Next {
        let Self {
            leadership: main,
            migration,
        } = self;
        let candidacy = cancel.child_token();
        let acquire = migration.acquire(&candidacy);
        tokio::pin!(acquire);
        let lost = tokio::select! {
            held = &mut acquire => return match held {
                Some(migration) => Next::Both(Both { main, migration }),
                None => Next::Cancelled(main),
            },
            lost = main.lost() => lost,
        };
        // Not dropped: a lease that is acquired at this moment must be released.
        candidacy.cancel();
        if let Some(migration) = acquire.await {
            drop(migration);
        }
        Next::Lost(lost)
    }
}

impl Both {
    /// Resolves when either lock is lost.
    pub async fn lost(&self) -> Lost {
        tokio::select! {
            lost = self.main.lost() => lost,
            lost = self.migration.lost() => lost,
        }
    }

    /// Releases both, the migration lock first, so that it is free for the next holder of the main lock. Everything that writes
    /// must have stopped before.
    ///
    /// # Errors
    /// If one of them could not be released; the other one is released anyway.
    pub async fn release(self) -> Result<(), NotReleased> {
        let migration = self.migration.release().await;
        let main = self.main.release().await;
        migration.and(main)
    }
}
