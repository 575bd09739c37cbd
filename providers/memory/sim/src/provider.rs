//! The provider on a cloud in the same process.

use crate::{Cloud, Offer, Operation, call::Request, state::route_name};
use async_trait::async_trait;
use cloud::{
    Answer, ClusterMark, Detail, Gate, Instances, LoadBalancers, NewRoute, NodeRef, Noted, Owned, Progress, Provider,
    ProviderIds, Result, Route, Routes, Spec, Status,
};
use std::{fmt, sync::Arc};

/// [`cloud::Provider`] on a [`Cloud`] in the same process.
#[derive(Clone)]
pub struct Memory {
    cloud: Cloud,
    gate: Gate,
}

impl Memory {
    /// On this cloud; it may always write.
    pub fn new(cloud: &Cloud) -> Self {
        Self {
            cloud: cloud.clone(),
            gate: Arc::new(|| Ok(())),
        }
    }

    /// The same; it may write while the gate is open.
    #[must_use]
    pub fn with_gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    /// The cloud beneath.
    pub fn cloud(&self) -> &Cloud {
        &self.cloud
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Provider for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn instances(&self) -> &dyn Instances {
        self
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        self.cloud
            .read(|state| state.settings.load_balancers == Offer::Yes)
            .then_some(self)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        self.cloud
            .read(|state| state.settings.routes == Offer::Yes)
            .then_some(self)
    }

    fn cluster_mark(&self) -> ClusterMark {
        self.cloud.read(|state| state.settings.cluster_mark)
    }
}

#[async_trait]
impl Instances for Memory {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        let names = nodes.iter().map(|node| node.name.clone()).collect();
        let request = Request {
            detail: Some(detail),
            names,
            ..Request::new(Operation::Describe)
        };
        self.cloud
            .perform(request, |state, verdict, _| state.describe(nodes, detail, verdict))
            .await
    }

    fn provider_ids(&self) -> ProviderIds {
        self.cloud.read(|state| state.settings.provider_ids)
    }
}

#[async_trait]
impl LoadBalancers for Memory {
    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        let request = Request {
            names: Vec::new(),
            ..of_service(Operation::FindLoadBalancer, spec)
        };
        self.cloud
            .perform(request, |state, verdict, _| state.find(spec, verdict))
            .await
    }

    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        (self.gate)()?;
        let request = of_service(Operation::EnsureLoadBalancer, spec);
        self.cloud
            .perform(request, |state, verdict, now| state.ensure(spec, verdict, now))
            .await
            .map(Noted::from)
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        (self.gate)()?;
        let request = of_service(Operation::UpdateHosts, spec);
        self.cloud
            .perform(request, |state, verdict, now| state.update_hosts(spec, verdict, now))
            .await
            .map(Noted::from)
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        (self.gate)()?;
        let request = Request {
            names: Vec::new(),
            ..of_service(Operation::DeleteLoadBalancer, spec)
        };
        self.cloud
            .perform(request, |state, verdict, now| state.delete(spec, verdict, now))
            .await
            .map(Noted::from)
    }

    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        let request = of_cluster(Operation::OwnedLoadBalancers, cluster, Vec::new());
        self.cloud
            .perform(request, |state, verdict, _| state.owned(cluster, verdict))
            .await
    }
}

#[async_trait]
impl Routes for Memory {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>> {
        let request = of_cluster(Operation::ListRoutes, cluster, Vec::new());
        self.cloud
            .perform(request, |state, verdict, _| state.list_routes(cluster, verdict))
            .await
    }

    async fn create(&self, cluster: &str, routes: &[NewRoute]) -> Vec<Result<()>> {
        if let Err(error) = (self.gate)() {
            return vec![Err(error); routes.len()];
        }
        let names = routes.iter().map(|route| route.node.clone()).collect();
        let request = of_cluster(Operation::CreateRoutes, cluster, names);
        self.cloud
            .perform(request, |state, verdict, _| {
                state.create_routes(cluster, routes, verdict)
            })
            .await
    }

    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>> {
        if let Err(error) = (self.gate)() {
            return vec![Err(error); routes.len()];
        }
        let names = routes.iter().map(route_name).collect();
        let request = of_cluster(Operation::DeleteRoutes, cluster, names);
        self.cloud
            .perform(request, |state, verdict, _| {
                state.delete_routes(cluster, routes, verdict)
            })
            .await
    }
}

fn of_service(operation: Operation, spec: &Spec) -> Request {
    Request {
        cluster: Some(spec.cluster.clone()),
        service: Some(spec.service.clone()),
        names: spec.hosts.iter().map(|host| host.name.clone()).collect(),
        ..Request::new(operation)
    }
}

fn of_cluster(operation: Operation, cluster: &str, names: Vec<String>) -> Request {
    Request {
        cluster: Some(cluster.to_owned()),
        names,
        ..Request::new(operation)
    }
}
