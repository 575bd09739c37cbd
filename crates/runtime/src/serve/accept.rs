//! Accepting connections, not too many of them, and letting them end.

use super::{
    activity::Activity,
    connection::{self, Shared},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, Id, JoinSet},
};
use tokio_util::sync::CancellationToken;

/// How long is waited when a connection cannot be accepted, for example because there are no file descriptors left.
pub(super) const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// A connection that is being served.
struct Open {
    task: AbortHandle,
    activity: Arc<OnceLock<Activity>>,
}

/// Accepts connections until cancelled, and then waits for those that are left to end, for as long as `grace`.
pub(super) async fn accept(shared: &Arc<Shared>, listener: TcpListener, cancel: &CancellationToken, grace: Duration) {
    let mut tasks = JoinSet::new();
    let mut open = Vec::new();
    loop {
        tokio::select! {
            () = cancel.cancelled() => break,
            Some(ended) = tasks.join_next_with_id() => forget(&mut open, &ended),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if make_room(&mut open, shared.limits.connections) => {
                    open.push(start(shared, stream, cancel, &mut tasks));
                }
                Ok(_) => tracing::warn!(limit = shared.limits.connections, "too many connections; refusing one"),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            },
        }
    }
    drop(listener);
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, all).await.is_err() {
        tracing::warn!(?grace, "requests were not answered in time; dropping them");
    }
    tasks.shutdown().await;
}

fn start(shared: &Arc<Shared>, stream: TcpStream, cancel: &CancellationToken, tasks: &mut JoinSet<()>) -> Open {
    let activity = Arc::new(OnceLock::new());
    let (shared, finish, known) = (shared.clone(), cancel.child_token(), activity.clone());
    let task = tasks.spawn(connection::serve(shared, stream, finish, move |activity| {
        // Nobody else sets it.
        let _ = known.set(activity);
    }));
    Open { task, activity }
}

fn forget(open: &mut Vec<Open>, ended: &Result<(Id, ()), tokio::task::JoinError>) {
    let id = match ended {
        Ok((id, ())) => *id,
        Err(error) => error.id(),
    };
    open.retain(|connection| connection.task.id() != id);
}

/// Closes the oldest connection on which nothing is being answered, if there are too many; says whether there is room.
fn make_room(open: &mut Vec<Open>, limit: usize) -> bool {
    if open.len() < limit {
        return true;
    }
    let is_idle = |connection: &Open| connection.activity.get().is_none_or(Activity::is_idle);
    let Some(at) = open.iter().position(is_idle) else {
        return false;
    };
    open.remove(at).task.abort();
    true
}
