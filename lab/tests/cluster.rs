//! A real kubelet runs our image, and the manager in it initialises the node it runs on.
//!
//! `make test-cluster` builds the image and runs these as root.

#![expect(clippy::unwrap_used, reason = "it is a test")]

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::Api;
use lab::{Cluster, assets, node::Options};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

const IMAGE: &str = "localhost/outrigger:lab";
const WITHIN: Duration = Duration::from_mins(1);

/// The manager as `OpenShift` starts it: by a script, through a shell that our image does not have.
const MANAGER: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: cloud-controller-manager, namespace: kube-system}
spec:
  selector: {matchLabels: {k8s-app: cloud-controller-manager}}
  template:
    metadata: {labels: {k8s-app: cloud-controller-manager}}
    spec:
      hostNetwork: true
      serviceAccountName: cloud-controller-manager
      priorityClassName: system-cluster-critical
      tolerations: [{key: node.cloudprovider.kubernetes.io/uninitialized, operator: Exists, effect: NoSchedule}]
      containers:
      - name: cloud-controller-manager
        image: localhost/outrigger:lab
        imagePullPolicy: Never
        securityContext: {runAsNonRoot: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        env: [{name: CLOUD, value: memory}]
        command:
        - /bin/bash
        - -c
        - |
          #!/bin/bash
          set -o allexport
          if [[ -f /etc/kubernetes/apiserver-url.env ]]; then
            source /etc/kubernetes/apiserver-url.env
          fi
          exec /bin/openstack-cloud-controller-manager \
            --cloud-provider=$(CLOUD) \
            --use-service-account-credentials=false \
            --configure-cloud-routes=false \
            --secure-port=0 \
            --v=2
";

fn image() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let archive =
        std::env::var_os("OUTRIGGER_IMAGE").map_or_else(|| root.join("target/outrigger-image.tar"), PathBuf::from);
    assert!(archive.exists(), "{} is missing: make image", archive.display());
    archive
}

/// Applies a manifest, `-` for this text.
fn apply(cluster: &Cluster, file: &str, text: &str) {
    let mut kubectl = Command::new(assets::program("kubectl").unwrap())
        .arg("--kubeconfig")
        .arg(cluster.plane.kubeconfig())
        .args(["apply", "-f", file])
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
#[ignore = "needs root and the image: make test-cluster"]
async fn our_image_initialises_the_node_it_runs_on() {
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

    cluster.node.import_image(&image(), IMAGE).unwrap();
    cluster
        .node
        .run_static_pod(
            "version",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: version, namespace: kube-system}\nspec:\n  restartPolicy: Never\n  \
             containers: [{name: outrigger, image: 'localhost/outrigger:lab', imagePullPolicy: Never, args: [version]}]\n",
        )
        .unwrap();
    let name = format!("version-{}", cluster.node.name());
    let said = || cluster.node.pod_log("kube-system", &name, "outrigger");
    until("the version", said, async || said().starts_with("Outrigger ")).await;
    let pods: Api<Pod> = Api::namespaced(cluster.plane.client(), "kube-system");
    until("the mirror pod", said, async || {
        let pod = pods.get_opt(&name).await.unwrap().and_then(|pod| pod.status?.phase);
        pod.as_deref() == Some("Succeeded")
    })
    .await;

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    apply(&cluster, root.join("deploy/manager/rbac.yaml").to_str().unwrap(), "");
    apply(&cluster, "-", MANAGER);
    let log = || {
        let folder = std::fs::read_dir(cluster.node.dir().join("pods")).unwrap().flatten();
        let names = folder.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let pods = names.filter_map(|name| name.strip_prefix("kube-system_")?.split('_').next().map(str::to_owned));
        let logs = pods.map(|pod| cluster.node.pod_log("kube-system", &pod, "cloud-controller-manager"));
        logs.collect::<String>()
    };
    until("the node is initialised", log, async || {
        let node = nodes.get(cluster.node.name()).await.unwrap();
        let provider = node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
        taints(&node).is_empty() && provider.is_some_and(|id| id.starts_with("memory://"))
    })
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
    let mut said = BufReader::new(owner.stderr.take().unwrap()).lines().map(Result::unwrap);
    let manifests = said
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
