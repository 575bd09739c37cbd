//! The instances behind the nodes.

use crate::{Acme, api::Server};
use async_trait::async_trait;
use cloud::{Address, AddressKind, Answer, Detail, Error, Instance, Instances, NodeRef, Power, ProviderId, Result};

/// Every Node's `spec.providerID` begins with it; changing it orphans running nodes.
const SCHEME: &str = "acme://";

#[async_trait]
impl Instances for Acme {
    /// One list for all nodes, however many there are.
    async fn describe(&self, nodes: &[NodeRef], _: Detail) -> Vec<Result<Answer>> {
        let servers = match self.api.servers().await {
            Ok(servers) => servers,
            Err(error) => {
                return nodes.iter().map(|_| Err(error.clone())).collect();
            }
        };
        let mut answers = Vec::new();
        for node in nodes {
            answers.push(self.find(node, &servers).await);
        }
        answers
    }
}

impl Acme {
    /// A server that is not in the list is looked up by its ID: only the cloud's own 404 deletes a Node.
    async fn find(&self, node: &NodeRef, servers: &[Server]) -> Result<Answer> {
        let Some(id) = &node.provider_id else {
            let server = servers.iter().find(|server| server.name == node.name);
            return Ok(server.map_or(Answer::Missing, found));
        };
        let Some(id) = id.as_str().strip_prefix(SCHEME) else {
            return Err(Error::invalid("spec.providerID", format!("it does not begin with {SCHEME}")));
        };
        match servers.iter().find(|server| server.id == id) {
            Some(server) => Ok(found(server)),
            None => Ok(self.api.server(id).await?.as_ref().map_or(Answer::Missing, found)),
        }
    }
}

fn found(server: &Server) -> Answer {
    Answer::Found(Box::new(Instance {
        provider_id: ProviderId::parse(format!("{SCHEME}{}", server.id)),
        addresses: vec![
            Address::new(AddressKind::Hostname, &server.name),
            Address::new(AddressKind::InternalIP, &server.address),
        ],
        zone: Some(server.zone.clone()),
        power: if server.running { Power::On } else { Power::Off },
        ..Instance::default()
    }))
}
