//! The ports of servers, and the sub-ports of those that are trunks.

use super::addresses::SubPort;
use crate::api::{
    Session,
    neutron::{
        FILTER_VALUES,
        networks::{self, Network},
        ports::{self, Port},
    },
};
use cloud::{Error, Result};
use provider_kit::concurrently;
use std::collections::{BTreeSet, HashMap};
use tracing::warn;

/// The ports of many servers.
#[derive(Default)]
pub struct ServerPorts {
    /// By the server's ID, in Neutron's order.
    ports: HashMap<String, Vec<Port>>,
    /// By their own ID.
    sub_ports: HashMap<String, SubPort>,
    /// Servers whose ports could not be listed, and why.
    failed: HashMap<String, Error>,
}

impl ServerPorts {
    /// Lists the ports of these servers: one list for each hundred servers, and one more of each kind for sub-ports.
    pub async fn get(session: &Session, servers: &[&str]) -> Self {
        let mut all = Self::default();
        let lists = servers.chunks(FILTER_VALUES).map(|chunk| async move {
            let filters: Vec<_> = chunk.iter().map(|&server| ("device_id", server)).collect();
            (chunk, ports::ports(session, &filters).await)
        });
        for (chunk, list) in concurrently(lists).await {
            match list {
                Ok(ports) => ports
                    .into_iter()
                    .for_each(|port| all.ports.entry(port.device_id.clone()).or_default().push(port)),
                Err(error) => all.fail(chunk, error),
            }
        }
        all.sub_ports = all.get_sub_ports(session).await;
        all
    }

    /// The ports of a server, and their sub-ports.
    ///
    /// # Errors
    /// If they could not be listed.
    pub fn of(&self, server: &str) -> Result<(Vec<&Port>, Vec<SubPort>)> {
        if let Some(error) = self.failed.get(server) {
            return Err(error.clone());
        }
        let ports: Vec<&Port> = self.ports.get(server).into_iter().flatten().collect();
        let ids = ports.iter().flat_map(|port| sub_port_ids(port));
        let sub_ports = ids.filter_map(|id| self.sub_ports.get(id)).cloned().collect();
        Ok((ports, sub_ports))
    }

    fn fail(&mut self, servers: &[&str], error: Error) {
        let error = error.of_batch();
        for &server in servers {
            self.failed.insert(server.to_owned(), error.clone());
        }
    }

    /// The sub-ports of trunks. Those that cannot be listed are omitted with a warning: a node without them is better than no
    /// node.
    async fn get_sub_ports(&self, session: &Session) -> HashMap<String, SubPort> {
        let ids: Vec<&str> = self.ports.values().flatten().flat_map(sub_port_ids).collect();
        let ports = listed(&ids, |filters| async move { ports::ports(session, &filters).await }).await;
        let of_ports: BTreeSet<&str> = ports.iter().map(|port| port.network_id.as_str()).collect();
        let of_ports: Vec<&str> = of_ports.into_iter().collect();
        let networks = listed(&of_ports, |filters| async move {
            networks::networks(session, &filters).await
        })
        .await;
        let names: HashMap<String, String> = networks
            .into_iter()
            .map(|Network { id, name, .. }| (id, name))
            .collect();
        let named = ports.into_iter().filter_map(|port| {
            let network = names.get(&port.network_id)?.clone();
            let ips = port.fixed_ips.into_iter().map(|ip| ip.ip_address).collect();
            Some((port.id, SubPort { network, ips }))
        });
        named.collect()
    }
}

/// Lists objects by their IDs, a hundred at a time.
async fn listed<'a, T, F>(ids: &[&'a str], list: impl Fn(Vec<(&'static str, &'a str)>) -> F) -> Vec<T>
where
    F: Future<Output = Result<Vec<T>>>,
{
    let lists = ids
        .chunks(FILTER_VALUES)
        .map(|chunk| list(chunk.iter().map(|&id| ("id", id)).collect()));
    let mut all = Vec::new();
    for list in concurrently(lists).await {
        match list {
            Ok(items) => all.extend(items),
            Err(error) => warn!(error = error.report(), "cannot list sub-ports of trunks"),
        }
    }
    all
}

fn sub_port_ids(port: &Port) -> impl Iterator<Item = &str> {
    let sub_ports = port.trunk_details.iter().flat_map(|trunk| &trunk.sub_ports);
    sub_ports.map(|sub_port| sub_port.port_id.as_str())
}
