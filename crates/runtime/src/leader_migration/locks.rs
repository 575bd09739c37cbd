//! The protocol of the two locks: the main one first, then the migration lock; losing either ends everything.

use super::Config;
use crate::lease::{Elector, Leadership, Lost, NotReleased, Params};
use tokio_util::sync::CancellationToken;

/// The migration lock that goes with a main lock: same namespace, identity and timings.
#[must_use]
pub fn params(main: &Params, config: &Config) -> Params {
    Params {
        name: config.leader_name.clone(),
        ..main.clone()
    }
}

/// The main lock is held. Start what does not migrate, then go on with [`Self::migrate`].
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

/// How waiting for the migration lock ended.
#[derive(Debug)]
pub enum Next {
    /// It is held too. Start what migrates.
    Both(Both),
    /// Cancelled. The main lock is still held and should be released.
    Cancelled(Leadership),
    /// The main lock was lost meanwhile.
    Lost(Lost),
}

impl Main {
    /// Waits for the main lock. `None`: cancelled.
    pub async fn acquire(main: Elector, migration: Elector, cancel: &CancellationToken) -> Option<Self> {
        main.acquire(cancel)
            .await
            .map(|leadership| Self { leadership, migration })
    }

    /// Resolves when the main lock is lost.
    pub async fn lost(&self) -> Lost {
        self.leadership.lost().await
    }

    /// Waits for the migration lock, which may take forever: another program can have it.
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
        // Not just dropped: a lease that was won in this moment is given back.
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

    /// Gives both away, the migration lock first, so that whoever gets the main lock finds the other one free. Everything
    /// that writes must have stopped before.
    ///
    /// # Errors
    /// If one of them could not be released; the other one is released all the same.
    pub async fn release(self) -> Result<(), NotReleased> {
        let migration = self.migration.release().await;
        let main = self.main.release().await;
        migration.and(main)
    }
}
