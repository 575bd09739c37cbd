//! Gets the servers that are asked for.

use super::{
    question::{self, Calls, Found, Key},
    roster::Roster,
    sweep::Sweep,
};
use crate::api::{
    Session,
    nova::{self, Microversion, Server},
    together,
};
use cloud::{Error, Result};
use cloud_http::{Failure, http::StatusCode};
use futures::FutureExt;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// What is known about the cloud from earlier calls.
#[derive(Default)]
pub struct Lookup {
    /// How many servers the project had.
    servers: AtomicUsize,
    /// Nova refused to answer in the newer version.
    old: AtomicBool,
    /// Expressions do not mean here what they should.
    plain: AtomicBool,
    /// The list of all servers.
    sweep: Sweep,
    /// Expressions of several names have found somebody: they mean here what they should.
    proven: AtomicBool,
    /// IDs that Nova says are nobody's. They never come back.
    gone: Mutex<HashSet<String>>,
    /// Names that Nova says are nobody's, and since when that is known. Somebody may get them.
    nobody: Mutex<HashMap<String, Instant>>,
}

/// More than one cluster loses while a connection lasts; then it is asked again.
const MOST_GONE: usize = 10_000;

/// For how long a list is believed that a name is still nobody's, once that was asked for by itself.
const BELIEVED: Duration = Duration::from_mins(5);

/// The servers that are asked for.
pub struct Servers<'a> {
    found: Found,
    /// Those that were asked for one by one in vain, and why.
    failed: HashMap<Key<'a>, Error>,
}

impl Lookup {
    /// Gets all servers that are known by these keys. `nodes` gives the name of the node for an ID.
    ///
    /// # Errors
    /// If a list cannot be read to its end: then nothing is known about anybody.
    pub async fn get<'a>(
        self: &Arc<Self>,
        session: &Session,
        keys: &BTreeSet<Key<'a>>,
        nodes: &HashMap<&'a str, &'a str>,
        roster: &Roster,
    ) -> Result<Servers<'a>> {
        let names = names(keys, nodes, roster);
        let calls = if self.plain.load(Ordering::Relaxed) && keys.len() > 1 {
            Calls::All
        } else {
            question::calls(keys, &names, self.servers.load(Ordering::Relaxed))
        };
        let listed = self.ask(session, &calls).await?;
        if matches!(&calls, Calls::Named(_)) && names.len() > 1 && listed.iter().any(|one| names.contains(&one.name)) {
            self.proven.store(true, Ordering::Relaxed);
        }
        let mut servers = Servers {
            found: Found::new(listed),
            failed: HashMap::new(),
        };
        let late = self.confirm(session, keys, &calls, &mut servers).await;
        // Who has the name that was asked for should have come with the list.
        if matches!(calls, Calls::Named(_)) && late.iter().any(|name| names.contains(name)) {
            self.plain.store(true, Ordering::Relaxed);
        }
        Ok(servers)
    }

    async fn ask(self: &Arc<Self>, session: &Session, calls: &Calls<'_>) -> Result<Vec<Arc<Server>>> {
        match calls {
            // Asked for below, like everybody whom a list does not have.
            Calls::Id(_) => Ok(Vec::new()),
            Calls::Named(expressions) => {
                let lists = expressions
                    .iter()
                    .map(|expression| self.list(session, Some(expression)));
                let lists: Result<Vec<Vec<Server>>> = together(lists.collect()).await.into_iter().collect();
                Ok(lists?.into_iter().flatten().map(Arc::new).collect())
            }
            Calls::All => {
                let (this, session) = (Arc::clone(self), session.clone());
                let read = || async move { this.list(&session, None).await }.boxed();
                let all = self.sweep.get(read).await?;
                self.servers.store(all.len(), Ordering::Relaxed);
                Ok(all.to_vec())
            }
        }
    }

    /// Asks one by one for those who are not on the list: they may have another name by now, the expression may mean
    /// something else to this cloud's database, or a list may be silent about a part of the cloud that is down. Who is gone
    /// is asked for once, and a name that is nobody's once in a while. Gives the names of those who were there after all.
    async fn confirm<'a>(
        &self,
        session: &Session,
        keys: &BTreeSet<Key<'a>>,
        calls: &Calls<'_>,
        servers: &mut Servers<'a>,
    ) -> Vec<String> {
        let is_absent = |key: &Key<'_>| match *key {
            Key::Id(id) => !servers.found.has(id) && !self.is_gone(id, calls),
            Key::Name(name) => {
                matches!(servers.found.get(*key), Ok(None)) && !calls.is_only(name) && !self.is_nobody(name, calls)
            }
        };
        let absent: Vec<Key<'a>> = keys.iter().copied().filter(is_absent).collect();
        self.nobody().retain(|_, since| since.elapsed() < BELIEVED);
        let asked = absent
            .into_iter()
            .map(|key| async move { (key, self.one(session, key).await) });
        let mut late = Vec::new();
        for (key, answer) in together(asked.collect()).await {
            match answer {
                Ok(found) => {
                    match (key, &found[..]) {
                        (Key::Id(id), []) => self.lose(id),
                        (Key::Name(name), []) => drop(self.nobody().insert(name.to_owned(), Instant::now())),
                        _ => {}
                    }
                    late.extend(found.iter().map(|server| server.name.clone()));
                    for server in found {
                        servers.found.insert(Arc::new(server));
                    }
                }
                Err(error) => drop(servers.failed.insert(key, error.of_batch())),
            }
        }
        late
    }

    /// Whether Nova said so before. Where nothing else is asked, that is asked again: a list would have had it.
    fn is_gone(&self, id: &str, calls: &Calls<'_>) -> bool {
        !matches!(calls, Calls::Id(_)) && self.gone().contains(id)
    }

    /// Whether Nova said so a moment ago, and this list would have had who got the name since.
    fn is_nobody(&self, name: &str, calls: &Calls<'_>) -> bool {
        let tells = match calls {
            Calls::All => true,
            Calls::Named(_) => self.proven.load(Ordering::Relaxed),
            Calls::Id(_) => false,
        };
        let known = || self.nobody().get(name).is_some_and(|since| since.elapsed() < BELIEVED);
        tells && known()
    }

    fn nobody(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.nobody.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, id: &str) {
        let mut gone = self.gone();
        if gone.len() >= MOST_GONE {
            gone.clear();
        }
        gone.insert(id.to_owned());
    }

    fn gone(&self) -> MutexGuard<'_, HashSet<String>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn one(&self, session: &Session, key: Key<'_>) -> Result<Vec<Server>> {
        match key {
            Key::Id(id) => {
                let server = self.negotiate(|version| nova::server(session, id, version)).await?;
                Ok(server.into_iter().collect())
            }
            Key::Name(name) => self.list(session, Some(&question::only(name))).await,
        }
    }

    async fn list(&self, session: &Session, name: Option<&str>) -> Result<Vec<Server>> {
        self.negotiate(|version| nova::servers(session, name, version)).await
    }

    /// Asks in the newer version, and from the first refusal on in the base version.
    async fn negotiate<T, F: Future<Output = Result<T>>>(&self, ask: impl Fn(Microversion) -> F) -> Result<T> {
        if self.old.load(Ordering::Relaxed) {
            return ask(Microversion::Base).await;
        }
        match ask(Microversion::FlavorNames).await {
            Err(error) if is_unacceptable(&error) => {
                self.old.store(true, Ordering::Relaxed);
                ask(Microversion::Base).await
            }
            answer => answer,
        }
    }
}

impl Servers<'_> {
    /// The server, or `None` if the cloud itself says that there is none.
    ///
    /// # Errors
    /// If there is any doubt.
    pub fn get(&self, key: Key<'_>) -> Result<Option<Arc<Server>>> {
        if let Some(error) = self.failed.get(&key) {
            return Err(error.clone());
        }
        self.found.get(key).map(Option::<&_>::cloned)
    }
}

/// The names under which the servers are known to Nova, as far as we know them.
fn names(keys: &BTreeSet<Key<'_>>, nodes: &HashMap<&str, &str>, roster: &Roster) -> BTreeSet<String> {
    let name = |key: &Key<'_>| match *key {
        Key::Id(id) => roster
            .server_name(id)
            .unwrap_or_else(|| nodes.get(id).map_or(id, |node| node).to_string()),
        Key::Name(name) => name.to_owned(),
    };
    keys.iter().map(name).collect()
}

fn is_unacceptable(error: &Error) -> bool {
    Failure::of(error).is_some_and(|failure| failure.status() == StatusCode::NOT_ACCEPTABLE)
}
