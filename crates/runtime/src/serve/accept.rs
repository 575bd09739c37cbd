//! Accepting connections up to a limit, and closing them at the end.

use super::connection::{self, InFlight, Shared};
use std::{sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, Id, JoinSet},
};
use tokio_util::sync::CancellationToken;

/// The pause after a connection could not be accepted, for example because no file descriptors are available.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// An open connection.
struct Open {
    task: AbortHandle,
    in_flight: InFlight,
}

/// Accepts connections until cancelled, and then waits for the open ones to end, for as long as `grace`.
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
    let in_flight = InFlight::default();
    let connection = connection::serve(shared.clone(), stream, cancel.child_token(), in_flight.clone());
    Open {
        task: tasks.spawn(connection),
        in_flight,
    }
}

fn forget(open: &mut Vec<Open>, ended: &Result<(Id, ()), tokio::task::JoinError>) {
    let id = match ended {
        Ok((id, ())) => *id,
        Err(error) => error.id(),
    };
    open.retain(|connection| connection.task.id() != id);
}

/// If there are too many connections, closes the oldest one without a request in flight. Returns whether there is room.
fn make_room(open: &mut Vec<Open>, limit: usize) -> bool {
    if open.len() < limit {
        return true;
    }
    let Some(at) = open.iter().position(|connection| connection.in_flight.is_idle()) else {
        return false;
    };
    open.remove(at).task.abort();
    true
}
