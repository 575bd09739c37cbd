//! The state of a memory cloud. Pure: the time is an argument, nothing waits.

use crate::{AutoCreate, Balancers, Machine, Machines, RouteTables, Settings, Step};
use cloud::{Answer, Detail, NewRoute, NodeRef, Owned, Progress, Result, Route, Spec, Status};
use tokio::time::Instant;

/// All objects of a memory cloud.
#[derive(Debug, Default)]
pub struct State {
    /// How the cloud behaves.
    pub settings: Settings,
    /// Its machines.
    pub machines: Machines,
    /// Its load balancers.
    pub balancers: Balancers,
    /// Its routes.
    pub routes: RouteTables,
}

impl State {
    /// An empty cloud with these settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Applies the changes that are due by now. Call it before every other method.
    pub fn settle(&mut self, now: Instant) {
        self.balancers.settle(now);
    }

    /// Creates a machine, in place of one of the same name. It gets a provider ID if it has none.
    pub fn create_machine(&mut self, machine: Machine) -> NodeRef {
        self.machines.create(machine, self.settings.provider_ids)
    }

    /// [`cloud::Instances::describe`]
    pub fn describe(&mut self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        if self.settings.auto_create == AutoCreate::On {
            for node in nodes {
                self.machines.auto_create(node);
            }
        }
        self.machines.describe(nodes, detail)
    }

    /// [`cloud::LoadBalancers::find`]
    pub fn find(&self, spec: &Spec) -> Option<Status> {
        self.balancers.find(spec, &self.settings)
    }

    /// [`cloud::LoadBalancers::ensure`] with at most `limit` steps; also returns the steps.
    ///
    /// # Errors
    /// If the Service asks for an address that it cannot have.
    pub fn ensure(&mut self, spec: &Spec, limit: usize, now: Instant) -> Result<(Progress<Status>, Vec<Step>)> {
        self.balancers.ensure(spec, limit, now, &self.settings)
    }

    /// [`cloud::LoadBalancers::update_hosts`] with at most `limit` steps; also returns the steps.
    ///
    /// # Errors
    /// [`cloud::Error::NotFound`] if there is no load balancer.
    pub fn update_hosts(&mut self, spec: &Spec, limit: usize, now: Instant) -> Result<(Progress<Status>, Vec<Step>)> {
        self.balancers.update_hosts(spec, limit, now, &self.settings)
    }

    /// [`cloud::LoadBalancers::delete`]; also returns what changed.
    pub fn delete(&mut self, spec: &Spec, now: Instant) -> (Progress<()>, Vec<&'static str>) {
        self.balancers.delete(spec, now, &self.settings)
    }

    /// [`cloud::LoadBalancers::owned`]
    pub fn owned(&self, cluster: &str) -> Vec<Owned> {
        self.balancers.owned(cluster)
    }

    /// Creates a route; returns what changed.
    ///
    /// # Errors
    /// If another route has this destination.
    pub fn create_route(&mut self, cluster: &str, route: &NewRoute) -> Result<Option<String>> {
        self.routes.create(cluster, route, self.settings.route_addresses)
    }

    /// Deletes a route; returns what changed.
    pub fn delete_route(&mut self, cluster: &str, route: &Route) -> Option<String> {
        self.routes.delete(cluster, route)
    }
}
