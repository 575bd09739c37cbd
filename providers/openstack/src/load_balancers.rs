//! Load balancers in front of Services: Octavia, with Neutron's floating IPs and security groups.
//!
//! Start with `engine`: it describes Octavia to the load-balancer engine of the provider kit. The engine locates the load balancer, checks who
//! owns it (`ownership`), compares what exists with what the Service asks for, and applies the first step of the difference (`balancer`). Each
//! change makes the whole load balancer immutable until Octavia has completed it. `network`, `floating_ip` and `security_group` are Neutron's
//! part.

pub mod annotations;
mod balancer;
mod engine;
mod features;
mod floating_ip;
mod names;
mod network;
mod node_address;
mod ownership;
mod security_group;
mod settings;
#[cfg(test)]
mod tests;

use crate::{
    api::{Session, barbican::Barbican, octavia::Octavia},
    config::Config,
    metrics::{Metrics, Operation},
    provider::{Connection, Live},
};
use async_trait::async_trait;
use balancer::{
    observe::{Lists, Observer},
    step::Step,
    tree::Tree,
};
use cloud::{LoadBalancers, Noted, Owned, Progress, Result, ServiceRef, Spec, Status};
use engine::learned::Learned;
use features::FeatureDiscovery;
use network::Networks;
use provider_kit::load_balancer::{self as kit, State};
use security_group::SecurityGroups;
use std::sync::{Arc, Mutex, PoisonError};

/// The load balancers of one cloud, through the current connection.
pub struct Balancers {
    live: Live,
    metrics: Metrics,
    /// Survives reconnects, so that for example the once-a-day limit of failovers holds across credential rotation.
    shared: SharedState,
    current: Mutex<Option<Arc<Reconciler>>>,
}

/// What this process remembers.
#[derive(Clone, Default)]
struct SharedState {
    state: Arc<State<Tree, Step>>,
    learned: Arc<Learned>,
}

/// Reconciles load balancers through one connection, with what was learned through it.
struct Reconciler {
    connection: Arc<Connection>,
    octavia: Octavia,
    features: FeatureDiscovery,
    barbican: Barbican,
    networks: Networks,
    groups: SecurityGroups,
    lists: Lists,
    state: Arc<State<Tree, Step>>,
    learned: Arc<Learned>,
}

impl Balancers {
    /// Uses the current connection.
    pub fn new(live: Live, metrics: Metrics) -> Self {
        Self {
            live,
            metrics,
            shared: SharedState::default(),
            current: Mutex::default(),
        }
    }

    /// The reconciler of the connection in use; it is replaced with the connection.
    fn reconciler(&self) -> Arc<Reconciler> {
        let connection = self.live.load();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(reconciler) if Arc::ptr_eq(&reconciler.connection, &connection) => Arc::clone(reconciler),
            _ => {
                self.shared.learned.reconfigured();
                let reconciler = Reconciler::new(connection, self.shared.clone());
                Arc::clone(current.insert(Arc::new(reconciler)))
            }
        }
    }
}

impl Reconciler {
    fn new(connection: Arc<Connection>, shared: SharedState) -> Self {
        Self {
            octavia: Octavia::new(connection.session.clone()),
            features: FeatureDiscovery::default(),
            barbican: Barbican::new(connection.session.clone()),
            connection,
            networks: Networks::default(),
            groups: SecurityGroups::default(),
            lists: Lists::default(),
            state: shared.state,
            learned: shared.learned,
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
