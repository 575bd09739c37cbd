//! The lifecycle of a cluster, in phases that call every endpoint.

use crate::{
    fixture::{self, context_in, open},
    injection::Injection,
    snapshot::snapshot,
};
use cloud::{
    Address, AddressKind, Affinity, Answer, Detail, Host, Instance, IpFamily, LoadBalancers, NewRoute, NodeRef, Noted,
    Notes, Port, Progress, Protocol, Provider as _, ProviderId, Retry, Routes, ServiceRef, Spec, TrafficPolicy,
};
use futures::future::join_all;
use lab::Patience;
use openstack::{config::Config, provider::Provider};
use openstack_sim::{Cloud, Fault, Net, Provisioning, ServerSpec, ServerView, Sim, Uuid};
use prometheus::Registry;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

const CLUSTER: &str = "blue";

/// The longest time in which an attempt may fail for the same reason.
const STALLED_AFTER: Duration = Duration::from_mins(3);

/// Between two attempts; a requested delay is awaited separately.
const PAUSE: Duration = Duration::from_millis(20);

/// Requested addresses.
const ASKED: [&str; 2] = ["203.0.113.177", "203.0.113.178"];

/// The Services, in the order of the array that holds them.
const SERVICES: [&str; 5] = ["plain", "secret", "container", "asked", "inside"];
const PLAIN: usize = 0;
const SECRET: usize = 1;
const CONTAINER: usize = 2;
const ASKING: usize = 3;
const INSIDE: usize = 4;

/// A cluster, its cloud, and a snapshot after each phase.
pub struct Lifecycle {
    pub injection: Injection,
    pub phases: Vec<(&'static str, String)>,
    cloud: Cloud,
    net: Net,
    config: Config,
    provider: Provider,
    /// The registries of all processes so far: they have the calls.
    registries: Vec<Registry>,
    servers: Vec<ServerView>,
    /// The machines in the snapshot of the last phase.
    machines: Vec<Instance>,
    services: Vec<Spec>,
    _sim: Sim,
}

impl Lifecycle {
    /// A whole lifecycle under this injection.
    pub async fn run(injection: Injection) -> Self {
        let mut lifecycle = Self::start(injection).await;
        lifecycle.nodes_join().await;
        lifecycle.services_are_created().await;
        lifecycle.a_node_joins().await;
        lifecycle.ports_change().await;
        lifecycle.settings_change().await;
        lifecycle.one_setting_changes().await;
        lifecycle.a_balancer_breaks().await;
        lifecycle.members_go_one_by_one().await;
        lifecycle.everything_is_deleted().await;
        assert_eq!(lifecycle.cloud.unknown(), Vec::<String>::new());
        lifecycle
    }

    async fn start(injection: Injection) -> Self {
        let cloud = Cloud::new();
        // An old Nova does not send the names of flavors.
        cloud.configure(|settings| settings.nova_minor = 40);
        let net = cloud.create_network("private", "10.77.0.0/16");
        let sim = Sim::start(&cloud).await.expect("a port");
        // Only an administrator may choose the address of a floating IP, and fail a load balancer over.
        let mut config = fixture::config(&sim.auth_url(), "admin", "");
        // Without its version, so that it is discovered.
        let root = sim.auth_url();
        root.trim_end_matches("/v3").clone_into(&mut config.global.auth_url);
        config.router_id = Some(net.router.to_string());
        config.load_balancer.manage_security_groups = true;
        config.load_balancer.create_monitor = true;
        if injection.hangs() {
            config.request_timeout = Duration::from_millis(500);
        }
        let (provider, registry) = started(&config);
        Self {
            injection,
            phases: Vec::new(),
            cloud,
            net,
            config,
            provider,
            registries: vec![registry],
            servers: Vec::new(),
            machines: Vec::new(),
            services: Vec::new(),
            _sim: sim,
        }
    }

    /// The names of all calls in the metrics.
    pub fn called(&self) -> BTreeSet<String> {
        let families = self.registries.iter().flat_map(Registry::gather);
        let requests = families.filter(|family| family.name() == "openstack_api_requests_total");
        let label = |metric: &prometheus::proto::Metric| metric.get_label()[0].value().to_owned();
        requests
            .flat_map(|family| family.get_metric().iter().map(label).collect::<Vec<_>>())
            .collect()
    }

    fn begin(&mut self) {
        self.injection.begin(&self.cloud);
    }

    fn end(&mut self, phase: &'static str) {
        self.cloud.withdraw_all();
        let seen = snapshot(&self.cloud, &self.net, &self.machines, &self.services);
        self.phases.push((phase, seen));
    }

    async fn nodes_join(&mut self) {
        for name in ["node-0", "node-1"] {
            self.boot(name);
        }
        self.begin();
        self.describe().await;
        self.add_routes(&[0, 1]).await;
        self.end("nodes joined");
    }

    async fn services_are_created(&mut self) {
        self.services = SERVICES.map(service).into();
        let (secret, container) = (self.cloud.add_secret("tls"), self.cloud.add_container("tls"));
        annotate(
            &mut self.services[SECRET],
            "default-tls-container-ref",
            &format!("https://b/v1/secrets/{secret}"),
        );
        annotate(
            &mut self.services[CONTAINER],
            "default-tls-container-ref",
            &format!("https://b/v1/containers/{container}"),
        );
        self.services[ASKING].ip = Some(ASKED[0].to_owned());
        let internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";
        self.services[INSIDE].annotations.insert(internal.into(), "true".into());
        self.aim(&[0, 1]);
        self.begin();
        self.ensure().await;
        self.end("Services came");
    }

    /// Another client changes the port of a node at the same time.
    async fn a_node_joins(&mut self) {
        self.boot("node-2");
        self.aim(&[0, 1, 2]);
        self.begin();
        self.describe().await;
        self.add_routes(&[2]).await;
        self.cloud
            .inject(Fault::status(412).operation("port_update").skip(1).times(1));
        let balancers = self.balancers();
        let updates = self.services.iter().map(|spec| async move {
            patiently("the hosts", async || match balancers.update_hosts(spec).await {
                Ok(Noted {
                    answer: Progress::Done(_),
                    ..
                }) => Ok(()),
                other => Err(format!("{other:?}")),
            })
            .await;
        });
        join_all(updates).await;
        self.end("a node joined");
    }

    async fn ports_change(&mut self) {
        for spec in &mut self.services {
            spec.ports = vec![port(81), port(443)];
        }
        self.begin();
        self.ensure().await;
        self.end("ports changed");
    }

    async fn settings_change(&mut self) {
        let services = &mut self.services;
        annotate(&mut services[PLAIN], "lb-method", "LEAST_CONNECTIONS");
        annotate(&mut services[SECRET], "connection-limit", "5");
        services[SECRET].affinity = Affinity::ClientIp { timeout_seconds: 60 };
        annotate(&mut services[CONTAINER], "health-monitor-delay", "9");
        services[ASKING].ip = Some(ASKED[1].to_owned());
        annotate(&mut services[INSIDE], "enable-health-monitor", "false");
        annotate(&mut services[INSIDE], "load-balancer-tags", "billing");
        self.begin();
        self.ensure().await;
        self.end("settings changed");
    }

    /// One at a time is read by itself, not in lists.
    async fn one_setting_changes(&mut self) {
        // Several requests within this time are answered from one list.
        tokio::time::sleep(Duration::from_millis(2100)).await;
        annotate(&mut self.services[PLAIN], "health-monitor-timeout", "2");
        self.begin();
        let mut spec = self.services[PLAIN].clone();
        self.ensure_one(&mut spec).await;
        self.services[PLAIN] = spec;
        self.end("one setting changed");
    }

    /// One that was healthy is failed over, and does not stay in ERROR because that failed once.
    async fn a_balancer_breaks(&mut self) {
        let id = &self.services[PLAIN].annotations["loadbalancer.openstack.org/load-balancer-id"];
        let id: Uuid = id.parse().expect("an ID");
        self.cloud.set_load_balancer_status(id, Provisioning::Error);
        self.begin();
        self.ensure().await;
        self.end("a load balancer broke");
    }

    /// Another process, for a provider of load balancers that accepts one change at a time. A node leaves, another joins, and
    /// members get a monitor address.
    async fn members_go_one_by_one(&mut self) {
        self.config.load_balancer.provider_requires_serial_api_calls = true;
        self.config.load_balancer.cascade_delete = false;
        let (provider, registry) = started(&self.config);
        self.provider = provider;
        self.registries.push(registry);
        self.boot("node-3");
        self.aim(&[1, 2, 3]);
        self.services[PLAIN].traffic = TrafficPolicy::Local {
            health_check_port: Some(32_000),
        };
        self.begin();
        self.describe().await;
        self.add_routes(&[3]).await;
        self.ensure().await;
        self.end("members went one by one");
    }

    async fn everything_is_deleted(&mut self) {
        self.begin();
        let services = std::mem::take(&mut self.services);
        let balancers = self.balancers();
        let ends = services.into_iter().map(|mut spec| async move {
            patiently("the end of a Service", async || match balancers.delete(&spec).await {
                Ok(Noted { answer, notes }) => {
                    write(&mut spec, notes);
                    (answer == Progress::Done(()))
                        .then_some(())
                        .ok_or_else(|| format!("{answer:?}"))
                }
                Err(error) => Err(error.report()),
            })
            .await;
        });
        join_all(ends).await;
        let routes = self.routes();
        patiently("no routes", async || {
            let listed = routes.list(CLUSTER).await.map_err(|error| error.report())?;
            let answers = routes.delete(CLUSTER, &listed).await;
            all_done(answers)
        })
        .await;
        self.end("everything went");
        assert_eq!(self.cloud.load_balancers(), [], "a load balancer was left behind");
        assert_eq!(self.cloud.floating_ips(), [], "a floating IP was left behind");
        assert_eq!(self.cloud.routes(self.net.router), [], "a route was left behind");
    }

    fn boot(&mut self, name: &str) {
        let spec = ServerSpec {
            networks: vec![self.net.clone()],
            user: "admin".to_owned(),
            ..ServerSpec::new(name)
        };
        self.servers.push(self.cloud.boot_as(spec));
    }

    /// Describes all machines, by name and by ID, at once and one by one. None of them is ever reported as missing.
    async fn describe(&mut self) {
        let named: Vec<_> = self.servers.iter().map(|server| NodeRef::named(&server.name)).collect();
        let known: Vec<_> = self.servers.iter().map(node).collect();
        self.machines.clear();
        for (nodes, detail) in [
            (&known[..1], Detail::Liveness),
            (&known[..], Detail::Liveness),
            (&named[..1], Detail::Full),
            (&known[..1], Detail::Full),
            (&named[..], Detail::Full),
        ] {
            let described = self.described(nodes, detail).await;
            self.machines.extend(described);
        }
    }

    async fn described(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Instance> {
        patiently("the machines", async || {
            let answers = self.provider.instances().describe(nodes, detail).await;
            let is_doubted = |answer: &cloud::Result<Answer>| matches!(answer, Ok(Answer::Missing));
            assert!(!answers.iter().any(is_doubted), "a node would be deleted: {answers:?}");
            let found = answers.into_iter().map(|answer| match answer {
                Ok(Answer::Found(instance)) => Ok(*instance),
                Ok(other) => Err(format!("{other:?}")),
                Err(error) => Err(error.report()),
            });
            found.collect()
        })
        .await
    }

    async fn add_routes(&self, nodes: &[usize]) {
        let new: Vec<_> = nodes
            .iter()
            .map(|number| route(*number, &self.servers[*number]))
            .collect();
        let routes = self.routes();
        patiently("routes", async || {
            all_done(routes.create(CLUSTER, &new).await)?;
            routes.list(CLUSTER).await.map_err(|error| error.report())
        })
        .await;
    }

    /// Sets the hosts of all Services.
    fn aim(&mut self, nodes: &[usize]) {
        let hosts: Arc<[Arc<Host>]> = nodes
            .iter()
            .map(|number| Arc::new(host(&self.servers[*number])))
            .collect();
        for spec in &mut self.services {
            spec.hosts = Arc::clone(&hosts);
        }
    }

    async fn ensure(&mut self) {
        let mut services = std::mem::take(&mut self.services);
        join_all(services.iter_mut().map(|spec| self.ensure_one(spec))).await;
        self.services = services;
    }

    /// As in the controller: notes are written, and temporary failures are retried.
    async fn ensure_one(&self, spec: &mut Spec) {
        let balancers = self.balancers();
        let ready = patiently("a Service to be ready", async || match balancers.ensure(spec).await {
            Ok(Noted { answer, notes }) => {
                write(spec, notes);
                match answer {
                    Progress::Done(status) => Ok(status),
                    Progress::Pending { waiting_for, .. } => Err(waiting_for),
                }
            }
            Err(error) => {
                assert_ne!(error.retry(), Retry::Never, "{}", error.report());
                Err(error.report())
            }
        });
        spec.status = ready.await;
    }

    fn balancers(&self) -> &dyn LoadBalancers {
        self.provider.load_balancers().expect("load balancers")
    }

    fn routes(&self) -> &dyn Routes {
        self.provider.routes().expect("a router is configured")
    }
}

fn started(config: &Config) -> (Provider, Registry) {
    let registry = Registry::new();
    let provider = Provider::new(config.clone(), context_in(&registry, open()));
    (provider.expect("the configuration is good"), registry)
}

/// Retries until it succeeds.
async fn patiently<T>(what: &str, mut attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
    let mut patience = Patience::new(STALLED_AFTER);
    loop {
        match attempt().await {
            Ok(done) => return done,
            Err(why) => assert!(!patience.is_over(&why), "gave up waiting for {what}: {why}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn all_done(answers: Vec<cloud::Result<()>>) -> Result<(), String> {
    answers
        .into_iter()
        .try_for_each(|answer| answer.map_err(|error| error.report()))
}

fn write(spec: &mut Spec, notes: Notes) {
    for (name, value) in notes.annotations {
        match value {
            Some(value) => spec.annotations.insert(name, value),
            None => spec.annotations.remove(&name),
        };
    }
}

fn annotate(spec: &mut Spec, name: &str, value: &str) {
    let name = format!("loadbalancer.openstack.org/{name}");
    spec.annotations.insert(name, value.to_owned());
}

fn service(name: &str) -> Spec {
    Spec {
        cluster: CLUSTER.into(),
        service: ServiceRef {
            namespace: "default".into(),
            name: name.into(),
            uid: format!("uid-of-{name}"),
        },
        ports: vec![port(80)],
        source_ranges: vec!["0.0.0.0/0".parse().expect("a range")],
        families: vec![IpFamily::V4],
        ..Spec::default()
    }
}

fn port(number: u16) -> Port {
    Port {
        name: format!("tcp-{number}"),
        protocol: Protocol::Tcp,
        port: number,
        node_port: Some(30_000 + number),
        app_protocol: None,
    }
}

fn id(server: &ServerView) -> String {
    format!("openstack:///{}", server.id)
}

fn node(server: &ServerView) -> NodeRef {
    NodeRef::named(&server.name).with_provider_id(id(server))
}

fn addresses(server: &ServerView) -> Vec<Address> {
    vec![Address::new(AddressKind::InternalIP, server.addresses[0].to_string())]
}

fn host(server: &ServerView) -> Host {
    Host {
        name: server.name.clone(),
        provider_id: ProviderId::parse(id(server)),
        addresses: addresses(server),
        ..Host::default()
    }
}

fn route(number: usize, server: &ServerView) -> NewRoute {
    NewRoute {
        hint: format!("uid-{number}"),
        node: server.name.clone(),
        provider_id: ProviderId::parse(id(server)),
        addresses: addresses(server),
        destination: format!("10.244.{number}.0/24").parse().expect("a range"),
    }
}
