//! A watch on the lease, with which a standby notices at once that it is free.

use super::{
    record::Record,
    store::{Error, Store, WATCH},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::core::WatchEvent;
use std::time::Duration;

/// A watch without an event for longer than the API server keeps it open is dead.
const SILENCE: Duration = WATCH.saturating_add(Duration::from_secs(5));

/// How long to wait before a watch that has ended is opened again.
const REOPEN: Duration = Duration::from_millis(300);

/// How long to wait after a watch was forbidden. Permissions change rarely.
const FORBIDDEN: Duration = Duration::from_mins(5);

/// An event of the watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// The watch is open: every change will be reported.
    Open,
    /// There is no watch: the lease must be read.
    Closed,
    /// The current lease.
    Changed(Record),
    /// The lease was deleted.
    Deleted,
}

type Events = BoxStream<'static, Result<WatchEvent<serde_json::Value>, Error>>;

struct Watch {
    store: Store,
    pause: Duration,
    events: Option<Events>,
    /// How long to wait before it is opened.
    wait: Option<Duration>,
    complained: Complained,
}

#[derive(PartialEq, Eq)]
enum Complained {
    No,
    Yes,
}

/// Watches the lease while it is polled. Never ends; opens the watch again when it fails.
pub(super) fn watch(store: Store, pause: Duration) -> BoxStream<'static, Notice> {
    let watch = Watch {
        store,
        pause,
        events: None,
        wait: None,
        complained: Complained::No,
    };
    stream::unfold(watch, |mut watch| async { Some((watch.next().await, watch)) }).boxed()
}

impl Watch {
    async fn next(&mut self) -> Notice {
        loop {
            let Some(events) = &mut self.events else {
                return self.open().await;
            };
            match tokio::time::timeout(SILENCE, events.next()).await.unwrap_or(None) {
                Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => match Record::of(&lease) {
                    Ok(record) => return Notice::Changed(record),
                    Err(error) => tracing::debug!(%error, "ignored an unreadable lease"),
                },
                Some(Ok(WatchEvent::Deleted(_))) => return Notice::Deleted,
                Some(Ok(WatchEvent::Bookmark(_))) => {}
                Some(Ok(WatchEvent::Error(_)) | Err(_)) => {
                    self.events = None;
                    self.wait = Some(self.pause);
                    return Notice::Closed;
                }
                // It ended regularly. The new watch starts with the current lease, so no change is missed.
                None => {
                    self.events = None;
                    self.wait = Some(REOPEN);
                }
            }
        }
    }

    async fn open(&mut self) -> Notice {
        if let Some(wait) = self.wait.take() {
            tokio::time::sleep(wait).await;
        }
        match self.store.watch().await {
            Ok(events) => {
                self.events = Some(events.boxed());
                Notice::Open
            }
            Err(error) => {
                self.wait = Some(self.refused(&error));
                Notice::Closed
            }
        }
    }

    fn refused(&mut self, error: &Error) -> Duration {
        match error {
            Error::Forbidden(reason) => {
                if std::mem::replace(&mut self.complained, Complained::Yes) == Complained::No {
                    tracing::info!(%reason, "no permission to watch the lease; reading it more often instead");
                }
                FORBIDDEN
            }
            error => {
                tracing::debug!(%error, "cannot watch the lease; retrying");
                self.pause
            }
        }
    }
}
