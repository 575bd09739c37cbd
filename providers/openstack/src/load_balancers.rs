//! Load balancers in front of Services: Octavia, with Neutron's floating IPs and security groups.
//!
//! Start with `engine`: it is what the load-balancer engine of the provider kit needs to know of Octavia. The engine finds the load balancer
//! (`locate`), checks whose it is (`ownership`), compares what is there (`observe`) with what should be (`desired`, `plan`), and applies the
//! first step (`apply`). One change makes the whole load balancer immutable until it is done. Around it are addresses (`floating_ip`), networks
//! (`network`) and the security groups of the nodes (`security_group`).

pub mod annotations;
mod apply;
mod create;
mod delete;
mod desired;
mod digest;
mod engine;
mod features;
mod find;
mod finish;
mod floating_ip;
mod goal;
mod learned;
mod locate;
mod names;
mod network;
mod node_address;
mod node_selector;
mod observe;
mod ownership;
mod plan;
mod repair;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod scenarios;
mod security_group;
mod settings;
mod status;
mod step;
mod tls;
mod tree;
mod warnings;

use crate::{
    api::{Session, barbican::Barbican, octavia::Octavia},
    config::Config,
    metrics::{Metrics, Operation},
    provider::{Connection, Live},
};
use async_trait::async_trait;
use cloud::{LoadBalancers, Noted, Owned, Progress, Result, ServiceRef, Spec, Status};
use desired::Wish;
use features::{Features, Inquiry};
use learned::Learned;
use network::Networks;
use observe::{Lists, Observer};
use provider_kit::load_balancer::{self as kit, Record, State};
use security_group::SecurityGroups;
use settings::Settings;
use std::sync::{Arc, Mutex, PoisonError};
use step::Step;
use tree::Tree;

/// The load balancers of one cloud, through the current connection.
pub struct Balancers {
    live: Live,
    metrics: Metrics,
    /// Survives reconnects, so that for example the once-a-day limit of failovers holds across credential rotation.
    memory: Memory,
    current: Mutex<Option<Arc<Reconciler>>>,
}

/// What this process remembers.
#[derive(Clone, Default)]
struct Memory {
    state: Arc<State<Tree, Step>>,
    learned: Arc<Learned>,
}

/// Reconciles load balancers through one connection, with what was learned through it.
struct Reconciler {
    connection: Arc<Connection>,
    octavia: Octavia,
    inquiry: Inquiry,
    barbican: Barbican,
    networks: Networks,
    groups: SecurityGroups,
    lists: Lists,
    state: Arc<State<Tree, Step>>,
    learned: Arc<Learned>,
}

/// One reconcile of one Service.
struct Pass<'a> {
    spec: &'a Spec,
    settings: &'a Settings,
    features: Features,
    record: Option<&'a Record>,
    config: &'a Config,
}

impl Pass<'_> {
    fn wish(&self) -> Wish<'_> {
        Wish {
            spec: self.spec,
            settings: self.settings,
            features: self.features,
            defaults: &self.config.load_balancer,
        }
    }
}

impl Balancers {
    /// Asks through whatever connection is in use.
    pub fn new(live: Live, metrics: Metrics) -> Self {
        Self {
            live,
            metrics,
            memory: Memory::default(),
            current: Mutex::default(),
        }
    }

    /// What works through the connection in use; made anew when that is replaced.
    fn reconciler(&self) -> Arc<Reconciler> {
        let connection = self.live.load();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(reconciler) if Arc::ptr_eq(&reconciler.connection, &connection) => Arc::clone(reconciler),
            _ => {
                self.memory.learned.reconfigured();
                let reconciler = Reconciler::new(connection, self.memory.clone());
                Arc::clone(current.insert(Arc::new(reconciler)))
            }
        }
    }
}

impl Reconciler {
    fn new(connection: Arc<Connection>, memory: Memory) -> Self {
        Self {
            octavia: Octavia::new(connection.session.clone()),
            inquiry: Inquiry::default(),
            barbican: Barbican::new(connection.session.clone()),
            connection,
            networks: Networks::default(),
            groups: SecurityGroups::default(),
            lists: Lists::default(),
            state: memory.state,
            learned: memory.learned,
        }
    }

    fn session(&self) -> &Session {
        &self.connection.session
    }

    fn config(&self) -> &Config {
        &self.connection.config
    }

    fn observer(&self) -> Observer<'_> {
        Observer {
            session: self.session(),
            octavia: &self.octavia,
            lists: &self.lists,
            state: &self.state,
        }
    }
}

#[async_trait]
impl LoadBalancers for Balancers {
    fn name(&self, cluster: &str, service: &ServiceRef) -> String {
        names::load_balancer(cluster, service)
    }

    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        self.reconciler().find(spec).await
    }

    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let reconcile = self.metrics.reconcile(Operation::Ensure, &spec.service.uid);
        reconcile.end(kit::ensure(&*self.reconciler(), spec).await)
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let reconcile = self.metrics.reconcile(Operation::Update, &spec.service.uid);
        reconcile.end(kit::update_hosts(&*self.reconciler(), spec).await)
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        let reconcile = self.metrics.reconcile(Operation::Delete, &spec.service.uid);
        reconcile.end(kit::delete(&*self.reconciler(), spec).await)
    }

    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        self.reconciler().owned(cluster).await
    }
}
