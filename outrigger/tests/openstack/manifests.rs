//! The manifests and the chart of the Go program start ours unchanged, except for the image.
//!
//! Their image has no entrypoint, so the program is the first of the arguments; ours has one, [`Launch::new`]'s, which gets
//! all of them.

use crate::{
    fixture::{Fixture, PASSWORD},
    process_fixture::{self, Launch, Manager, free_port},
};
use rstest::rstest;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// `manifests/controller-manager/openstack-cloud-controller-manager-ds.yaml`
const DAEMON_SET: &[&str] = &[
    "/bin/openstack-cloud-controller-manager",
    "--v=1",
    "--cluster-name=$(CLUSTER_NAME)",
    "--cloud-config=$(CLOUD_CONFIG)",
    "--cloud-provider=openstack",
    "--use-service-account-credentials=false",
    "--bind-address=127.0.0.1",
];

/// `manifests/controller-manager/openstack-cloud-controller-manager-pod.yaml`
const STATIC_POD: &[&str] = &[
    "/bin/openstack-cloud-controller-manager",
    "--v=1",
    "--cluster-name=$(CLUSTER_NAME)",
    "--cloud-config=$(CLOUD_CONFIG)",
    "--cloud-provider=openstack",
    "--use-service-account-credentials=true",
    "--bind-address=127.0.0.1",
];

/// `charts/openstack-cloud-controller-manager`, with its values as they are.
const CHART: &[&str] = &[
    "/bin/openstack-cloud-controller-manager",
    "--v=2",
    "--cloud-config=$(CLOUD_CONFIG)",
    "--cluster-name=$(CLUSTER_NAME)",
    "--cloud-provider=openstack",
    "--use-service-account-credentials=false",
    "--controllers=cloud-node,cloud-node-lifecycle,route,service",
    "--bind-address=127.0.0.1",
];

/// The same with `serviceMonitor.enabled`.
const CHART_MONITORED: &[&str] = &[
    "/bin/openstack-cloud-controller-manager",
    "--v=2",
    "--cloud-config=$(CLOUD_CONFIG)",
    "--cluster-name=$(CLUSTER_NAME)",
    "--cloud-provider=openstack",
    "--use-service-account-credentials=false",
    "--controllers=cloud-node,cloud-node-lifecycle,route,service",
    "--bind-address=0.0.0.0",
];

/// Where the version of the Go program is pinned.
const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/occm");

/// A file of the Go program's module.
fn upstream(path: &str) -> String {
    let module = Command::new("go")
        .args(["mod", "download", "-json", "k8s.io/cloud-provider-openstack"])
        .current_dir(MODULE)
        .output()
        .unwrap();
    let module: Value = serde_json::from_slice(&module.stdout).unwrap();
    assert!(module["Dir"].is_string(), "{module}");
    let path = Path::new(module["Dir"].as_str().unwrap()).join(path);
    let text = fs::read_to_string(&path);
    assert!(text.is_ok(), "{}: {text:?}", path.display());
    text.unwrap()
}

/// The documents of a file of its module, and the items of their lists.
fn documents(path: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(&upstream(path)).unwrap();
    let listed = documents
        .iter()
        .filter_map(|document| document["items"].as_array())
        .flatten()
        .cloned();
    let listed: Vec<_> = listed.collect();
    documents.into_iter().chain(listed).collect()
}

/// What one of its cluster roles allows.
fn rules(role: &str) -> Value {
    let roles = documents("manifests/controller-manager/cloud-controller-manager-roles.yaml");
    let mut found = roles
        .into_iter()
        .filter(|it| it["kind"] == "ClusterRole" && it["metadata"]["name"] == role);
    found.next().unwrap()["rules"].take()
}

/// Our program under the name of the other.
pub fn program(fixture: &process_fixture::Fixture) -> PathBuf {
    let path = fixture.folder.path().join("openstack-cloud-controller-manager");
    symlink(env!("CARGO_BIN_EXE_outrigger"), &path).unwrap();
    path
}

/// With the permissions of our own manifest.
fn launch(fixture: &Fixture, args: &[&str]) -> Launch {
    launch_as(fixture, fixture.kubeconfig(), args)
}

/// The container's arguments, followed by the environment of a Pod, and by the flags that confine it to this fixture.
fn launch_as(fixture: &Fixture, kubeconfig: &Path, args: &[&str]) -> Launch {
    let config = fixture.configure(&format!("{}{}", fixture.global(PASSWORD), fixture.load_balancer("")));
    let cluster = &fixture.name;
    // The port is free on this address only: on 127.0.0.1 other programs may use it.
    let (kubeconfig, address) = (kubeconfig.display(), free_port());
    let own = Launch::new(fixture.folder.path());
    let args = args.iter().map(|arg| {
        arg.replace("$(CLOUD_CONFIG)", config.to_str().unwrap())
            .replace("$(CLUSTER_NAME)", cluster)
    });
    args.fold(own, |launch, arg| launch.arg(&arg))
        .arg(&format!("--kubeconfig={kubeconfig}"))
        .arg(&format!("--authentication-kubeconfig={kubeconfig}"))
        .arg(&format!("--authorization-kubeconfig={kubeconfig}"))
        .arg(&format!("--bind-address={}", address.ip()))
        .arg(&format!("--secure-port={}", address.port()))
        .arg(&format!("--leader-elect-resource-name={cluster}"))
        .arg(&format!("--node-selector={}={cluster}", process_fixture::LABEL))
        .arg(&format!("--load-balancer-class={cluster}"))
        .arg("--load-balancer-without-class=false")
}

/// With an account for each controller, which it creates as the manifest allows; these accounts have enough permissions.
async fn grant_accounts(fixture: &Fixture) {
    let rules = json!([
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["create", "get"]},
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]},
    ]);
    fixture.grant(&fixture.name, rules).await;
    for account in [
        "cloud-node-controller",
        "node-controller",
        "service-controller",
        "route-controller",
    ] {
        let user = format!("system:serviceaccount:kube-system:{account}");
        let rules = json!([{"apiGroups": [""], "verbs": ["*"],
                            "resources": ["nodes", "nodes/status", "services", "services/status", "events"]}]);
        fixture.grant(&user, rules).await;
    }
    let attributes = json!({"verb": "create", "resource": "serviceaccounts", "subresource": "token",
                            "namespace": "kube-system"});
    fixture
        .allowed(&fixture.name, &json!({"resourceAttributes": attributes}))
        .await;
}

/// The permissions that the manifests of occm grant to this kubeconfig, and nothing else.
async fn grant_as_upstream(fixture: &Fixture) -> PathBuf {
    let (user, kubeconfig) = fixture.stranger("swapped");
    fixture.grant(&user, rules("system:cloud-controller-manager")).await;
    let account = "system:serviceaccount:kube-system:cloud-node-controller";
    fixture.grant(account, rules("system:cloud-node-controller")).await;
    for (verb, group, resource, subresource) in [
        ("update", "coordination.k8s.io", "leases", ""),
        ("create", "", "serviceaccounts", "token"),
        ("watch", "", "services", ""),
    ] {
        let attributes = json!({"verb": verb, "group": group, "resource": resource, "subresource": subresource,
                                "namespace": "kube-system"});
        fixture.allowed(&user, &json!({"resourceAttributes": attributes})).await;
    }
    let attributes = json!({"verb": "patch", "resource": "nodes"});
    fixture
        .allowed(account, &json!({"resourceAttributes": attributes}))
        .await;
    kubeconfig
}

async fn works(fixture: &Fixture, manager: &Manager) {
    let (node, _) = fixture.join("node").await;
    fixture.initialised(manager, &node).await;
    fixture.serve(manager, "web").await;
}

#[rstest]
#[case::daemon_set(DAEMON_SET)]
#[case::static_pod(STATIC_POD)]
#[case::chart(CHART)]
#[case::chart_with_a_service_monitor(CHART_MONITORED)]
#[tokio::test]
async fn start_it(#[case] args: &[&str]) {
    let fixture = Fixture::new().await;
    grant_accounts(&fixture).await;
    let manager = launch(&fixture, args).start();
    works(&fixture, &manager).await;
    let log = manager.log();
    let errors: Vec<_> = log.lines().filter(|line| line.starts_with('E')).collect();
    assert_eq!(errors, [""; 0]);
}

/// The cluster role of occm does not grant what only Outrigger does, such as watching the lease.
#[rstest]
#[case::daemon_set(DAEMON_SET)]
#[case::static_pod(STATIC_POD)]
#[tokio::test]
async fn start_it_with_what_they_grant(#[case] args: &[&str]) {
    let fixture = Fixture::new().await;
    let kubeconfig = grant_as_upstream(&fixture).await;
    let leader = launch_as(&fixture, &kubeconfig, args).start();
    works(&fixture, &leader).await;
    let standby = launch_as(&fixture, &kubeconfig, args).start();
    leader.signal("TERM");
    assert_eq!(leader.exited().await.code, 0);
    fixture.serve(&standby, "later").await;
    for log in [leader.log(), standby.log()] {
        let errors: Vec<_> = log.lines().filter(|line| line.starts_with('E')).collect();
        assert_eq!(errors, [""; 0]);
    }
}

#[rstest]
#[case::daemon_set(
    "openstack-cloud-controller-manager-ds.yaml",
    "/spec/template/spec/containers",
    DAEMON_SET
)]
#[case::static_pod("openstack-cloud-controller-manager-pod.yaml", "/spec/containers", STATIC_POD)]
fn are_as_the_module_has_them(#[case] file: &str, #[case] containers: &str, #[case] args: &[&str]) {
    let documents = documents(&format!("manifests/controller-manager/{file}"));
    let containers: Vec<&Value> = documents
        .iter()
        .filter_map(|document| document.pointer(containers)?.as_array())
        .flatten()
        .collect();
    let [container] = containers[..] else {
        panic!("{containers:?}")
    };
    assert_eq!(container["args"], json!(args));
    assert_eq!(container["command"], Value::Null);
}

/// The commands of the documentation are for this DaemonSet.
#[test]
fn the_documentation_changes_the_image_of_the_daemon_set() {
    let documents = documents("manifests/controller-manager/openstack-cloud-controller-manager-ds.yaml");
    let daemon_set = documents
        .iter()
        .find(|document| document["kind"] == "DaemonSet")
        .unwrap();
    let text = |pointer: &str| daemon_set.pointer(pointer).and_then(Value::as_str).unwrap();
    let command = format!(
        "kubectl -n {} set image daemonset/{} \\\n    {}=",
        text("/metadata/namespace"),
        text("/metadata/name"),
        text("/spec/template/spec/containers/0/name")
    );
    let page = include_str!("../../../docs/replace-occm.md");
    for text in [&*command, text("/spec/template/spec/containers/0/image")] {
        assert!(page.contains(text), "{text}");
    }
}

/// The lines of its template under `args`, with its values filled in.
#[rstest]
#[case::as_it_is("--bind-address=0.0.0.0", CHART)]
#[case::with_a_service_monitor("--bind-address=127.0.0.1", CHART_MONITORED)]
fn chart_is_as_the_module_has_it(#[case] other_case: &str, #[case] args: &[&str]) {
    let chart = "charts/openstack-cloud-controller-manager";
    let mut values = documents(&format!("{chart}/values.yaml"));
    let controllers = values[0]["enabledControllers"].take();
    let controllers: Vec<_> = controllers
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let template = upstream(&format!("{chart}/templates/daemonset.yaml"));
    let (_, written) = template.split_once(" args:\n").unwrap();
    let (written, _) = written.split_once(".Values.controllerExtraArgs").unwrap();
    let lines = written.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let filled = lines.map(|line| match line.split_once("={{") {
        Some(("--v", _)) => format!("--v={}", values[0]["logVerbosityLevel"]),
        Some(("--controllers", _)) => format!("--controllers={}", controllers.join(",")),
        _ => line.to_owned(),
    });
    let filled: Vec<_> = filled.filter(|arg| arg != other_case).collect();
    assert_eq!(filled, args);
    assert!(!template.contains("command:\n"), "{template}");
}

// upstream: openstack 6
#[rstest]
#[case::none("none → empty", &[], "openstack-cloud-controller-manager/")]
#[case::one("one", &["--user-agent=a"], "a openstack-cloud-controller-manager/")]
#[case::two("two in order", &["--user-agent=a", "--user-agent=b"], "b a openstack-cloud-controller-manager/")]
#[case::space(
    "value with a space kept whole",
    &["--user-agent=a b", "--user-agent=c"],
    "c a b openstack-cloud-controller-manager/"
)]
#[tokio::test]
async fn user_agent(#[case] input: &str, #[case] args: &[&str], #[case] expected: &str) {
    let fixture = Fixture::new().await;
    let launch = args
        .iter()
        .fold(launch(&fixture, DAEMON_SET), |launch, arg| launch.arg(arg));
    let manager = launch.start();
    fixture
        .cloud_until("a call", &manager, |cloud| !cloud.calls().is_empty())
        .await;
    let agent = fixture.cloud.calls().remove(0).details.agent.unwrap();
    assert!(agent.starts_with(expected), "{input}: {agent}");
}

// upstream: openstack 6
#[rstest]
#[case::words(
    "`--user-agent=a b` as two argv → only \"a\"",
    &["--user-agent=a", "b"],
    "\"openstack-cloud-controller-manager\" does not take any arguments, got \"b\""
)]
#[case::nothing("flag without value → parse error", &["--user-agent"], "flag needs an argument: --user-agent")]
#[tokio::test]
async fn user_agent_that_is_none(#[case] input: &str, #[case] args: &[&str], #[case] expected: &str) {
    let fixture = Fixture::new().await;
    let launch = args
        .iter()
        .fold(launch(&fixture, DAEMON_SET), |launch, arg| launch.arg(arg));
    let exit = launch.start().exited().await;
    assert_eq!((exit.code, exit.stderr), (1, format!("Error: {expected}\n")), "{input}");
}
