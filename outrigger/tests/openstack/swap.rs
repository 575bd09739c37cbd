//! The swap: one image changes. What the Go program made stays as it is when ours takes over, under the same command line,
//! and again when the Go program comes back.

use crate::{
    manifests,
    rig::{Launch, Manager, Rig},
    stage::{PASSWORD, Stage, annotation, told},
};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{Api, ResourceExt, api::ListParams};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use testkit::service::{Builder, load_balancer, port};

/// Both programs look at everything once when they start; after so much silence they have.
const SILENCE: Duration = Duration::from_secs(5);
/// The one whose load balancer another one shares.
const HOST: &str = "plain";

struct Programs {
    theirs: PathBuf,
    ours: PathBuf,
    launch: Launch,
}

impl Programs {
    fn new(stage: &Stage, theirs: PathBuf) -> Self {
        let ours = manifests::program(stage);
        let config = stage.load_balancer("manage-security-groups=true\ncreate-monitor=true\nmonitor-delay=7s");
        let routes = format!("[Route]\nrouter-id={}\n", stage.net.router);
        let config = stage.configure(&format!("{}{config}{routes}", stage.global(PASSWORD)));
        let launch = Launch::new(stage.folder.path())
            .flag("--v=4")
            .flag("--cloud-provider=openstack")
            .flag(&format!("--cloud-config={}", config.display()))
            .flag(&format!("--kubeconfig={}", stage.plane().kubeconfig().display()))
            .flag(&format!("--cluster-name={}", stage.name))
            .flag("--use-service-account-credentials=false")
            .flag("--cluster-cidr=10.244.0.0/16")
            .flag("--leader-elect=false")
            .flag("--secure-port=0");
        Self { theirs, ours, launch }
    }

    fn start(&self, program: &Path) -> Manager {
        self.launch.clone().program(program).start()
    }
}

/// One Service for each thing that a user can ask for.
fn services() -> Vec<Builder> {
    let noted = |name: &str, notes: &[(&str, &str)]| {
        notes.iter().fold(load_balancer(name), |service, (key, value)| {
            service.annotation(&format!("loadbalancer.openstack.org/{key}"), value)
        })
    };
    let internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";
    vec![
        load_balancer(HOST),
        load_balancer("internal").annotation(internal, "true"),
        load_balancer("ports").ports(["TCP", "UDP"].map(|protocol| named(protocol, 53))),
        load_balancer("ranges").source_ranges(["10.1.0.0/16", "192.0.2.0/24"]),
        load_balancer("local").traffic_policy("Local"),
        noted("proxy", &[("proxy-protocol", "true")]),
        noted("forwarded", &[("x-forwarded-for", "true")]),
        noted("kept", &[("keep-floatingip", "true"), ("connection-limit", "77")]),
        noted("unwatched", &[("enable-health-monitor", "false")]),
        noted(
            "watched",
            &[("health-monitor-delay", "9"), ("health-monitor-max-retries", "4")],
        ),
        noted(
            "timely",
            &[
                ("timeout-client-data", "61000"),
                ("timeout-member-connect", "4000"),
                ("timeout-tcp-inspect", "10"),
            ],
        ),
        noted("named", &[("hostname", "named.example.com")]),
    ]
}

fn named(protocol: &str, number: i32) -> k8s_openapi::api::core::v1::ServicePort {
    let mut port = port(protocol, number);
    port.name = Some(format!("{}-{number}", protocol.to_lowercase()));
    port
}

/// All Services and Nodes, without what the API server counts, who wrote what, and the notes that are ours alone.
async fn objects(rig: &Rig) -> Vec<Value> {
    let services: Api<Service> = rig.services();
    let nodes: Api<Node> = rig.nodes();
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

/// Waits until a Service has an address or a name.
async fn served(stage: &Stage, manager: &Manager, name: &str) {
    let services = stage.services();
    let look = async || {
        let service = json!(services.get(name).await.unwrap());
        let ingress = service["status"]["loadBalancer"]["ingress"].is_array();
        ingress.then_some(()).ok_or_else(|| service.to_string())
    };
    manager.until(&format!("Service {name} to be served"), look).await;
}

/// Waits until the program asks the cloud for nothing more.
async fn looked_at_all(stage: &Stage, manager: &Manager) {
    loop {
        let before = stage.cloud.mark();
        tokio::time::sleep(SILENCE).await;
        assert!(manager.ended().is_none(), "it ended{}", manager.told());
        if stage.cloud.calls_since(before).is_empty() {
            return;
        }
    }
}

/// Another program takes over, and moves nothing.
async fn takes_over(stage: &Stage, programs: &Programs, from: Manager, to: &Path) -> Manager {
    looked_at_all(stage, &from).await;
    from.signal("TERM");
    from.exited().await;
    let (before, mark) = (objects(stage).await, stage.cloud.mark());
    let manager = programs.start(to);
    stage
        .cloud_until("the first look", &manager, |cloud| !cloud.calls_since(mark).is_empty())
        .await;
    looked_at_all(stage, &manager).await;
    let changes = told(&stage.cloud.writes_since(mark));
    assert_eq!(changes, [""; 0], "{} changed the cloud{}", to.display(), manager.told());
    let after = objects(stage).await;
    assert_eq!(before.len(), after.len(), "{} made or deleted one", to.display());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after, "{} changed an object", to.display());
    }
    manager
}

#[tokio::test]
async fn nothing_moves_when_the_program_is_swapped_nor_on_the_way_back() {
    let theirs = tokio::task::spawn_blocking(lab::peer::occm).await.unwrap().unwrap();
    let stage = Stage::private().await;
    let programs = Programs::new(&stage, theirs);
    let manager = programs.start(&programs.theirs);
    for n in 0..3 {
        stage.boot(&format!("node-{n}"));
        let words = format!("tainted ready:True cidr:10.244.{n}.0/24");
        let node = stage.register(&format!("node-{n}"), &words).await;
        stage.initialised(&manager, &node).await;
    }
    let has_routes = |cloud: &openstack_sim::Cloud| cloud.routes(stage.net.router).len() == 3;
    stage.cloud_until("three routes", &manager, has_routes).await;
    for service in services() {
        stage.create(service).await;
    }
    let host = stage.served(&manager, HOST).await;
    let id = annotation(&host, "load-balancer-id").unwrap();
    let guest = load_balancer("guest").annotation("loadbalancer.openstack.org/load-balancer-id", &id);
    stage.create(guest.ports([port("TCP", 8080)])).await;
    let mut names: Vec<String> = services().into_iter().map(|it| it.build().name_any()).collect();
    names.push("guest".to_owned());
    for name in &names {
        served(&stage, &manager, name).await;
    }

    let manager = takes_over(&stage, &programs, manager, &programs.ours).await;
    // It can do with them what the other could.
    let (late, _) = stage.join("late").await;
    stage.initialised(&manager, &late).await;
    let has_late = |cloud: &openstack_sim::Cloud| {
        let listeners = cloud
            .load_balancers()
            .into_iter()
            .flat_map(|balancer| balancer.listeners);
        let mut pools = listeners.filter_map(|listener| listener.pool);
        pools.all(|pool| pool.members.iter().any(|member| member.name == late))
    };
    stage.cloud_until("the new member everywhere", &manager, has_late).await;
    stage.create(load_balancer("ours")).await;
    stage.served(&manager, "ours").await;
    stage.end(&manager, "guest").await;
    stage.end(&manager, "ranges").await;
    names.retain(|name| !["guest", "ranges"].contains(&name.as_str()));
    names.push("ours".to_owned());

    let manager = takes_over(&stage, &programs, manager, &programs.theirs).await;
    for name in &names {
        stage.end(&manager, name).await;
    }
    let kept = stage.cloud.floating_ips();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(stage.cloud.load_balancers(), []);
}
