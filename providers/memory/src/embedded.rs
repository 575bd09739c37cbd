//! The provider on a cloud in this process.

use crate::{Offer, State};
use async_trait::async_trait;
use cloud::{
    Answer, ClusterMark, Detail, Gate, Instances, LoadBalancers, NewRoute, NodeRef, Noted, Owned, Progress, Provider,
    ProviderIds, Result, Route, Routes, Spec, Status,
};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// [`cloud::Provider`] on a cloud in this process. Clones share the cloud.
#[derive(Clone)]
pub struct Embedded {
    state: Arc<Mutex<State>>,
    latency: Duration,
    gate: Gate,
}

impl Embedded {
    /// On this cloud, with this latency of every call; it may write while the gate is open.
    pub fn new(state: State, latency: Duration, gate: Gate) -> Self {
        Self {
            state: Arc::new(Mutex::new(state)),
            latency,
            gate,
        }
    }

    /// On the same cloud, with another gate.
    #[must_use]
    pub fn with_gate(self, gate: Gate) -> Self {
        Self { gate, ..self }
    }

    /// The cloud.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read<T>(&self, act: impl FnOnce(&mut State, Instant) -> T) -> T {
        if !self.latency.is_zero() {
            sleep(self.latency).await;
        }
        let now = Instant::now();
        let mut state = self.state();
        state.settle(now);
        act(&mut state, now)
    }

    async fn write<T>(&self, act: impl FnOnce(&mut State, Instant) -> Result<T>) -> Result<T> {
        (self.gate)()?;
        self.read(act).await
    }

    async fn write_each<R>(&self, routes: &[R], act: impl Fn(&mut State, &R) -> Result<()>) -> Vec<Result<()>> {
        let all = |state: &mut State, _| Ok(routes.iter().map(|route| act(state, route)).collect());
        let written = self.write(all).await;
        written.unwrap_or_else(|error| vec![Err(error); routes.len()])
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}

impl Provider for Embedded {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn instances(&self) -> &dyn Instances {
        self
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        (self.state().settings.load_balancers == Offer::Yes).then_some(self)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        (self.state().settings.routes == Offer::Yes).then_some(self)
    }

    fn cluster_mark(&self) -> ClusterMark {
        self.state().settings.cluster_mark
    }
}

#[async_trait]
impl Instances for Embedded {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        self.read(|state, _| state.describe(nodes, detail)).await
    }

    fn provider_ids(&self) -> ProviderIds {
        self.state().settings.provider_ids
    }
}

#[async_trait]
impl LoadBalancers for Embedded {
    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        Ok(self.read(|state, _| state.find(spec)).await)
    }

    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let (progress, _) = self.write(|state, now| state.ensure(spec, usize::MAX, now)).await?;
        Ok(progress.into())
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let (progress, _) = self
            .write(|state, now| state.update_hosts(spec, usize::MAX, now))
            .await?;
        Ok(progress.into())
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        let (progress, _) = self.write(|state, now| Ok(state.delete(spec, now))).await?;
        Ok(progress.into())
    }

    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        Ok(self.read(|state, _| state.owned(cluster)).await)
    }
}

#[async_trait]
impl Routes for Embedded {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>> {
        Ok(self.read(|state, _| state.routes.list(cluster)).await)
    }

    async fn create(&self, cluster: &str, routes: &[NewRoute]) -> Vec<Result<()>> {
        let create = |state: &mut State, route: &NewRoute| state.create_route(cluster, route).map(drop);
        self.write_each(routes, create).await
    }

    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>> {
        let delete = |state: &mut State, route: &Route| {
            state.delete_route(cluster, route);
            Ok(())
        };
        self.write_each(routes, delete).await
    }
}
