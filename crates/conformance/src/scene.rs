//! Where one case plays: a world, names of its own, and a memory of what has to be cleaned up.

use crate::{
    LoadBalancer, Stop, World,
    case::check,
    sample::{port, service},
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

/// The world of one case.
///
/// Everything made through it, and every Service and cluster named by it, is cleaned up after the case.
pub struct Scene {
    world: Box<dyn World>,
    provider: Arc<dyn Provider>,
    /// Makes names unique in a cloud that is shared.
    token: String,
    made: Mutex<Made>,
    /// The last time that the case went on.
    moved: Mutex<Instant>,
}

#[derive(Default)]
struct Made {
    machines: Vec<NodeRef>,
    specs: Vec<Spec>,
    clusters: Vec<String>,
    uids: u32,
}

impl Scene {
    /// A scene in this world; the token makes its names differ from those of other scenes.
    pub fn new(world: Box<dyn World>, token: String) -> Self {
        let provider = world.provider(open());
        Self {
            world,
            provider,
            token,
            made: Mutex::default(),
            moved: Mutex::new(Instant::now()),
        }
    }

    /// The operator's side.
    pub fn world(&self) -> &dyn World {
        self.progress();
        self.world.as_ref()
    }

    /// The provider under test, always allowed to write.
    pub fn provider(&self) -> &dyn Provider {
        self.progress();
        self.provider.as_ref()
    }

    /// Ends when the case has made no progress for as long as the world is patient. Each use of the world or of the provider is
    /// progress, and so is each change of what a load balancer waits for.
    pub(crate) async fn stalled(&self) {
        let moved = || *self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let since = moved();
            tokio::time::sleep_until(since + self.world.patience()).await;
            if moved() == since {
                return;
            }
        }
    }

    fn progress(&self) {
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// A name for a cluster of this case; its routes are cleaned up.
    pub fn cluster(&self, suffix: &str) -> String {
        let name = format!("c{}{suffix}", self.token);
        let mut made = self.made();
        if !made.clusters.contains(&name) {
            made.clusters.push(name.clone());
        }
        name
    }

    /// A machine of this case.
    pub async fn machine(&self, suffix: &str) -> Result<NodeRef, Stop> {
        let node = self.world().create_machine(&self.machine_name(suffix)).await?;
        self.made().machines.push(node.clone());
        Ok(node)
    }

    /// The name that a machine of this case would have.
    pub fn machine_name(&self, suffix: &str) -> String {
        format!("m{}-{suffix}", self.token)
    }

    /// Asks about nodes; the count of answers is checked.
    pub async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Result<Vec<CloudResult<Answer>>, Stop> {
        let answers = self.provider().instances().describe(nodes, detail).await;
        check!(
            answers.len() == nodes.len(),
            "{} nodes were asked for, {} answers came",
            nodes.len(),
            answers.len()
        );
        Ok(answers)
    }

    /// Asks about one node; an error ends the case.
    pub async fn describe_one(&self, node: &NodeRef, detail: Detail) -> Result<Answer, Stop> {
        let answers = self.describe(std::slice::from_ref(node), detail).await?;
        answers
            .into_iter()
            .next()
            .ok_or_else(|| Stop::failed("no answer"))?
            .map_err(|error| wrong("describe", &error))
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

    /// What a new Service `default/web` with port 80/TCP asks for, with so many hosts; cleaned up.
    pub async fn spec(&self, hosts: usize) -> Result<Spec, Stop> {
        let hosts = self.world().hosts(hosts).await?;
        let number = {
            let mut made = self.made();
            made.uids += 1;
            made.uids
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
        self.clean_up(&spec);
        Ok(spec)
    }

    /// Marks the load balancer of this spec to be cleaned up.
    pub fn clean_up(&self, spec: &Spec) {
        self.made().specs.push(spec.clone());
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
        let status = settle(self, call).await.map_err(|error| wrong("ensure", &error))?;
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
            .map_err(|error| wrong("update hosts", &error))
    }

    /// Updates the hosts of what is there, whatever else is asked for: that something is missing may be told.
    pub async fn update_hosts_there(&self, spec: &Spec) -> Result<(), Stop> {
        let balancers = self.balancers()?;
        match settle(self, || balancers.update_hosts(spec)).await {
            Ok(_) | Err(cloud::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(wrong("update hosts", &error)),
        }
    }

    /// Deletes until it is gone.
    pub async fn delete(&self, spec: &Spec) -> Result<(), Stop> {
        let (balancers, mut seen) = (self.balancers()?, BTreeSet::new());
        loop {
            let deletion = balancers.delete(spec).await.map_err(|error| wrong("delete", &error))?;
            match deletion.answer {
                Progress::Done(()) => return Ok(()),
                Progress::Pending {
                    poll_after,
                    waiting_for,
                } => self.wait(poll_after, &mut seen, waiting_for).await,
            }
        }
    }

    /// As told, but never so often that a cloud would be flooded nor so long that nothing happens any more. Something to wait
    /// for that was not seen before is progress.
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
            .map_err(|error| wrong("find", &error))
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
            .map_err(|error| wrong("list routes", &error))
    }

    /// Creates routes; any error ends the case.
    pub async fn create_routes(&self, cluster: &str, new: &[NewRoute]) -> Result<(), Stop> {
        all_well("create routes", new.len(), self.routes()?.create(cluster, new).await)
    }

    /// Deletes routes; any error ends the case.
    pub async fn delete_routes(&self, cluster: &str, routes: &[cloud::Route]) -> Result<(), Stop> {
        all_well(
            "delete routes",
            routes.len(),
            self.routes()?.delete(cluster, routes).await,
        )
    }

    /// Removes everything that the case made; says what could not be removed, or was still there afterwards.
    pub async fn strike(&self) -> Result<(), Stop> {
        let made = std::mem::take(&mut *self.made());
        for spec in &made.specs {
            if self.provider().load_balancers().is_some() {
                self.delete(spec).await?;
            }
        }
        for cluster in &made.clusters {
            self.strike_routes(cluster).await?;
        }
        for node in &made.machines {
            self.world().return_machine(node).await?;
        }
        for cluster in &made.clusters {
            nothing_left("load balancers", self.world().count_load_balancers(cluster)).await?;
            nothing_left("routes", self.world().count_routes(cluster)).await?;
        }
        Ok(())
    }

    async fn strike_routes(&self, cluster: &str) -> Result<(), Stop> {
        if self.provider().routes().is_none() {
            return Ok(());
        }
        let routes = self.list_routes(cluster).await?;
        self.delete_routes(cluster, &routes).await
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gate that is open.
pub(crate) fn open() -> Gate {
    Arc::new(|| Ok(()))
}

/// A cloud error where there should be none.
pub(crate) fn wrong(call: &str, error: &Error) -> Stop {
    Stop::Failed(format!("{call}: {}", error.report()))
}

/// Calls again until it is ready, as the controller would; errors that ask for patience are patiently obeyed.
pub(crate) async fn settle<'a, F>(scene: &Scene, call: impl Fn() -> F) -> CloudResult<Status>
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
            } => scene.wait(poll_after, &mut seen, waiting_for).await,
        }
    }
}

/// What cannot be counted is not checked here: the case that is about it says so.
async fn nothing_left(what: &str, count: BoxFuture<'_, Result<usize, Stop>>) -> Result<(), Stop> {
    match count.await {
        Ok(0) | Err(Stop::Unable(_)) => Ok(()),
        Ok(count) => Err(Stop::Failed(format!("{count} {what} were left behind"))),
        Err(stop) => Err(stop),
    }
}

fn all_well(call: &str, asked: usize, answers: Vec<CloudResult<()>>) -> Result<(), Stop> {
    check!(
        answers.len() == asked,
        "{call}: {asked} were asked for, {} answers came",
        answers.len()
    );
    answers
        .into_iter()
        .collect::<CloudResult<()>>()
        .map_err(|error| wrong(call, &error))
}
