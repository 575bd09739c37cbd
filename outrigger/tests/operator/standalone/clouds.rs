//! Two clouds in one cluster: the operator installs a manager for `OpenStack` and one for AWS. Their Pods run as processes, with the command line, the files, the variables
//! and the account that the operator gave them.

use super::cluster::{Cluster, definition};
use crate::{
    objects::{config_map, kind},
    process_fixture::{Launch, Manager, free_port, is_initialised},
    rights::Scenario,
};
use aws_sim::{Kind, Sim as Aws};
use base64::{Engine, prelude::BASE64_STANDARD};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use openstack_sim::{Cloud, Net, ServerSpec, Sim};
use serde_json::{Value, json};
use std::{fs, path::Path};

const LABEL: &str = "example.com/cloud";
const TYPE: &str = "service.beta.kubernetes.io/aws-load-balancer-type";

/// `OpenStack`, and what a manager for it needs.
struct OpenStack {
    cloud: Cloud,
    net: Net,
    sim: Sim,
}

impl OpenStack {
    async fn start() -> Self {
        let cloud = Cloud::new();
        Self {
            net: cloud.create_network("private", "10.0.0.0/16"),
            sim: Sim::start(&cloud).await.unwrap(),
            cloud,
        }
    }

    fn config(&self) -> String {
        let (url, public) = (self.sim.auth_url(), self.cloud.public_network().unwrap());
        format!(
            "[Global]\nauth-url={url}\nusername=demo\npassword=labpass\ntenant-name=demo\ndomain-id=default\nregion=RegionOne\n\
             [LoadBalancer]\nsubnet-id={}\nfloating-network-id={public}\n",
            self.net.subnet
        )
    }

    fn boot(&self, name: &str) {
        let mut spec = ServerSpec::new(name);
        spec.networks.push(self.net.clone());
        self.cloud.boot_as(spec);
    }

    fn balancers(&self) -> Vec<String> {
        let mut names: Vec<String> = self.cloud.load_balancers().into_iter().map(|one| one.name).collect();
        names.sort();
        names
    }
}

/// The private DNS name is that of the Node.
fn boot(aws: &Aws, name: &str) -> String {
    let boot = |account: &mut aws_sim::Account, now| account.boot_named(Some(name), "m5.large", now);
    aws.cloud().write(boot).id
}

/// How many load balancers AWS has, and the instances behind them.
fn behind(aws: &Aws) -> Vec<Vec<String>> {
    aws.cloud().read(|account| {
        let names = account.load_balancers(Kind::Network).into_iter();
        let found = names.filter_map(|name| account.load_balancer(Kind::Network, &name));
        found.map(|one| one.instances.into_iter().collect()).collect()
    })
}

fn credentials() -> String {
    let variables = Aws::environment().map(|(name, value)| format!("{}={value}\n", name.to_lowercase()));
    format!("[default]\n{}", variables[..2].concat())
}

/// The nodes and Services of one cloud.
fn scope(cloud: &str) -> Value {
    json!({"nodeSelector": {"matchLabels": {LABEL: cloud}}, "loadBalancerClasses": [format!("example.com/{cloud}")]})
}

fn aws_manager(port: u16, config: &str, scope: &Value) -> Value {
    json!({
        "provider": "aws", "securePort": port, "scope": scope, "cloudConfig": {"configMap": {"name": config}},
        "credentials": {"secret": {"name": "keys"}},
    })
}

/// Runs the Pod of a manager, as a kubelet would.
async fn run(world: &Cluster, name: &str) -> Manager {
    let pod = world.deployment(name).await.unwrap()["spec"]["template"]["spec"].clone();
    let (root, container) = (world.folder.path().join(name), &pod["containers"][0]);
    for mount in items(&container["volumeMounts"]) {
        let volume = items(&pod["volumes"]).find(|volume| volume["name"] == mount["name"]);
        write(world, volume.unwrap(), &root.join(&text(&mount["mountPath"])[1..])).await;
    }
    let moved = |value: &Value| text(value).replace("/etc/outrigger", &format!("{}/etc/outrigger", root.display()));
    let account = text(&pod["serviceAccountName"]);
    let user = format!("system:serviceaccount:{}:{account}", world.namespace);
    let kubeconfig = world.plane().kubeconfig_for(&user, &["system:serviceaccounts"]);
    let launch = Launch::new(world.folder.path());
    let launch = items(&container["args"]).fold(launch, |launch, arg| launch.arg(&moved(arg)));
    let launch = items(&container["env"]).fold(launch, |launch, one| {
        launch.env(&text(&one["name"]), &moved(&one["value"]))
    });
    let kubeconfig = kubeconfig.display();
    launch
        .flag(&format!("--kubeconfig={kubeconfig}"))
        .flag(&format!("--authentication-kubeconfig={kubeconfig}"))
        .flag(&format!("--authorization-kubeconfig={kubeconfig}"))
        .listen(free_port())
        .start()
}

/// Writes the files of a volume.
async fn write(world: &Cluster, volume: &Value, folder: &Path) {
    let (secret, map) = (&volume["secret"], &volume["configMap"]);
    let (resource, name, chosen) = if secret.is_object() {
        (kind("Secret"), text(&secret["secretName"]), &secret["items"])
    } else {
        (config_map(), text(&map["name"]), &map["items"])
    };
    let object = world.get(&resource, &world.namespace, &name).await;
    let data = object.unwrap_or_else(|| panic!("{} {name} does not exist", resource.kind))["data"].clone();
    fs::create_dir_all(folder).unwrap();
    for (key, value) in data.as_object().unwrap() {
        let item = items(chosen).find(|item| item["key"] == **key);
        let file = item.map_or_else(|| key.clone(), |item| text(&item["path"]));
        let value = text(value);
        let content = if secret.is_object() {
            BASE64_STANDARD.decode(value).unwrap()
        } else {
            value.into_bytes()
        };
        fs::write(folder.join(file), content).unwrap();
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn nodes(world: &Cluster) -> Api<Node> {
    Api::all(world.client.clone())
}

fn services(world: &Cluster) -> Api<Service> {
    Api::default_namespaced(world.client.clone())
}

async fn register(world: &Cluster, name: &str, cloud: &str) {
    let mut node = testkit::node::node(name, &format!("tainted ready:True {LABEL}={cloud}"));
    (node.metadata.uid, node.metadata.creation_timestamp) = (None, None);
    nodes(world).create(&PostParams::default(), &node).await.unwrap();
}

/// Waits until a Node is initialised, and returns its provider ID.
async fn initialised(world: &Cluster, manager: &Manager, name: &str) -> String {
    let look = async || {
        let node = nodes(world).get(name).await.unwrap();
        let id = node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
        let id = id.filter(|_| is_initialised(&node));
        id.ok_or_else(|| json!(node).to_string())
    };
    manager.until(&format!("Node {name} to be initialised"), look).await
}

async fn publish(world: &Cluster, name: &str, class: Option<&str>) {
    let spec = json!({"type": "LoadBalancer", "loadBalancerClass": class, "ports": [{"port": 80}]});
    let service = json!({"metadata": {"name": name, "annotations": {TYPE: "nlb"}}, "spec": spec});
    let service: Service = serde_json::from_value(service).unwrap();
    services(world).create(&PostParams::default(), &service).await.unwrap();
}

async fn ingress(world: &Cluster, name: &str) -> Value {
    let service = services(world).get(name).await.unwrap();
    json!(service.status)["loadBalancer"]["ingress"][0].clone()
}

/// Waits until a Service is reachable by an address or by a name, as its cloud has it.
async fn served(world: &Cluster, manager: &Manager, name: &str, by: &str) {
    let look = async || match ingress(world, name).await {
        ingress if ingress[by].is_string() => Ok(()),
        ingress => Err(ingress.to_string()),
    };
    manager.until(&format!("the {by} of Service {name}"), look).await;
}

async fn ended(world: &Cluster, manager: &Manager, name: &str) {
    services(world).delete(name, &DeleteParams::default()).await.unwrap();
    let look = async || match services(world).get_opt(name).await.unwrap() {
        None => Ok(()),
        Some(service) => Err(json!(service).to_string()),
    };
    manager.until(&format!("the end of Service {name}"), look).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openstack_and_aws_in_one_cluster() {
    let world = Cluster::with(definition()).await;
    let (openstack, aws) = (OpenStack::start().await, Aws::start().await.unwrap());
    world.config("west", &openstack.config()).await;
    world.config("east", &aws.cloud_conf("")).await;
    let keys = json!({"stringData": {"credentials": credentials()}});
    world.apply(&kind("Secret"), &world.namespace, "keys", keys).await;
    let spec = json!({
        "provider": "openstack", "clusterName": "lab", "scope": scope("west"), "cloudConfig": {"configMap": {"name": "west"}},
    });
    world.manager("west", spec).await;
    world.manager("east", aws_manager(10300, "east", &scope("east"))).await;
    world.grant().await;
    let operator = Scenario::start(&world);
    for name in ["west", "east"] {
        world.reports(&operator, name, &["Progressing=True RollingOut"]).await;
    }
    let (west, east) = (run(&world, "west").await, run(&world, "east").await);
    world.roll_out(9).await;
    for name in ["west", "east"] {
        let done = ["Available=True", "Progressing=False", "Degraded=False"];
        world.reports(&operator, name, &done).await;
    }

    // Each initialises its own nodes.
    openstack.boot("lab-west");
    let machine = boot(&aws, "lab-east");
    for (node, cloud) in [("lab-south", "south"), ("lab-west", "west"), ("lab-east", "east")] {
        register(&world, node, cloud).await;
    }
    let id = initialised(&world, &west, "lab-west").await;
    assert!(id.starts_with("openstack://"), "{id}");
    let id = initialised(&world, &east, "lab-east").await;
    assert!(id.starts_with("aws:///") && id.ends_with(&machine), "{id}");

    // Each serves its own Services, through its own nodes.
    for (name, class) in [("nobodys", None), ("west", Some("west")), ("east", Some("east"))] {
        let class = class.map(|class| format!("example.com/{class}"));
        publish(&world, name, class.as_deref()).await;
    }
    served(&world, &west, "west", "ip").await;
    served(&world, &east, "east", "hostname").await;
    assert_eq!(openstack.balancers(), ["kube_service_lab_default_west"]);
    assert_eq!(behind(&aws), [[machine]]);
    assert_eq!(ingress(&world, "nobodys").await, Value::Null);
    let south = nodes(&world).get("lab-south").await.unwrap();
    assert!(!is_initialised(&south), "no manager has its label");

    // A manager of either cloud for the same nodes and Services is refused.
    world.manager("third", aws_manager(10301, "east", &scope("west"))).await;
    let refused = ["Available=False ScopeOverlap", "Degraded=True ScopeOverlap"];
    let conditions = world.reports(&operator, "third", &refused).await;
    let conflict = "in conflict with CloudControllerManager \"west\"";
    assert!(conditions.contains(conflict), "{conditions}");
    assert!(world.deployment("third").await.is_none());
    world.unmanage("third").await;

    // One is removed while the other works.
    ended(&world, &east, "east").await;
    assert_eq!(behind(&aws), [[""; 0]; 0]);
    let mut removed = aws_manager(10300, "east", &scope("east"));
    removed["managementState"] = json!("Removed");
    world.manager("east", removed).await;
    world.removed(&operator, "east").await;
    east.signal("TERM");
    assert_eq!(east.exited().await.code, 0);
    let mark = aws.cloud().mark();
    publish(&world, "west-too", Some("example.com/west")).await;
    served(&world, &west, "west-too", "ip").await;
    openstack.boot("lab-west-too");
    register(&world, "lab-west-too", "west").await;
    initialised(&world, &west, "lab-west-too").await;
    let all = ["kube_service_lab_default_west", "kube_service_lab_default_west-too"];
    assert_eq!(openstack.balancers(), all);
    let left = nodes(&world).get("lab-east").await.unwrap();
    assert!(is_initialised(&left), "the nodes of the other cloud stay as they are");
    assert_eq!(aws.cloud().calls_since(mark).len(), 0);
    world
        .reports(&operator, "west", &["Available=True", "Degraded=False"])
        .await;
}
