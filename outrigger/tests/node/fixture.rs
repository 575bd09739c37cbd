//! A cluster with a real node, and the commands of an administrator.

use kube::Client;
use lab::{Cluster, Patience, assets, node::Options};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    net::{IpAddr, UdpSocket},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use testkit::wait::STALLED_AFTER;

/// The name of the image in the documents.
pub const IMAGE: &str = "localhost/outrigger:dev";
/// The folder with the configuration of a node; the operands mount it.
pub const ETC: &str = "/etc/kubernetes";
const PAUSE: Duration = Duration::from_millis(100);

/// One control plane, one node.
pub struct Fixture {
    /// The cluster.
    pub cluster: Cluster,
    /// The node's address.
    pub ip: IpAddr,
    /// The client of an administrator.
    pub client: Client,
}

impl Fixture {
    /// Starts the cluster, with our image on the node.
    pub async fn start() -> Self {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let private = mounts.lines().any(|line| line.split(' ').nth(1) == Some(ETC));
        assert!(private, "{ETC} is the machine's own: run this by scripts/test-cluster");
        let ip = address();
        let start = move || {
            Cluster::start(Options {
                ip: Some(ip),
                ..Options::default()
            })
        };
        let cluster = tokio::task::spawn_blocking(start).await.unwrap().unwrap();
        let fixture = Self {
            client: cluster.plane.client(),
            cluster,
            ip,
        };
        fixture.import(IMAGE);
        fixture.give_role().await;
        fixture
    }

    /// Imports our image on the node under this name.
    pub fn import(&self, name: &str) {
        self.cluster.node.import_image(&archive(), name).unwrap();
    }

    /// Runs a command as an administrator in the project's folder, and returns its output.
    pub fn run(&self, command: &str) -> String {
        self.run_with(command, "")
    }

    /// The same, with this as its input.
    pub fn run_with(&self, command: &str, input: &str) -> String {
        let programs = assets::program("kubectl").unwrap();
        let path = format!(
            "{}:{}",
            programs.parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let mut child = Command::new("sh")
            .args(["-ec", command])
            .current_dir(root())
            .env("KUBECONFIG", self.cluster.plane.kubeconfig())
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let failed = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "$ {command}\n{stdout}{failed}{}",
            self.log_tail()
        );
        stdout
    }

    /// Applies objects.
    pub fn apply(&self, objects: &[Value]) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.run_with("kubectl apply --server-side --force-conflicts -f -", &list.to_string());
    }

    /// The object at a path of the API, if it exists.
    pub async fn find(&self, path: &str) -> Option<Value> {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        match self.client.request::<Value>(request).await {
            Ok(found) => Some(found),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// The objects of a list.
    pub async fn list(&self, path: &str) -> Vec<Value> {
        let list = self.find(path).await.unwrap_or_default();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Changes an object; the path may end with `/status`.
    pub async fn patch(&self, path: &str, patch: Value) {
        let request = http::Request::patch(path)
            .header("Content-Type", "application/merge-patch+json")
            .body(patch.to_string().into_bytes())
            .unwrap();
        let patched = self.client.request::<Value>(request).await;
        patched.unwrap_or_else(|error| panic!("cannot change {path}: {error}"));
    }

    /// Waits until `look` returns `Ok`; fails with its last `Err`, and the logs of the Pods.
    pub async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
        let mut patience = Patience::new(STALLED_AFTER);
        loop {
            let state = match look().await {
                Ok(found) => return found,
                Err(state) => state,
            };
            assert!(
                !patience.is_over(&state),
                "gave up waiting for {what}: {state}\n{}",
                self.log_tail()
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until a path has no object, or an empty list.
    pub async fn gone(&self, path: &str) {
        let look = async || match self.find(path).await {
            None => Ok(()),
            Some(found) if found["items"].as_array().is_some_and(Vec::is_empty) => Ok(()),
            Some(found) => Err(format!("{:#}", found["metadata"])),
        };
        self.until(&format!("the end of {path}"), look).await;
    }

    /// Waits for the one Pod of a namespace with these labels that runs this image and is ready.
    pub async fn pod(&self, namespace: &str, labels: &str, image: &str) -> Value {
        let path = format!("/api/v1/namespaces/{namespace}/pods?labelSelector={labels}");
        let look = async || {
            let pods = self.list(&path).await;
            let state = pods.iter().map(|pod| format!("{}", pod["status"])).collect::<Vec<_>>();
            match <[Value; 1]>::try_from(pods) {
                Ok([pod]) if is_ready(&pod) && pod["spec"]["containers"][0]["image"] == image => Ok(pod),
                _ => Err(state.join("\n")),
            }
        };
        self.until(&format!("the Pod {labels}"), look).await
    }

    /// The last lines of the logs of every Pod and of the kubelet, for a message.
    fn log_tail(&self) -> String {
        let mut text = String::new();
        let pods = self.cluster.node.dir().join("pods");
        for folder in fs::read_dir(pods).into_iter().flatten().flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            let words: Vec<_> = name.split('_').collect();
            let [namespace, pod, _] = words[..] else { continue };
            for container in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let container = container.file_name().to_string_lossy().into_owned();
                let log = self.cluster.node.pod_log(namespace, pod, &container);
                let _ = writeln!(text, "== {namespace}/{pod} {container}\n{}", tail(&log));
            }
        }
        let kubelet = fs::read_to_string(self.cluster.node.dir().join("kubelet.log")).unwrap_or_default();
        let _ = writeln!(text, "== kubelet\n{}", tail(&kubelet));
        text
    }
}

fn tail(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// The project's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Our image: the given one, or one of the program as it was built for the tests.
fn archive() -> PathBuf {
    if let Some(given) = std::env::var_os("OUTRIGGER_IMAGE").filter(|given| !given.is_empty()) {
        return given.into();
    }
    let archive = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outrigger-image.tar");
    lab::image::write_for_tests(Path::new(env!("CARGO_BIN_EXE_outrigger")), IMAGE, &archive).unwrap();
    archive
}

/// The address of this machine. No packet is sent.
fn address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("198.51.100.1:9").expect("a machine with a network");
    socket.local_addr().unwrap().ip()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let ready = |each: &Value| each["type"] == "Ready" && each["status"] == "True";
    conditions.is_some_and(|all| all.iter().any(ready)) && pod["metadata"]["deletionTimestamp"].is_null()
}

/// A condition of an object, as `True reason message`.
pub fn condition(object: &Value, type_: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|each| each["type"] == type_));
    let text = |key: &str| found.and_then(|each| each[key].as_str()).unwrap_or_default();
    format!("{} {} {}", text("status"), text("reason"), text("message"))
}

/// The paths of the related objects of an object; the operator does not delete namespaces.
pub fn related(object: &Value) -> Vec<String> {
    let all = object["status"]["relatedObjects"].as_array().into_iter().flatten();
    all.filter(|each| each["resource"] != "namespaces" && each["resource"] != "clusteroperators")
        .map(|each| {
            let text = |key: &str| each[key].as_str().unwrap_or_default();
            let group = match text("group") {
                "" => "/api/v1".to_owned(),
                group => format!("/apis/{group}/v1"),
            };
            let namespace = match text("namespace") {
                "" => String::new(),
                namespace => format!("/namespaces/{namespace}"),
            };
            format!("{group}{namespace}/{}/{}", text("resource"), text("name"))
        })
        .collect()
}
