//! A node runs pods, and leaves nothing behind. What our own image does on it: `outrigger/tests/node`.
//!
//! `make test-cluster` runs these as root.

#![expect(clippy::unwrap_used, reason = "it is a test")]

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use lab::{Cluster, assets, node::Options};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

const WITHIN: Duration = Duration::from_mins(4);

/// Two pods on a node that no cloud controller manager has been at, on the network of pods.
const DEPLOYMENT: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: pause, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: pause}}
  template:
    metadata: {labels: {app: pause}}
    spec:
      tolerations: [{key: node.cloudprovider.kubernetes.io/uninitialized, operator: Exists, effect: NoSchedule}]
      containers: [{name: pause, image: 'localhost/pause:lab', imagePullPolicy: Never}]
";

const STATIC: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: pause, namespace: kube-system}
spec: {hostNetwork: true, containers: [{name: pause, image: 'localhost/pause:lab', imagePullPolicy: Never}]}
";

fn apply(cluster: &Cluster, text: &str) {
    let mut kubectl = Command::new(assets::program("kubectl").unwrap())
        .arg("--kubeconfig")
        .arg(cluster.plane.kubeconfig())
        .args(["apply", "-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    kubectl.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(kubectl.wait().unwrap().success());
}

async fn until(what: &str, detail: impl Fn() -> String, mut done: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let in_time = tokio::time::timeout(WITHIN, waiting).await;
    assert!(in_time.is_ok(), "{what}: not in time\n{}", detail());
}

fn taints(node: &Node) -> Vec<String> {
    let taints = node
        .spec
        .as_ref()
        .and_then(|spec| spec.taints.clone())
        .unwrap_or_default();
    taints.into_iter().map(|taint| taint.key).collect()
}

#[tokio::test]
#[ignore = "needs root: make test-cluster"]
async fn a_node_runs_pods_and_leaves_nothing() {
    let labels = vec![("node-role.kubernetes.io/control-plane".to_owned(), String::new())];
    let cluster = Cluster::start(Options {
        labels,
        ..Options::default()
    })
    .unwrap();
    let nodes: Api<Node> = Api::all(cluster.plane.client());
    let node = nodes.get(cluster.node.name()).await.unwrap();
    assert!(taints(&node).contains(&"node.cloudprovider.kubernetes.io/uninitialized".to_owned()));
    assert!(
        node.metadata
            .labels
            .unwrap()
            .contains_key("node-role.kubernetes.io/control-plane")
    );

    cluster.node.run_static_pod("pause", STATIC).unwrap();
    apply(&cluster, DEPLOYMENT);
    let pods: Api<Pod> = Api::all(cluster.plane.client());
    let look = async || {
        let pods = pods.list(&ListParams::default()).await.unwrap().items;
        let status = pods.into_iter().filter_map(|pod| pod.status);
        let running = status.filter(|status| status.phase.as_deref() == Some("Running"));
        let mut ips: Vec<_> = running.filter_map(|status| status.pod_ip).collect();
        ips.retain(|ip| ip.starts_with("10.244.0."));
        ips.sort();
        ips.dedup();
        ips.len() == 2
    };
    until("two pods on the network of pods", || "no pods".to_owned(), look).await;
    let name = format!("pause-{}", cluster.node.name());
    let mirror: Api<Pod> = Api::namespaced(cluster.plane.client(), "kube-system");
    until(
        "the mirror pod",
        || "no pod".to_owned(),
        async || {
            let pod = mirror.get_opt(&name).await.unwrap().and_then(|pod| pod.status?.phase);
            pod.as_deref() == Some("Running")
        },
    )
    .await;
    leaves_nothing(cluster);
}

fn leaves_nothing(cluster: Cluster) {
    let folder = cluster.node.dir().to_owned();
    drop(cluster);
    assert_eq!(left(&folder), Vec::<String>::new());
}

/// What is still there of a node.
fn left(folder: &Path) -> Vec<String> {
    let text = folder.display().to_string();
    let mut left = Vec::new();
    if folder.exists() {
        left.push(text.clone());
    }
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    left.extend(mounts.lines().filter(|line| line.contains(&text)).map(str::to_owned));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
    left.extend(commands.filter(|command| command.contains(&format!("{text}/"))));
    let cgroup = format!("lab{}", text.replace('/', "-"));
    let mut find = Command::new("find");
    find.args(["/sys/fs/cgroup", "-maxdepth", "2", "-name", &cgroup]);
    let cgroups = String::from_utf8(find.output().unwrap().stdout).unwrap();
    left.extend(cgroups.lines().map(str::to_owned));
    left
}

#[tokio::test]
#[ignore = "needs root: make test-cluster"]
async fn a_killed_owner_leaves_nothing() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_lab"))
        .arg("kubelet")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stderr.take().unwrap()).lines().map(Result::unwrap);
    let manifests = lines
        .find_map(|line| line.strip_prefix("static pods ").map(PathBuf::from))
        .unwrap();
    let folder = manifests.parent().unwrap();
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: pause}\nspec: {containers: [{name: pause, image: 'localhost/pause:lab', \
               imagePullPolicy: Never}]}\n";
    std::fs::write(folder.join("pause.yaml"), pod).unwrap();
    std::fs::rename(folder.join("pause.yaml"), manifests.join("pause.yaml")).unwrap();
    let running = || std::fs::read_dir(folder.join("pods")).unwrap().count() > 0;
    until("a pod runs", || "no pod".to_owned(), async || running()).await;
    owner.kill().unwrap();
    owner.wait().unwrap();
    until(
        "all is gone",
        || left(folder).join("\n"),
        async || left(folder).is_empty(),
    )
    .await;
}
