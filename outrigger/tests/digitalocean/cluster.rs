//! A cluster: its nodes, its Services, and the firewall in front of the nodes.

use crate::fixture::{Fixture, Launch, Manager, free_port, service_address};
use digitalocean_fake::{Cloud, Fake, REGION, TOKEN};
use fakecloud::{Server, Value};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use std::net::SocketAddr;
use testkit::service::node_port;

const ID: &str = "kubernetes.digitalocean.com/load-balancer-id";
const TYPE: &str = "service.beta.kubernetes.io/do-loadbalancer-type";

struct Cluster {
    fixture: Fixture,
    cloud: Cloud,
    server: Server,
    debug: SocketAddr,
    metrics: SocketAddr,
}

impl Cluster {
    async fn new() -> Self {
        let cloud = Cloud::new(Fake::default());
        Self {
            fixture: Fixture::private().await,
            server: Server::start(&cloud).await.unwrap(),
            cloud,
            debug: free_port(),
            metrics: free_port(),
        }
    }

    fn manager(&self) -> Launch {
        let variables = [
            ("DO_ACCESS_TOKEN", TOKEN),
            ("DO_OVERRIDE_URL", &self.server.url()),
            ("DO_CLUSTER_ID", "c1"),
            ("REGION", REGION),
            ("PUBLIC_ACCESS_FIREWALL_NAME", "nodes"),
            ("PUBLIC_ACCESS_FIREWALL_TAGS", "k8s:c1"),
            ("DEBUG_ADDR", &self.debug.to_string()),
            ("METRICS_ADDR", &self.metrics.to_string()),
        ];
        let launch = self
            .fixture
            .manager()
            .flag("--cloud-provider=digitalocean")
            .flag("--leader-elect=false")
            .flag("--node-monitor-period=500ms")
            .flag("--node-deletion-grace-period=0s")
            .flag("--authorization-always-allow-paths=/healthz,/readyz,/readyz/*,/livez,/metrics");
        variables
            .iter()
            .fold(launch, |launch, (name, value)| launch.env(name, value))
    }

    /// A Droplet boots and joins as a Node, which is initialised.
    async fn join(&self, manager: &Manager, name: &str) -> (Node, u64) {
        let full = self.fixture.named(name);
        let droplet = self.cloud.write(|fake, _| fake.boot(&full, &["k8s:c1"]));
        let name = self.fixture.register(name, "tainted ready:True").await;
        (self.fixture.initialised(manager, &name).await, droplet)
    }

    /// The inbound rules of the firewall: `tcp 80`, ….
    fn open_ports(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let firewalls = self.cloud.read(Fake::all_firewalls);
        let rules = firewalls
            .iter()
            .flat_map(|firewall| firewall["inbound_rules"].as_array().cloned().unwrap_or_default());
        rules
            .map(|rule| format!("{} {}", text(&rule["protocol"]), text(&rule["ports"])))
            .collect()
    }

    async fn opens(&self, manager: &Manager, expected: &[String]) {
        let look = async || match self.open_ports() {
            ports if ports == expected => Ok(()),
            ports => Err(format!("they are {ports:?}")),
        };
        manager.until(&format!("the open ports {expected:?}"), look).await;
    }
}

async fn get(address: SocketAddr, path: &str) -> String {
    let response = reqwest::get(format!("http://{address}{path}")).await.unwrap();
    response.text().await.unwrap()
}

fn addresses(node: &Node) -> Vec<String> {
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    addresses.map(|one| format!("{} {}", one.type_, one.address)).collect()
}

#[tokio::test]
async fn nodes_get_what_the_cloud_knows_and_are_deleted_with_their_droplets() {
    let cluster = Cluster::new().await;
    let manager = cluster.manager().start();
    manager.working().await;
    let (node, droplet) = cluster.join(&manager, "node").await;
    let id = node.spec.as_ref().unwrap().provider_id.as_deref();
    assert_eq!(id, Some(format!("digitalocean://{droplet}").as_str()));
    let kind = |kind: &str| if kind == "private" { "InternalIP" } else { "ExternalIP" };
    let ips = cluster.cloud.read(|fake| fake.addresses(droplet));
    let mut expected: Vec<String> = ips.iter().map(|(of, ip)| format!("{} {ip}", kind(of))).collect();
    expected.push(format!("Hostname {}", node.name_any()));
    let mut shown = addresses(&node);
    shown.sort_unstable();
    expected.sort_unstable();
    assert_eq!(shown, expected);
    for (label, value) in [
        ("node.kubernetes.io/instance-type", "s-1vcpu-2gb"),
        ("topology.kubernetes.io/region", REGION),
    ] {
        assert_eq!(node.labels().get(label).map(String::as_str), Some(value), "{label}");
    }
    assert_eq!(get(cluster.debug, "/healthz").await, "ok");
    cluster.cloud.write(|fake, _| fake.destroy(droplet));
    cluster.fixture.set_ready(&node.name_any(), "Unknown").await;
    cluster.fixture.node_gone(&manager, &node.name_any()).await;
    assert_eq!(cluster.cloud.unknown(), [""; 0]);
}

#[tokio::test]
async fn a_service_gets_a_tagged_load_balancer_and_its_ports_are_open() {
    let cluster = Cluster::new().await;
    let manager = cluster.manager().start();
    manager.working().await;
    cluster.join(&manager, "node").await;
    let name = cluster.fixture.create(cluster.fixture.balanced("web")).await.name_any();
    let service = cluster.fixture.served(&manager, &name).await;
    let balancers = cluster.cloud.read(Fake::all_load_balancers);
    let [balancer] = &balancers[..] else {
        panic!("{balancers:?}");
    };
    assert_eq!(service_address(&service).as_deref(), balancer["ip"].as_str());
    assert_eq!(balancer["tags"], fakecloud::json!(["k8s:c1"]));
    let service = cluster.fixture.services().get(&name).await.unwrap();
    assert_eq!(
        service.annotations().get(ID).map(String::as_str),
        balancer["id"].as_str()
    );
    assert_eq!(
        service.annotations().get(TYPE).map(String::as_str),
        Some("REGIONAL_NETWORK")
    );

    let other = cluster.fixture.create(node_port(&cluster.fixture.named("other"))).await;
    let port = other.spec.unwrap().ports.unwrap()[0].node_port.unwrap();
    let mut expected = vec!["tcp 10256".to_owned(), format!("tcp {port}"), "tcp 80".to_owned()];
    expected.sort_unstable();
    cluster.opens(&manager, &expected).await;
    let metrics = get(cluster.metrics, "/metrics").await;
    assert!(
        metrics.contains("firewall_resource_syncs_total{result=\"succeeded\"}"),
        "{metrics}"
    );

    cluster.fixture.delete_service(&name).await;
    cluster.fixture.service_gone(&manager, &name).await;
    assert_eq!(cluster.cloud.read(Fake::all_load_balancers), Vec::<Value>::new());
    cluster.opens(&manager, &[format!("tcp {port}")]).await;
    assert_eq!(cluster.cloud.unknown(), [""; 0]);
}

#[tokio::test]
async fn without_a_cluster_id_it_warns_and_serves() {
    let cluster = Cluster::new().await;
    let manager = cluster.manager().env("DO_CLUSTER_ID", "").start();
    manager.working().await;
    cluster.join(&manager, "node").await;
    let name = cluster.fixture.create(cluster.fixture.balanced("web")).await.name_any();
    cluster.fixture.served(&manager, &name).await;
    let balancers = cluster.cloud.read(Fake::all_load_balancers);
    assert_eq!(balancers[0]["tags"], fakecloud::json!([]));
    let log = manager.log();
    assert!(log.contains("no cluster ID was found"), "{log}");
}
