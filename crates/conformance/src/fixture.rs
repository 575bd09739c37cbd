//! The fixture of one case: a world, unique names, and the objects to clean up.

use crate::{
    LoadBalancer, Stop, World,
    case::check,
    objects::{port, service},
};
use cloud::{
    Answer, Detail, Error, Gate, IpFamily, LoadBalancers, NewRoute, NodeRef, Noted, Progress, Protocol, Provider,
    Result as CloudResult, Routes, Spec, Status,
};
use futures::future::BoxFuture;
use ipnet::IpNet;
use std::{
    collections::BTreeSet,
    future::Future,
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The fixture of one case. Everything that is created with it, and all objects of its Services and clusters, is deleted after
/// the case.
pub struct Fixture {
    world: Box<dyn World>,
    provider: Arc<dyn Provider>,
    /// Makes names unique in a cloud that is shared.
    token: String,
    created: Mutex<Created>,
    /// The time of the last progress.
    progressed: Mutex<Instant>,
}

#[derive(Default)]
struct Created {
    machines: Vec<NodeRef>,
    specs: Vec<Spec>,
    clusters: Vec<String>,
    uids: u32,
}

impl Fixture {
    /// A fixture in this world; the token makes its names unique.
    pub fn new(world: Box<dyn World>, token: String) -> Self {
        let provider = world.provider(open());
        Self {
            world,
            provider,
            token,
            created: Mutex::default(),
            progressed: Mutex::new(Instant::now()),
        }
    }

    /// The operator's view.
    pub fn world(&self) -> &dyn World {
        self.progress();
        self.world.as_ref()
    }

    /// The provider under test, always allowed to write.
    pub fn provider(&self) -> &dyn Provider {
        self.progress();
        self.provider.as_ref()
    }

    /// Ends when the case has made no progress for [`World::patience`]. Each use of the world or of the provider is progress, and so
    /// is each change of what a load balancer waits for.
    pub(crate) async fn stalled(&self) {
        let last = || *self.progressed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let since = last();
            tokio::time::sleep_until(since + self.world.patience()).await;
            if last() == since {
                return;
            }
        }
    }

    fn progress(&self) {
        *self.progressed.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// A name for a cluster of this case; its routes are deleted after the case.
    pub fn cluster(&self, suffix: &str) -> String {
        let name = format!("c{}{suffix}", self.token);
        let mut created = self.created();
        if !created.clusters.contains(&name) {
            created.clusters.push(name.clone());
        }
        name
    }

    /// A machine of this case.
    pub async fn machine(&self, suffix: &str) -> Result<NodeRef, Stop> {
        let node = self.world().create_machine(&self.machine_name(suffix)).await?;
        self.created().machines.push(node.clone());
        Ok(node)
    }

    /// The name that a machine of this case would have.
    pub fn machine_name(&self, suffix: &str) -> String {
        format!("m{}-{suffix}", self.token)
    }

    /// Describes nodes; the number of answers is checked.
    pub async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Result<Vec<CloudResult<Answer>>, Stop> {
        let answers = self.provider().instances().describe(nodes, detail).await;
        check!(
            answers.len() == nodes.len(),
            "{} answers for {} nodes",
            answers.len(),
            nodes.len()
        );
        Ok(answers)
    }

    /// Describes one node; an error ends the case.
    pub async fn describe_one(&self, node: &NodeRef, detail: Detail) -> Result<Answer, Stop> {
        let answers = self.describe(std::slice::from_ref(node), detail).await?;
        answers
            .into_iter()
            .next()
            .ok_or_else(|| Stop::failed("no answer"))?
            .map_err(|error| unexpected("describe", &error))
    }

    /// The provider's load balancers.
    pub fn balancers(&self) -> Result<&dyn LoadBalancers, Stop> {
        self.provider()
            .load_balancers()
            .ok_or_else(|| Stop::unable("balance load: the provider offers no load balancers"))
    }

    /// The provider's routes.
    pub fn routes(&self) -> Result<&dyn Routes, Stop> {
        self.provider()
            .routes()
            .ok_or_else(|| Stop::unable("route: the provider offers no routes"))
    }

    /// The load balancer of a new Service `default/web` with port 80/TCP and this many hosts; it is deleted after the case.
    pub async fn spec(&self, hosts: usize) -> Result<Spec, Stop> {
        let hosts = self.world().hosts(hosts).await?;
        let number = {
            let mut created = self.created();
            created.uids += 1;
            created.uids
        };
        let spec = Spec {
            cluster: self.cluster(""),
            service: service(&format!("{number:04x}{}", self.token)),
            ports: vec![port(Protocol::Tcp, 80)],
            source_ranges: vec![IpNet::new_assert(Ipv4Addr::UNSPECIFIED.into(), 0)],
            families: vec![IpFamily::V4],
            hosts: hosts.into_iter().map(Arc::new).collect(),
            ..Spec::default()
        };
        let spec = self.world().complete(spec);
        self.delete_later(&spec);
        Ok(spec)
    }

    /// Deletes the load balancer of this spec after the case.
    pub fn delete_later(&self, spec: &Spec) {
        self.created().specs.push(spec.clone());
    }

    /// Ensures until it is ready.
    pub async fn ensure(&self, spec: &Spec) -> Result<Status, Stop> {
        let balancers = self.balancers()?;
        let events = Mutex::new(Vec::new());
        let call = || async {
            let noted = balancers.ensure(spec).await?;
            let mut events = events.lock().unwrap_or_else(PoisonError::into_inner);
            events.extend(noted.notes.events.iter().cloned());
            Ok(noted)
        };
        let status = settle(self, call).await.map_err(|error| unexpected("ensure", &error))?;
        for event in events.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let well_formed = event.reason.starts_with(char::is_uppercase)
                && event.reason.chars().all(char::is_alphanumeric)
                && !event.message.is_empty();
            check!(
                well_formed,
                "an event without a reason in CamelCase or a message: {event:?}"
            );
        }
        check!(
            !status.ingress.is_empty(),
            "a load balancer is ready and has no ingress"
        );
        Ok(status)
    }

    /// Updates the hosts until it is ready.
    pub async fn update_hosts(&self, spec: &Spec) -> Result<Status, Stop> {
        let balancers = self.balancers()?;
        settle(self, || balancers.update_hosts(spec))
            .await
            .map_err(|error| unexpected("update hosts", &error))
    }

    /// Updates the hosts of an existing load balancer, whatever else the Service asks for; [`Error::NotFound`] is allowed.
    pub async fn update_hosts_there(&self, spec: &Spec) -> Result<(), Stop> {
        let balancers = self.balancers()?;
        match settle(self, || balancers.update_hosts(spec)).await {
            Ok(_) | Err(cloud::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(unexpected("update hosts", &error)),
        }
    }

    /// Deletes until it does not exist any more.
    pub async fn delete(&self, spec: &Spec) -> Result<(), Stop> {
        let (balancers, mut seen) = (self.balancers()?, BTreeSet::new());
        loop {
            let deletion = balancers
                .delete(spec)
                .await
                .map_err(|error| unexpected("delete", &error))?;
            match deletion.answer {
                Progress::Done(()) => return Ok(()),
                Progress::Pending {
                    poll_after,
                    waiting_for,
                } => self.wait(poll_after, &mut seen, waiting_for).await,
            }
        }
    }

    /// Waits for the next poll, within limits. A new reason to wait is progress.
    async fn wait(&self, poll_after: Duration, seen: &mut BTreeSet<String>, waiting_for: String) {
        if seen.insert(waiting_for) {
            self.progress();
        }
        tokio::time::sleep(poll_after.clamp(Duration::from_millis(5), Duration::from_secs(5))).await;
    }

    /// Finds; an error ends the case.
    pub async fn find(&self, spec: &Spec) -> Result<Option<Status>, Stop> {
        self.balancers()?
            .find(spec)
            .await
            .map_err(|error| unexpected("find", &error))
    }

    /// The load balancer of this spec as the operator sees it; it must exist.
    pub async fn seen(&self, spec: &Spec) -> Result<LoadBalancer, Stop> {
        let seen = self.world().load_balancer(&spec.cluster, &spec.service).await?;
        seen.ok_or_else(|| Stop::failed("the operator sees no load balancer"))
    }

    /// Lists routes; an error ends the case.
    pub async fn list_routes(&self, cluster: &str) -> Result<Vec<cloud::Route>, Stop> {
        self.routes()?
            .list(cluster)
            .await
            .map_err(|error| unexpected("list routes", &error))
    }

    /// Creates routes; any error ends the case.
    pub async fn create_routes(&self, cluster: &str, new: &[NewRoute]) -> Result<(), Stop> {
        all_succeeded("create routes", new.len(), self.routes()?.create(cluster, new).await)
    }

    /// Deletes routes; any error ends the case.
    pub async fn delete_routes(&self, cluster: &str, routes: &[cloud::Route]) -> Result<(), Stop> {
        all_succeeded(
            "delete routes",
            routes.len(),
            self.routes()?.delete(cluster, routes).await,
        )
    }

    /// Deletes everything that the case created; fails if something cannot be deleted or still exists.
    pub async fn clean_up(&self) -> Result<(), Stop> {
        let created = std::mem::take(&mut *self.created());
        for spec in &created.specs {
            if self.provider().load_balancers().is_some() {
                self.delete(spec).await?;
            }
        }
        for cluster in &created.clusters {
            self.delete_all_routes(cluster).await?;
        }
        for node in &created.machines {
            self.world().return_machine(node).await?;
        }
        for cluster in &created.clusters {
            nothing_left("load balancers", self.world().count_load_balancers(cluster)).await?;
            nothing_left("routes", self.world().count_routes(cluster)).await?;
        }
        Ok(())
    }

    async fn delete_all_routes(&self, cluster: &str) -> Result<(), Stop> {
        if self.provider().routes().is_none() {
            return Ok(());
        }
        let routes = self.list_routes(cluster).await?;
        self.delete_routes(cluster, &routes).await
    }

    fn created(&self) -> MutexGuard<'_, Created> {
        self.created.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gate that is open.
pub(crate) fn open() -> Gate {
    Arc::new(|| Ok(()))
}

/// A cloud error that fails the case.
pub(crate) fn unexpected(call: &str, error: &Error) -> Stop {
    Stop::Failed(format!("{call}: {}", error.report()))
}

/// Calls again until it is ready, as the controller does.
pub(crate) async fn settle<'a, F>(fixture: &Fixture, call: impl Fn() -> F) -> CloudResult<Status>
where
    F: Future<Output = CloudResult<Noted<Progress<Status>>>> + 'a,
{
    let mut seen = BTreeSet::new();
    loop {
        match call().await?.answer {
            Progress::Done(status) => return Ok(status),
            Progress::Pending {
                poll_after,
                waiting_for,
            } => fixture.wait(poll_after, &mut seen, waiting_for).await,
        }
    }
}

/// Objects that a world cannot count are not checked here; there is a case that reports this.
async fn nothing_left(what: &str, count: BoxFuture<'_, Result<usize, Stop>>) -> Result<(), Stop> {
    match count.await {
        Ok(0) | Err(Stop::Unable(_)) => Ok(()),
        Ok(count) => Err(Stop::Failed(format!("{count} {what} still exist"))),
        Err(stop) => Err(stop),
    }
}

fn all_succeeded(call: &str, count: usize, answers: Vec<CloudResult<()>>) -> Result<(), Stop> {
    check!(
        answers.len() == count,
        "{call}: {} answers for {count} objects",
        answers.len()
    );
    answers
        .into_iter()
        .collect::<CloudResult<()>>()
        .map_err(|error| unexpected(call, &error))
}
