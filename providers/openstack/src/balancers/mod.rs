//! Load balancers in front of Services: Octavia, with Neutron's floating IPs and security groups.
//!
//! Start with `ensure`: it finds the load balancer (`locate`), decides whose it is (`role`), says what should be there
//! (`desired`), reads what is (`observe`), and takes the first step of the difference (`plan`, `act`). One change makes the
//! whole load balancer immutable until it is done, so one step is taken a time, and the answer is `Pending`. What matches is
//! sealed (`seal`), and is not read again until the Service or the load balancer changes.

mod act;
pub mod annotations;
mod create;
mod delete;
mod desired;
mod ensure;
mod features;
mod find;
mod finish;
mod floating_ip;
mod former;
mod goal;
mod halt;
mod locate;
mod memory;
mod names;
mod network;
mod node_address;
mod node_selector;
mod observe;
mod plan;
mod repair;
mod role;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod scenarios;
mod seal;
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
use ensure::Scope;
use features::{Features, Inquiry};
use memory::Memory;
use network::Networks;
use observe::{Lists, Observer};
use seal::Digest;
use security_group::SecurityGroups;
use settings::Settings;
use std::sync::{Arc, Mutex, PoisonError};

/// The load balancers of one cloud, through whatever connection is in use.
pub struct Balancers {
    live: Live,
    metrics: Metrics,
    /// Outlives connections: who was failed over today was so with other credentials, too.
    memory: Arc<Memory>,
    current: Mutex<Option<Arc<Reconciler>>>,
}

/// Looks after load balancers through one connection, with all that was learned through it.
struct Reconciler {
    connection: Arc<Connection>,
    octavia: Octavia,
    inquiry: Inquiry,
    barbican: Barbican,
    networks: Networks,
    groups: SecurityGroups,
    lists: Lists,
    memory: Arc<Memory>,
}

/// One pass over one Service.
struct Pass<'a> {
    spec: &'a Spec,
    settings: Settings,
    features: Features,
    digest: Digest,
    config: &'a Config,
}

impl Pass<'_> {
    fn wish(&self) -> Wish<'_> {
        Wish {
            spec: self.spec,
            settings: &self.settings,
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
            memory: Arc::default(),
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
                self.memory.reconfigured();
                let reconciler = Reconciler::new(connection, Arc::clone(&self.memory));
                Arc::clone(current.insert(Arc::new(reconciler)))
            }
        }
    }
}

impl Reconciler {
    fn new(connection: Arc<Connection>, memory: Arc<Memory>) -> Self {
        Self {
            octavia: Octavia::new(connection.session.clone()),
            inquiry: Inquiry::default(),
            barbican: Barbican::new(connection.session.clone()),
            connection,
            networks: Networks::default(),
            groups: SecurityGroups::default(),
            lists: Lists::default(),
            memory,
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
            memory: &self.memory,
        }
    }

    async fn pass<'a>(&'a self, spec: &'a Spec, scope: Scope) -> Result<Pass<'a>> {
        let config = self.config();
        let settings = match scope {
            Scope::All => Settings::of(spec, config)?,
            // Settings that exclude each other are about ports, not about who is behind them.
            Scope::Hosts => Settings::unchecked(spec, config),
        };
        let provider = &config.load_balancer.lb_provider;
        let features = self.inquiry.features(&self.octavia, provider).await?;
        Ok(Pass {
            digest: Digest::of(spec, &settings, features, config),
            spec,
            settings,
            features,
            config,
        })
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
        reconcile.end(halt::progress(self.reconciler().ensure(spec).await))
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let reconcile = self.metrics.reconcile(Operation::Update, &spec.service.uid);
        reconcile.end(halt::progress(self.reconciler().update_hosts(spec).await))
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        let reconcile = self.metrics.reconcile(Operation::Delete, &spec.service.uid);
        reconcile.end(halt::progress(self.reconciler().delete(spec).await))
    }

    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        self.reconciler().owned(cluster).await
    }
}
