//! The swap: one image changes. What occm created is not changed when Outrigger replaces it with the same command line, nor when occm
//! comes back.

mod comparison;
mod environment;
mod nodes;
mod placeholders;
mod services;

use crate::{
    fixture::{Fixture, annotation},
    manifests,
    process_fixture::{self, Launch, Manager},
};
use environment::{Environment, Real};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{Api, ResourceExt, api::ListParams};
use serde_json::{Value, json};
use services::{HOST, KEPT};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use testkit::service::{Builder, load_balancer, port};

/// Both programs reconcile everything once when they start; after this much silence they have.
const SILENCE: Duration = Duration::from_secs(5);
/// All Services and Nodes, without resource versions, managed fields, and the annotations of Outrigger.
async fn objects(base: &process_fixture::Fixture) -> Vec<Value> {
    let services: Api<Service> = base.services();
    let nodes: Api<Node> = base.nodes();
    let params = ListParams::default();
    let services = services
        .list(&params)
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|it| json!(it));
    let nodes = nodes.list(&params).await.unwrap().items.into_iter().map(|it| json!(it));
    let mut all: Vec<Value> = services.chain(nodes).collect();
    for object in &mut all {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
        if let Some(notes) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            notes.retain(|key, _| !key.starts_with("outrigger.dev/"));
        }
    }
    all
}

/// Only these, because all of them take minutes there.
const ON_REAL_SERVICES: [&str; 5] = [HOST, "internal", "ranges", KEPT, "watched"];

/// A program.
#[derive(Debug, Clone, Copy)]
enum Maker {
    Theirs,
    Ours,
}

/// A cluster with both programs.
struct Swap<G> {
    environment: G,
    theirs: PathBuf,
    ours: PathBuf,
    launch: Launch,
}

impl<G: Environment> Swap<G> {
    /// With more sections in the file of `--cloud-config`.
    async fn on(environment: G, more: &str) -> Self {
        let theirs = tokio::task::spawn_blocking(lab::peer::occm).await.unwrap().unwrap();
        let base = environment.base();
        let ours = manifests::program(base);
        let config = environment.config("manage-security-groups=true\ncreate-monitor=true\nmonitor-delay=7s");
        let config = base.folder.write("cloud.conf", &format!("{config}{more}"));
        // One Service at a time, as by default: with more of them occm loses groups of ports, which ours would put back.
        let launch = Launch::new(base.folder.path())
            .flag("--v=4")
            .flag("--cloud-provider=openstack")
            .flag(&format!("--cloud-config={}", config.display()))
            .flag(&format!("--kubeconfig={}", base.plane().kubeconfig().display()))
            .flag(&format!("--cluster-name={}", base.name))
            .flag(&format!("--user-agent={}", environment.agent()))
            .flag("--use-service-account-credentials=false")
            .flag("--cluster-cidr=10.244.0.0/16")
            .flag("--leader-elect=false")
            .flag("--secure-port=0");
        Self {
            environment,
            theirs,
            ours,
            launch,
        }
    }

    fn base(&self) -> &process_fixture::Fixture {
        self.environment.base()
    }

    fn program(&self, of: Maker) -> &Path {
        match of {
            Maker::Theirs => &self.theirs,
            Maker::Ours => &self.ours,
        }
    }

    fn start(&self, program: &Path) -> Manager {
        self.launch.clone().program(program).start()
    }

    /// A server starts, and its Node joins.
    async fn join(&self, manager: &Manager, name: &str, words: &str) -> String {
        self.environment.boot(name).await;
        let node = self.base().register(name, &format!("tainted ready:True {words}")).await;
        self.base().initialised(manager, &node).await;
        node
    }

    /// Waits until a Service has an address or a name.
    async fn served(&self, manager: &Manager, name: &str) -> Service {
        let services = self.base().services();
        let look = async || {
            let service = services.get(name).await.unwrap();
            let ingress = json!(service)["status"]["loadBalancer"]["ingress"].is_array();
            ingress
                .then(|| service.clone())
                .ok_or_else(|| json!(service).to_string())
        };
        manager.until(&format!("Service {name} to be served"), look).await
    }

    /// Waits until the program makes no more calls.
    async fn looked_at_all(&self, manager: &Manager) {
        loop {
            let before = self.environment.mark().await;
            tokio::time::sleep(SILENCE).await;
            assert!(manager.ended().is_none(), "it ended{}", manager.log_tail());
            if self.environment.asked_since(before).await == 0 {
                return;
            }
        }
    }

    /// Another program takes over, and changes nothing.
    async fn takes_over(&self, from: Manager, to: &Path) -> Manager {
        self.looked_at_all(&from).await;
        from.signal("TERM");
        from.exited().await;
        let (before, mark) = (objects(self.base()).await, self.environment.mark().await);
        let manager = self.start(to);
        let asked = async || match self.environment.asked_since(mark).await {
            0 => Err("nothing was asked".to_owned()),
            _ => Ok(()),
        };
        manager.until("the first look", asked).await;
        self.looked_at_all(&manager).await;
        let changes = self.environment.changes_since(mark).await;
        assert_eq!(
            changes,
            [""; 0],
            "{} changed the cloud{}",
            to.display(),
            manager.log_tail()
        );
        let after = objects(self.base()).await;
        assert_eq!(before.len(), after.len(), "{} made or deleted one", to.display());
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after, "{} changed an object", to.display());
        }
        manager
    }

    /// From one program to the other and back, with these Services.
    async fn run(self, services: Vec<Builder>) {
        let manager = self.start(&self.theirs);
        for n in 0..3 {
            let words = format!("cidr:10.244.{n}.0/24");
            self.join(&manager, &format!("node-{n}"), &words).await;
        }
        let routes = async || match self.environment.routes().await {
            3 => Ok(()),
            other => Err(format!("there are {other}")),
        };
        manager.until("three routes", routes).await;
        let mut names = Vec::new();
        for service in services {
            names.push(self.base().create(service).await.name_any());
        }
        let host = self.served(&manager, HOST).await;
        let id = annotation(&host, "load-balancer-id").unwrap();
        let guest = load_balancer("guest").annotation("loadbalancer.openstack.org/load-balancer-id", &id);
        self.base().create(guest.ports([port("TCP", 8080)])).await;
        names.push("guest".to_owned());
        for name in &names {
            self.served(&manager, name).await;
        }

        let manager = self.takes_over(manager, &self.ours).await;
        // It can manage the load balancers like the other one.
        let late = self.join(&manager, "late", "").await;
        let everywhere = async || {
            let pools = self.environment.pools().await;
            let has_late = |members: &Vec<String>| members.contains(&late);
            pools.iter().all(has_late).then_some(()).ok_or(format!("{pools:?}"))
        };
        manager.until("the new member everywhere", everywhere).await;
        self.base().create(load_balancer("ours")).await;
        self.served(&manager, "ours").await;
        self.base().end(&manager, "guest").await;
        self.base().end(&manager, "ranges").await;
        names.retain(|name| !["guest", "ranges"].contains(&name.as_str()));
        names.push("ours".to_owned());

        let manager = self.takes_over(manager, &self.theirs).await;
        for name in &names {
            self.base().end(&manager, name).await;
        }
        let kept = usize::from(names.iter().any(|name| name == KEPT));
        assert_eq!(self.environment.balancers_and_floating_ips().await, (0, kept));
    }
}

#[tokio::test]
async fn swapping_the_programs_in_both_directions_changes_nothing() {
    Swap::on(Fixture::private().await, "")
        .await
        .run(services::common())
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn nothing_changes_on_the_real_services() {
    let mut some = services::common();
    some.retain(|service| ON_REAL_SERVICES.contains(&service.clone().build().name_any().as_str()));
    Swap::on(Real::new().await, "").await.run(some).await;
}
