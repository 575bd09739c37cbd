//! Nova's servers behind the nodes.
//!
//! Many nodes cost one list of servers, and one list of ports for each hundred of them. A server that the list does not have is
//! read by itself: only Nova's own 404 makes an instance [`cloud::Answer::Missing`].

pub mod addresses;
mod flavors;
mod name_filter;
pub mod node_index;
mod ports;
pub mod provider_id;
mod region;
mod servers;

use crate::{
    api::{Session, nova::Server},
    config::Config,
    provider::{Connection, Live},
};
use async_trait::async_trait;
use cloud::{Answer, Detail, Error, Instance, NodeRef, Power, Result};
use flavors::Flavors;
use node_index::NodeIndex;
use ports::ServerPorts;
use provider_kit::{
    batch::{Batch, Key},
    concurrently, labels,
};
use servers::Servers;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// The instances of one cloud.
pub struct Instances {
    live: Live,
    batch: Batch<Server>,
    nodes: Arc<NodeIndex>,
}

/// What is learned through one connection.
pub struct Learned {
    flavors: Flavors,
    servers: Servers,
}

impl Learned {
    /// Nothing yet.
    pub fn new(session: &Session) -> Self {
        Self {
            flavors: Flavors::default(),
            servers: Servers::new(session.clone()),
        }
    }
}

impl Instances {
    /// Reads through the connection in use.
    pub fn new(live: Live, nodes: Arc<NodeIndex>) -> Self {
        let batch = Batch::default();
        Self { live, batch, nodes }
    }

    /// Records which node runs on which server, for the routes.
    fn learn(&self, nodes: &[NodeRef], servers: &[Result<Option<Arc<Server>>>], region: &str) {
        for (node, server) in nodes.iter().zip(servers) {
            match (server, key(node, region)) {
                (Ok(Some(server)), _) => self.nodes.learn(&server.id, &node.name),
                (Ok(None), Ok(Key::Id(id, _))) => self.nodes.forget(id),
                _ => {}
            }
        }
    }
}

fn key<'a>(node: &'a NodeRef, region: &str) -> Result<Key<'a>> {
    Key::of(node, |id| provider_id::server_in(id, region))
}

#[async_trait]
impl cloud::Instances for Instances {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        let connection = self.live.load();
        let region = connection.session.region();
        let keys = nodes.iter().map(|node| key(node, region)).collect();
        let servers = self.batch.find(&connection.learned.servers, keys).await;
        self.learn(nodes, &servers, region);
        match detail {
            Detail::Liveness => {
                let global = &connection.config.global;
                let sure = servers.into_iter().zip(nodes).map(|(server, node)| match server? {
                    Some(server) => Ok(Some(server)),
                    None => region::check_region(node, global).map(|()| None),
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
        learned,
        ..
    } = connection;
    let found: BTreeSet<&str> = servers
        .iter()
        .flatten()
        .flatten()
        .map(|server| server.id.as_str())
        .collect();
    let found: Vec<&str> = found.into_iter().collect();
    let (ports, types) = futures::join!(
        ServerPorts::get(session, &found),
        types(session, &learned.flavors, &servers)
    );
    answers(servers, |server| {
        let (ports, sub_ports) = ports.of(&server.id)?;
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
                .map(labels::sanitized)
                .filter(|zone| !zone.is_empty()),
            region: (!config.global.region.is_empty()).then(|| config.global.region.clone()),
            ..alive(server, config)
        })
    })
}

/// The instance types by the servers' IDs: one call for each flavor that is not known, and none where Nova sends the name.
async fn types(
    session: &Session,
    flavors: &Flavors,
    servers: &[Result<Option<Arc<Server>>>],
) -> HashMap<String, Result<Option<String>>> {
    let mut by_flavor: HashMap<_, Vec<&Arc<Server>>> = HashMap::new();
    for server in servers.iter().flatten().flatten() {
        by_flavor.entry(&server.flavor).or_default().push(server);
    }
    let reads = by_flavor.into_values().map(|servers| async move {
        let kind = flavors
            .instance_type(session, servers[0])
            .await
            .map_err(Error::of_batch);
        servers.into_iter().map(move |server| (server.id.clone(), kind.clone()))
    });
    concurrently(reads).await.into_iter().flatten().collect()
}

/// What the short answer has.
fn alive(server: &Server, config: &Config) -> Instance {
    Instance {
        provider_id: provider_id::of(&server.id, &config.global.region, config.global.provider_ids),
        power: power(&server.status),
        ..Instance::default()
    }
}

/// Only `SHUTOFF` is off: a server that is paused, suspended or shelved comes back as it was.
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
