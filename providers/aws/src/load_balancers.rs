//! Load balancers for Services: network ones and classic ones.
//!
//! Both kinds are reconciled by the engine of the provider kit (`network::engine`, `classic::engine`), each with plans of its own. Around them are
//! the subnets of the VPC, the instances behind the nodes, and security groups.

pub mod annotations;
mod classic;
#[cfg(test)]
mod fixture;
mod health;
mod hosts;
mod names;
mod network;
mod owned;
mod remarks;
mod settings;
mod subnets;
mod tags;

use crate::{api::Api, security_groups::SecurityGroups};
use annotations as key;
use async_trait::async_trait;
use classic::Classic;
use cloud::{Address, AddressKind, Error, Host, Ingress, Noted, Owned, Progress, Result, Spec, Status};
use hosts::Hosts;
use network::Network;
use provider_kit::load_balancer::{self as kit, Digest, Fields, Record};
use serde_json::json;
use settings::Kind;
use std::sync::Arc;
use subnets::Subnets;
pub use subnets::{INTERNAL_ROLE, NAME_TAG, PUBLIC_ROLE};
pub use tags::SERVICE as SERVICE_TAG;
use tokio::time::Instant;

/// The load balancers of one cluster.
pub struct LoadBalancers {
    network: Network,
    classic: Classic,
}

/// What both kinds use.
struct Shared {
    api: Arc<Api>,
    subnets: Subnets,
    groups: SecurityGroups,
    hosts: Hosts,
}

impl LoadBalancers {
    /// Load balancers that are reached through this API.
    pub fn new(api: &Arc<Api>) -> Self {
        let shared = Arc::new(Shared {
            subnets: Subnets::new(Arc::clone(api)),
            groups: SecurityGroups::new(Arc::clone(api)),
            hosts: Hosts::new(Arc::clone(api)),
            api: Arc::clone(api),
        });
        Self {
            network: Network::new(Arc::clone(&shared)),
            classic: Classic::new(shared),
        }
    }
}

#[async_trait]
impl cloud::LoadBalancers for LoadBalancers {
    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        let name = cloud::default_name(&spec.service.uid);
        match settings::kind(spec) {
            None => Ok(None),
            // A list that is older may lack a load balancer that this process created, and what is not found is not deleted.
            Some(Kind::Network) => {
                let found = self.network.find_named(&name, None, Some(Instant::now())).await?;
                Ok(found.map(|balancer| network::status(&balancer.lb)))
            }
            Some(Kind::Classic) => {
                let found = self.classic.find_named(&name, Some(Instant::now())).await?;
                Ok(found.map(|lb| Shared::status(&lb.dns_name)))
            }
        }
    }

    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        match settings::kind(spec) {
            None => Err(Error::ImplementedElsewhere),
            Some(Kind::Network) => kit::ensure(&self.network, spec).await,
            Some(Kind::Classic) => kit::ensure(&self.classic, spec).await,
        }
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        match settings::kind(spec) {
            None => Err(Error::ImplementedElsewhere),
            Some(Kind::Network) => kit::update_hosts(&self.network, spec).await,
            Some(Kind::Classic) => kit::update_hosts(&self.classic, spec).await,
        }
    }

    /// Looks for both kinds: the annotation may have changed since the load balancer was created.
    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        if settings::kind(spec).is_none() && Record::of(spec).is_none() {
            return Ok(Progress::Done(()).into());
        }
        let network = kit::delete(&self.network, spec).await?;
        if network.answer != Progress::Done(()) {
            return Ok(network);
        }
        kit::delete(&self.classic, spec).await
    }

    async fn owned(&self, _: &str) -> Result<Vec<Owned>> {
        Box::pin(owned::list(&self.network.shared.api)).await
    }
}

impl Shared {
    /// The fingerprint of everything that a load balancer depends on.
    fn digest(&self, spec: &Spec, subnets: &[String]) -> Digest {
        let config = &self.api.config;
        let cluster = self.api.known_cluster().and_then(|cluster| cluster.name.as_ref());
        let more = Fields::from([
            (
                "cluster",
                json!(cluster.map(|name| (&name.id, format!("{:?}", name.tags)))),
            ),
            ("nlbSecurityGroups", json!(format!("{:?}", config.nlb_security_groups))),
            ("elbSecurityGroup", json!(config.elb_security_group)),
            (
                "probe",
                json!([
                    config.health_probe_mode,
                    config.shared_probe_port,
                    config.shared_probe_path
                ]),
            ),
            ("subnets", json!(subnets)),
        ]);
        let counts = |name: &str| key::ROWS.iter().any(|row| row.key == name);
        // Of a host nothing counts but its instance.
        let hosts: Vec<Host> = hosts::ids(spec).into_iter().map(as_host).collect();
        Digest::new(spec, counts, &hosts, &more)
    }

    /// AWS's load balancers are reached by name. With a name, Kubernetes allows no `ipMode`, and nodes do not short-cut it.
    fn status(name: &str) -> Status {
        let ingress = Ingress {
            hostname: Some(name.to_owned()).filter(|name| !name.is_empty()),
            ..Ingress::default()
        };
        Status {
            ingress: ingress.hostname.is_some().then_some(ingress).into_iter().collect(),
        }
    }

    /// A load balancer of one kind cannot become one of the other.
    fn other_kind(wanted: Kind) -> Error {
        let other = match wanted {
            Kind::Network => "classic",
            Kind::Classic => "network",
        };
        let reason = format!(
            "cannot update Load Balancer Type annotation: the Service has a {other} load balancer; delete the Service and create it again"
        );
        key::TYPE.invalid(reason)
    }
}

fn as_host(id: &str) -> Host {
    Host {
        name: id.to_owned(),
        addresses: vec![Address::new(AddressKind::Hostname, id)],
        ..Host::default()
    }
}
