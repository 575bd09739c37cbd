//! The environment of scenarios: a project with a network, and a count of every call.

use super::{
    objects,
    project::{Project, config, session},
};
use crate::{
    api::{
        Deleted, Session, SessionContext,
        octavia::{LoadBalancer, NewLoadBalancer, Octavia, Provisioning},
    },
    config::Config,
    load_balancers::{
        Balancers, annotations as key,
        balancer::{
            observe::{Lists, Observer},
            tree::Tree,
        },
    },
    metrics::Metrics,
    provider::{Connection, Live},
};
use cloud::{
    Error, Event, Gate, Host, IpFamily, LoadBalancers, Noted, Notes, Progress, Protocol, Result, ServiceRef, Spec,
    Status,
};
use cloud_http::login::LoginThrottles;
use openstack_sim::{Cloud, Sim};
use prometheus::Registry;
use provider_kit::load_balancer::State;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// One project, and one manager for it.
pub(super) struct Fixture {
    pub project: Project,
    pub balancers: Balancers,
    /// Octavia with the permissions of an administrator; these calls are not counted.
    pub octavia: Octavia,
    pub hosts: Vec<Arc<Host>>,
    pub cluster: String,
    /// The URL of Keystone, and the name of the project.
    login: (String, String),
    pub config: Config,
    registry: Registry,
    /// Only on the simulation.
    pub cloud: Option<Cloud>,
    sim: Option<Sim>,
}

/// The number of each call.
pub(super) type Calls = BTreeMap<String, u64>;

impl Fixture {
    /// On a simulation of its own.
    pub async fn simulated() -> Self {
        Self::simulated_in("demo").await
    }

    /// On a simulation of its own, in this project.
    pub async fn simulated_in(name: &str) -> Self {
        let cloud = Cloud::new();
        cloud.configure(|settings| settings.balancer_delay = Duration::from_millis(5));
        let sim = Sim::start(&cloud).await.expect("a simulation");
        let project = Project::new(&sim.auth_url(), name).await;
        let mut fixture = Self::on(project, &sim.auth_url(), name).await;
        (fixture.cloud, fixture.sim) = (Some(cloud), Some(sim));
        fixture
    }

    /// In a project of its own on the real services.
    pub async fn real() -> Self {
        let cloud = tokio::task::spawn_blocking(lab::openstack::OpenStack::shared)
            .await
            .expect("the lab");
        let project = cloud.project(&lab::unique("octavia")).await.expect("a project");
        let (auth_url, tenant) = (cloud.keystone(lab::openstack::Region::Plain), project.tenant());
        let project = Project::around(&auth_url, &tenant.name, &tenant.network, &tenant.subnet).await;
        let mut fixture = Self::on(project, &auth_url, &tenant.name).await;
        fixture.configure(|config| config.load_balancer.lb_provider = "lab".into());
        fixture
    }

    async fn on(project: Project, auth_url: &str, name: &str) -> Self {
        let mut hosts = Vec::new();
        for host in ["a", "b", "c"] {
            hosts.push(project.node(host).await);
        }
        let config = config(&project, auth_url, name);
        let registry = Registry::new();
        Self {
            octavia: Octavia::new(session(auth_url, name)),
            balancers: balancers(&config, &registry, open()),
            hosts,
            cluster: lab::unique("cluster"),
            login: (auth_url.to_owned(), name.to_owned()),
            config,
            registry,
            project,
            cloud: None,
            sim: None,
        }
    }

    /// Deletes everything that other scenarios need.
    pub async fn clean_up(&self) {
        for balancer in self.octavia.load_balancers().await.expect("a list") {
            self.octavia
                .delete_load_balancer_cascading(&balancer.id)
                .await
                .expect("deleted");
        }
        self.settled().await;
        self.project.clean_up().await;
    }

    /// The current case of the acceptance list; shown if it fails.
    #[expect(clippy::unused_self, reason = "reads as a part of the story")]
    pub fn row(&self, case: &str) {
        println!("{case}");
    }

    /// Makes the next change of a Service's load balancer end in `ERROR`.
    pub fn fail_next(&self, spec: &Spec) {
        let name = self.balancers.name(&spec.cluster, &spec.service);
        match &self.cloud {
            Some(cloud) => cloud.configure(|settings| settings.balancer_failures = 1),
            None => lab::openstack::OpenStack::shared()
                .fail_next_lb(&name)
                .expect("the lab"),
        }
    }

    /// Lets time pass.
    pub async fn advance(&self, time: Duration) {
        if self.cloud.is_none() {
            return tokio::time::sleep(time).await;
        }
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }

    /// The simulation.
    pub fn sim(&self) -> &Cloud {
        self.cloud.as_ref().expect("a simulation")
    }

    /// A manager with another configuration and without state.
    pub fn configure(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
        self.restart();
    }

    /// The manager restarts, without state.
    pub fn restart(&mut self) {
        self.registry = Registry::new();
        self.balancers = balancers(&self.config, &self.registry, open());
    }

    /// The manager reloads its configuration: another connection.
    pub fn reload(&self) {
        let context = context(self.balancers.metrics.clone(), open());
        let connection = Connection::new(self.config.clone(), &context, &LoginThrottles::default());
        self.balancers.live.replace(connection.expect("a connection"));
    }

    /// A manager that may not write.
    pub fn closed(&self) -> Balancers {
        balancers(&self.config, &Registry::new(), Arc::new(|| Err(Error::NotLeader)))
    }

    /// Another session of the project, as its user.
    pub fn session(&self) -> Session {
        session(&self.login.0, &self.login.1)
    }

    /// A Service of this name: 80/TCP and the first two hosts.
    pub fn service(&self, name: &str) -> Spec {
        Spec {
            cluster: self.cluster.clone(),
            service: ServiceRef {
                namespace: "default".into(),
                name: name.into(),
                uid: lab::unique("uid"),
            },
            ports: vec![port(Protocol::Tcp, 80)],
            source_ranges: vec!["0.0.0.0/0".parse().expect("a range")],
            families: vec![IpFamily::V4],
            hosts: self.hosts[..2].into(),
            ..Spec::default()
        }
    }

    /// One pass; its notes are written on the Service, as by the controller.
    pub async fn pass(&self, spec: &mut Spec) -> Result<Progress<Status>> {
        let Noted { answer, notes } = self.balancers.ensure(spec).await?;
        write(spec, notes);
        Ok(answer)
    }

    /// Passes until it is ready; waits for Octavia, not for the manager.
    pub async fn ensure(&self, spec: &mut Spec) -> Result<(Status, Vec<Event>)> {
        let mut warnings = Vec::new();
        for _ in 0..100 {
            let Noted { answer, notes } = self.balancers.ensure(spec).await?;
            warnings.extend(write(spec, notes));
            if let Progress::Done(status) = answer {
                spec.status = status.clone();
                return Ok((status, warnings));
            }
            self.settled().await;
        }
        panic!("never ready")
    }

    /// The address that the Service is reached by.
    pub async fn address(&self, spec: &mut Spec) -> String {
        let (status, _) = self.ensure(spec).await.expect("ready");
        status.ingress[0].ip.clone().expect("an address")
    }

    /// The reason why it does not become ready.
    pub async fn refused(&self, spec: &mut Spec) -> String {
        self.ensure(spec).await.expect_err("an error").report()
    }

    /// Passes over the hosts until they match.
    pub async fn update_hosts(&self, spec: &mut Spec) -> Result<()> {
        for _ in 0..100 {
            let Noted { answer, notes } = self.balancers.update_hosts(spec).await?;
            write(spec, notes);
            match answer {
                Progress::Done(_) => return Ok(()),
                Progress::Pending { .. } => self.settled().await,
            }
        }
        panic!("never ready")
    }

    /// Passes until it is deleted.
    pub async fn delete(&self, spec: &mut Spec) -> Result<()> {
        for _ in 0..100 {
            let Noted { answer, notes } = self.balancers.delete(spec).await?;
            write(spec, notes);
            match answer {
                Progress::Done(()) => return Ok(()),
                Progress::Pending { .. } => self.settled().await,
            }
        }
        panic!("never gone")
    }

    /// Waits until Octavia has completed its changes.
    pub async fn settled(&self) {
        for _ in 0..1000 {
            let all = self.octavia.load_balancers().await.expect("a list");
            let busy = |balancer: &LoadBalancer| {
                !matches!(balancer.provisioning_status, Provisioning::Active | Provisioning::Error)
            };
            if !all.iter().any(busy) {
                return;
            }
            tokio::time::sleep(self.pause()).await;
        }
        panic!("Octavia never settles")
    }

    /// The pause before the next poll: real services are slower if they are polled often.
    fn pause(&self) -> Duration {
        Duration::from_millis(if self.cloud.is_some() { 5 } else { 300 })
    }

    /// The load balancers of this name.
    pub async fn named(&self, name: &str) -> Vec<LoadBalancer> {
        self.octavia.load_balancers_named(name).await.expect("a list")
    }

    /// The one load balancer of a Service.
    pub async fn balancer(&self, spec: &Spec) -> LoadBalancer {
        let mut all = self.named(&self.balancers.name(&spec.cluster, &spec.service)).await;
        assert_eq!(all.len(), 1, "load balancers of {}", spec.service.name);
        all.remove(0)
    }

    /// Everything on a load balancer.
    pub async fn tree(&self, id: &str) -> Tree {
        let (lists, state, session) = (Lists::default(), State::default(), self.session());
        let observer = Observer {
            session: &session,
            octavia: &self.octavia,
            lists: &lists,
            state: &state,
        };
        let balancer = self
            .octavia
            .find::<LoadBalancer>(id)
            .await
            .expect("an answer")
            .expect("a load balancer");
        observer.tree(balancer).await.expect("a tree")
    }

    /// `TCP/80 TCP/443`: the listeners of a load balancer.
    pub async fn listeners(&self, id: &str) -> String {
        let mut listeners: Vec<_> = self
            .tree(id)
            .await
            .listeners
            .iter()
            .map(|one| format!("{}/{}", one.protocol, one.protocol_port))
            .collect();
        listeners.sort();
        listeners.join(" ")
    }

    /// The names of the members of all pools of a load balancer.
    pub async fn members(&self, id: &str) -> String {
        let tree = self.tree(id).await;
        let mut names: Vec<_> = tree
            .members
            .values()
            .flatten()
            .map(|member| member.name.clone())
            .collect();
        names.sort();
        names.join(" ")
    }

    /// The calls so far.
    pub fn calls(&self) -> Calls {
        let families = self.registry.gather();
        let requests = families
            .iter()
            .filter(|family| family.name() == "openstack_api_requests_total");
        let metrics = requests.flat_map(prometheus::proto::MetricFamily::get_metric);
        metrics
            .map(|metric| {
                (
                    metric.get_label()[0].value().to_owned(),
                    whole(metric.get_counter().get_value()),
                )
            })
            .collect()
    }

    /// The calls since then, as `name` or `name×count`, in alphabetical order.
    pub fn since(&self, before: &Calls) -> String {
        let made = self.calls().into_iter().filter_map(|(name, count)| {
            let count = count - before.get(&name).copied().unwrap_or_default();
            match count {
                0 => None,
                1 => Some(name),
                _ => Some(format!("{name}×{count}")),
            }
        });
        made.filter(|name| !name.starts_with("token"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Another client creates a load balancer.
    pub async fn create_outside(&self, name: &str, tags: &[&str]) -> LoadBalancer {
        let new = NewLoadBalancer {
            name: name.into(),
            provider: self.config.load_balancer.lb_provider.clone(),
            vip_subnet_id: Some(self.project.subnet.clone()),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Default::default()
        };
        let made: LoadBalancer = self.octavia.create(&new).await.expect("made");
        self.settled().await;
        made
    }

    /// Another client deletes a load balancer.
    pub async fn delete_outside(&self, id: &str) {
        let deleted = self.octavia.delete_load_balancer_cascading(id).await.expect("deleted");
        assert_eq!(deleted, Deleted::Now);
        self.settled().await;
    }
}

/// An error of the expected kind, as text.
pub(super) fn report(error: &Error) -> String {
    error.report()
}

/// A port of a Service; its node port is 30000 higher.
pub(super) fn port(protocol: Protocol, number: u16) -> cloud::Port {
    cloud::Port {
        name: format!("{}-{number}", protocol.as_str().to_lowercase()),
        protocol,
        port: number,
        node_port: Some(30_000 + number),
        app_protocol: None,
    }
}

/// Sets an annotation by its short name.
pub(super) fn annotate(spec: &mut Spec, name: &str, value: &str) {
    objects::annotate(spec, name, value);
}

/// The ID in the record of the Service.
pub(super) fn id(spec: &Spec) -> String {
    spec.annotations.get(key::LOAD_BALANCER_ID.key).expect("an ID").clone()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it counts")]
fn whole(count: f64) -> u64 {
    count as u64
}

fn write(spec: &mut Spec, notes: Notes) -> Vec<Event> {
    for (name, value) in notes.annotations {
        match value {
            Some(value) => spec.annotations.insert(name, value),
            None => spec.annotations.remove(&name),
        };
    }
    notes.events
}

fn open() -> Gate {
    Arc::new(|| Ok(()))
}

fn balancers(config: &Config, registry: &Registry, gate: Gate) -> Balancers {
    let http = cloud_http::Metrics::register(registry).expect("metrics");
    let metrics = Metrics::register(registry, http).expect("metrics");
    let context = context(metrics.clone(), gate);
    let connection = Connection::new(config.clone(), &context, &LoginThrottles::default()).expect("a connection");
    Balancers::new(Live::new(connection), metrics)
}

fn context(metrics: Metrics, gate: Gate) -> SessionContext {
    SessionContext {
        gate,
        metrics,
        user_agent: "test".to_owned(),
    }
}

/// Runs each of these scenarios on the simulation, and, with `--ignored`, on the real services.
macro_rules! scenarios {
    ($($name:ident)+) => {
        mod on_the_simulation {
            $(
                #[tokio::test]
                async fn $name() {
                    let mut fixture = $crate::load_balancers::tests::fixture::Fixture::simulated().await;
                    super::$name(&mut fixture).await;
                    assert_eq!(fixture.sim().unknown(), Vec::<String>::new());
                    assert_eq!(fixture.sim().unrecorded(), Vec::<String>::new());
                }
            )+
        }

        mod on_the_real_services {
            $(
                #[tokio::test]
                #[ignore = "takes the lab: make test-openstack runs it"]
                async fn $name() {
                    let mut fixture = $crate::load_balancers::tests::fixture::Fixture::real().await;
                    super::$name(&mut fixture).await;
                    fixture.clean_up().await;
                }
            )+
        }
    };
}

pub(super) use scenarios;
