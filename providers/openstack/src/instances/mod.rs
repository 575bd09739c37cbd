//! Nova's servers behind the nodes.
//!
//! A question about many nodes is one list of servers and one list of ports for each hundred of them. What a list does not
//! have is asked for by itself: only Nova's own 404 makes a node's machine [`cloud::Answer::Missing`].

pub mod addresses;
mod flavors;
pub mod label;
mod lookup;
pub mod provider_id;
mod question;
mod region;
pub mod roster;
mod sweep;
mod wiring;

use crate::{
    api::{Session, nova::Server, together},
    config::Config,
    provider::{Connection, Live},
};
use async_trait::async_trait;
use cloud::{Answer, Detail, Error, Instance, NodeRef, Power, Result};
use flavors::Flavors;
use lookup::Lookup;
use question::Key;
use roster::Roster;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use wiring::Wiring;

/// The machines of one cloud.
pub struct Instances {
    live: Live,
    roster: Arc<Roster>,
}

/// What is remembered as long as a connection lasts.
#[derive(Default)]
pub struct Memory {
    flavors: Flavors,
    lookup: Arc<Lookup>,
}

impl Instances {
    /// Asks through whatever connection is in use.
    pub fn new(live: Live, roster: Arc<Roster>) -> Self {
        Self { live, roster }
    }

    async fn servers(&self, connection: &Connection, nodes: &[NodeRef]) -> Result<Vec<Result<Option<Arc<Server>>>>> {
        let region = connection.session.region();
        let keys: Vec<Result<Key<'_>>> = nodes.iter().map(|node| Key::of(node, region)).collect();
        let wanted: BTreeSet<Key<'_>> = keys.iter().flatten().copied().collect();
        if wanted.is_empty() {
            return Ok(keys.into_iter().map(|key| key.map(|_| None)).collect());
        }
        let of_ids = keys.iter().zip(nodes).filter_map(|(key, node)| match key {
            Ok(Key::Id(id)) => Some((*id, node.name.as_str())),
            _ => None,
        });
        let of_ids: HashMap<&str, &str> = of_ids.collect();
        let lookup = &connection.memory.lookup;
        let servers = lookup.get(&connection.session, &wanted, &of_ids, &self.roster).await?;
        let found = keys.into_iter().map(|key| servers.get(key?));
        Ok(found.collect())
    }

    /// Notes who runs where, for the routes.
    fn learn(&self, nodes: &[NodeRef], servers: &[Result<Option<Arc<Server>>>], region: &str) {
        for (node, server) in nodes.iter().zip(servers) {
            match (server, Key::of(node, region)) {
                (Ok(Some(server)), _) => self.roster.learn(server, &node.name),
                (Ok(None), Ok(Key::Id(id))) => self.roster.forget(id),
                _ => {}
            }
        }
    }
}

#[async_trait]
impl cloud::Instances for Instances {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        let connection = self.live.load();
        let servers = match self.servers(&connection, nodes).await {
            Ok(servers) => servers,
            Err(error) => return everybody(nodes.len(), error),
        };
        self.learn(nodes, &servers, connection.session.region());
        match detail {
            Detail::Liveness => {
                let global = &connection.config.global;
                let sure = servers.into_iter().zip(nodes).map(|(server, node)| match server? {
                    Some(server) => Ok(Some(server)),
                    None => region::must_be_ours(node, global).map(|()| None),
                });
                answers(sure.collect(), |server| Ok(alive(server, &connection.config)))
            }
            Detail::Full => full(&connection, servers).await,
        }
    }
}

/// Everything about each server that was found.
async fn full(connection: &Connection, servers: Vec<Result<Option<Arc<Server>>>>) -> Vec<Result<Answer>> {
    let Connection {
        config,
        session,
        memory,
        extensions: _,
    } = connection;
    let found: BTreeSet<&str> = servers
        .iter()
        .flatten()
        .flatten()
        .map(|server| server.id.as_str())
        .collect();
    let found: Vec<&str> = found.into_iter().collect();
    let (wiring, types) = futures::join!(Wiring::get(session, &found), types(session, &memory.flavors, &servers));
    answers(servers, |server| {
        let (ports, sub_ports) = wiring.of(&server.id)?;
        Ok(Instance {
            instance_type: match types.get(&server.id) {
                Some(Ok(kind)) => kind.clone(),
                Some(Err(error)) => return Err(error.clone()),
                None => None,
            },
            addresses: addresses::of(server, &ports, &sub_ports, &config.networking),
            zone: server
                .zone
                .as_deref()
                .map(label::sanitized)
                .filter(|zone| !zone.is_empty()),
            region: (!config.global.region.is_empty()).then(|| config.global.region.clone()),
            ..alive(server, config)
        })
    })
}

/// The instance types by the servers' IDs; one call a flavor that is not known, and none where Nova tells the name.
async fn types(
    session: &Session,
    flavors: &Flavors,
    servers: &[Result<Option<Arc<Server>>>],
) -> HashMap<String, Result<Option<String>>> {
    let mut by_flavor: HashMap<_, Vec<&Arc<Server>>> = HashMap::new();
    for server in servers.iter().flatten().flatten() {
        by_flavor.entry(&server.flavor).or_default().push(server);
    }
    let asked = by_flavor.into_values().map(|servers| async move {
        let kind = flavors
            .instance_type(session, servers[0])
            .await
            .map_err(Error::of_batch);
        servers.into_iter().map(move |server| (server.id.clone(), kind.clone()))
    });
    together(asked.collect()).await.into_iter().flatten().collect()
}

/// What the short answer has.
fn alive(server: &Server, config: &Config) -> Instance {
    Instance {
        provider_id: provider_id::of(&server.id, &config.global.region, config.global.provider_ids),
        power: power(&server.status),
        ..Instance::default()
    }
}

/// Only `SHUTOFF` is off: what is paused, suspended or shelved comes back as it was.
fn power(status: &str) -> Power {
    if status == "SHUTOFF" { Power::Off } else { Power::On }
}

fn answers(
    servers: Vec<Result<Option<Arc<Server>>>>,
    describe: impl Fn(&Server) -> Result<Instance>,
) -> Vec<Result<Answer>> {
    let answer = |server: Result<Option<Arc<Server>>>| match server? {
        Some(server) => Ok(Answer::Found(Box::new(describe(&server)?))),
        None => Ok(Answer::Missing),
    };
    servers.into_iter().map(answer).collect()
}

/// A failure of the whole call is every node's answer.
fn everybody(nodes: usize, error: Error) -> Vec<Result<Answer>> {
    vec![Err(error.of_batch()); nodes]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    // upstream: openstack 17
    #[rstest]
    #[case("SHUTOFF", Power::Off)]
    #[case("ACTIVE", Power::On)]
    #[case("PAUSED", Power::On)]
    #[case("SUSPENDED", Power::On)]
    #[case("SHELVED_OFFLOADED", Power::On)]
    #[case("ERROR", Power::On)]
    fn powers(#[case] status: &str, #[case] expected: Power) {
        assert_eq!(power(status), expected);
    }
}
