//! Changes the groups of a port for many Services at the same time.

use crate::api::{
    Session, fault,
    neutron::ports::{self, Port, PortChange},
};
use cloud::{Error, Result};
use cloud_http::{Failure, http::StatusCode};
use provider_kit::load_balancer::Halt;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::oneshot;
use tracing::{info, warn};

/// How often a port is read because other clients change it.
const ATTEMPTS: usize = 5;

/// When to retry a port that other clients change all the time.
const SOON: Duration = Duration::from_secs(1);

/// A change of the groups of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// The port gets it.
    Attach(String),
    /// The port loses it.
    Detach(String),
}

impl Edit {
    /// The groups of a port after this.
    fn apply(&self, mut groups: Vec<String>) -> Vec<String> {
        match self {
            Self::Attach(group) if groups.contains(group) => {}
            Self::Attach(group) => groups.push(group.clone()),
            Self::Detach(group) => groups.retain(|id| id != group),
        }
        groups
    }
}

/// Merges the edits of several Services of one port: the first caller writes, and edits that arrive meanwhile go into the next write. A write is
/// guarded by the port's revision, so that no change of another client is lost.
#[derive(Debug, Default)]
pub(crate) struct PortEdits(Mutex<HashMap<String, Queue>>);

type Queue = Vec<(Edit, oneshot::Sender<()>)>;

/// What a caller has to do.
enum Turn<'a> {
    /// Write.
    Mine(Writer<'a>),
    /// Wait for the writer; if it fails, try again.
    Theirs(oneshot::Receiver<()>),
}

impl PortEdits {
    /// Changes the groups of a port. A deleted port needs no change.
    ///
    /// # Errors
    /// As Neutron answers; [`Halt::Pending`] if other clients change the port all the time.
    pub(crate) async fn apply(&self, api: &Session, port: &Port, edit: Edit) -> Result<(), Halt> {
        loop {
            match self.turn(&port.id, &edit) {
                Turn::Theirs(done) => {
                    if done.await.is_ok() {
                        return Ok(());
                    }
                }
                Turn::Mine(writer) => return writer.run(api, port, edit).await,
            }
        }
    }

    fn turn(&self, port: &str, edit: &Edit) -> Turn<'_> {
        let mut queues = self.queues();
        let Some(queue) = queues.get_mut(port) else {
            queues.insert(port.to_owned(), Queue::new());
            return Turn::Mine(Writer {
                edits: self,
                port: port.to_owned(),
            });
        };
        let (done, waiting) = oneshot::channel();
        queue.push((edit.clone(), done));
        Turn::Theirs(waiting)
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<String, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writer. When it is dropped, callers that still wait try by themselves.
struct Writer<'a> {
    edits: &'a PortEdits,
    port: String,
}

impl Writer<'_> {
    async fn run(self, api: &Session, port: &Port, edit: Edit) -> Result<(), Halt> {
        let mut port = write(api, port.clone(), &[edit]).await?;
        loop {
            let Some(batch) = self.next() else {
                return Ok(());
            };
            let (edits, waiting): (Vec<Edit>, Vec<_>) = batch.into_iter().unzip();
            // If it fails, the callers that wait try by themselves: the own edit is written.
            let Ok(written) = write(api, port, &edits).await else {
                return Ok(());
            };
            port = written;
            for done in waiting {
                // A caller that was cancelled does not need to know.
                let _ = done.send(());
            }
        }
    }

    /// The edits that arrived meanwhile; without any, the port is free for the next writer.
    fn next(&self) -> Option<Queue> {
        let mut queues = self.edits.queues();
        let batch = queues.get_mut(&self.port).map(std::mem::take).unwrap_or_default();
        if batch.is_empty() {
            queues.remove(&self.port);
            return None;
        }
        Some(batch)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.edits.queues().remove(&self.port);
    }
}

/// Writes until no other client wrote in between, and answers the port as it is then.
async fn write(api: &Session, mut port: Port, edits: &[Edit]) -> Result<Port, Halt> {
    for _ in 0..ATTEMPTS {
        let groups = edits
            .iter()
            .fold(port.security_groups.clone(), |groups, edit| edit.apply(groups));
        if groups == port.security_groups {
            return Ok(port);
        }
        let change = PortChange {
            security_groups: Some(groups),
            ..PortChange::default()
        };
        let error = match ports::update(api, &port, &change).await {
            Ok(written) => {
                info!(port = port.id, ?edits, "changed security groups");
                return Ok(written);
            }
            Err(error) => error,
        };
        // 404 is about the port or one of the groups, whose deletion changed the port, too.
        let refused = fault::is_refusal(&error);
        if !is_changed(&error) && !refused && !matches!(error, Error::NotFound { .. }) {
            return Err(error.into());
        }
        let Some(fresh) = ports::port(api, &port.id).await? else {
            return Ok(port);
        };
        if fresh.port_security_enabled == Some(false) {
            warn!(port = port.id, "port security is off: it cannot have security groups");
            return Ok(fresh);
        }
        if refused {
            return Err(error.into());
        }
        port = fresh;
    }
    Err(Halt::Pending {
        poll_after: SOON,
        waiting_for: format!("port {}", port.id),
    })
}

fn is_changed(error: &Error) -> bool {
    Failure::of(error).is_some_and(|failure| failure.status() == StatusCode::PRECONDITION_FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::attached(Edit::Attach("c".into()), "a b", "a b c")]
    #[case::attached_before(Edit::Attach("b".into()), "a b", "a b")]
    #[case::detached(Edit::Detach("a".into()), "a b", "b")]
    #[case::detached_before(Edit::Detach("c".into()), "a b", "a b")]
    fn edits(#[case] edit: Edit, #[case] there: &str, #[case] expected: &str) {
        let groups = there.split(' ').map(ToOwned::to_owned).collect();
        assert_eq!(edit.apply(groups).join(" "), expected);
    }

    #[tokio::test]
    async fn a_caller_writes_if_the_writer_fails() {
        let edits = PortEdits::default();
        let edit = Edit::Attach("g".to_owned());
        let Turn::Mine(writer) = edits.turn("p", &edit) else {
            panic!("the first one writes");
        };
        let Turn::Theirs(waiting) = edits.turn("p", &edit) else {
            panic!("the second one waits");
        };
        drop(writer);
        assert!(waiting.await.is_err());
        assert!(matches!(edits.turn("p", &edit), Turn::Mine(_)));
    }

    #[tokio::test]
    async fn edits_that_arrive_meanwhile_are_written_next() {
        let edits = PortEdits::default();
        let Turn::Mine(writer) = edits.turn("p", &Edit::Attach("a".to_owned())) else {
            panic!("the first one writes");
        };
        let waiting = ["b", "c"].map(|group| edits.turn("p", &Edit::Attach(group.to_owned())));
        let batch = writer.next().expect("two who wait");
        assert_eq!((batch.len(), waiting.len()), (2, 2));
        assert!(writer.next().is_none(), "no other caller waits");
        assert!(matches!(edits.turn("p", &Edit::Attach("d".to_owned())), Turn::Mine(_)));
    }
}
