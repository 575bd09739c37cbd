//! The manifests and the chart of the Go program start ours as they are.

use crate::{
    rig::{Launch, Manager, free_port},
    stage::{PASSWORD, Stage},
};
use rstest::rstest;
use serde_json::json;
use std::{os::unix::fs::symlink, path::PathBuf};

/// `manifests/controller-manager/openstack-cloud-controller-manager-ds.yaml`
const DAEMON_SET: &[&str] = &[
    "--v=1",
    "--cluster-name=$(CLUSTER_NAME)",
    "--cloud-config=$(CLOUD_CONFIG)",
    "--cloud-provider=openstack",
    "--use-service-account-credentials=false",
    "--bind-address=127.0.0.1",
];

/// `manifests/controller-manager/openstack-cloud-controller-manager-pod.yaml`
const STATIC_POD: &[&str] = &[
    "--v=1",
    "--cluster-name=$(CLUSTER_NAME)",
    "--cloud-config=$(CLOUD_CONFIG)",
    "--cloud-provider=openstack",
    "--use-service-account-credentials=true",
    "--bind-address=127.0.0.1",
];

/// `charts/openstack-cloud-controller-manager`, with its values as they are.
const CHART: &[&str] = &[
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
    "--v=2",
    "--cloud-config=$(CLOUD_CONFIG)",
    "--cluster-name=$(CLUSTER_NAME)",
    "--cloud-provider=openstack",
    "--use-service-account-credentials=false",
    "--controllers=cloud-node,cloud-node-lifecycle,route,service",
    "--bind-address=0.0.0.0",
];

/// Our program under the name of the other.
pub fn program(stage: &Stage) -> PathBuf {
    let path = stage.folder.path().join("openstack-cloud-controller-manager");
    symlink(env!("CARGO_BIN_EXE_outrigger"), &path).unwrap();
    path
}

/// The container's arguments; what a pod finds around it, and what keeps it to this rig, comes after them.
fn launch(stage: &Stage, args: &[&str]) -> Launch {
    let config = stage.configure(&format!("{}{}", stage.global(PASSWORD), stage.load_balancer("")));
    let cluster = &stage.name;
    let (kubeconfig, port) = (stage.kubeconfig().display(), free_port().port());
    let own = Launch::new(stage.folder.path()).program(&program(stage));
    let args = args.iter().map(|arg| {
        arg.replace("$(CLOUD_CONFIG)", config.to_str().unwrap())
            .replace("$(CLUSTER_NAME)", cluster)
    });
    args.fold(own, |launch, arg| launch.arg(&arg))
        .arg(&format!("--kubeconfig={kubeconfig}"))
        .arg(&format!("--authentication-kubeconfig={kubeconfig}"))
        .arg(&format!("--authorization-kubeconfig={kubeconfig}"))
        .arg(&format!("--secure-port={port}"))
        .arg(&format!("--leader-elect-resource-name={cluster}"))
        .arg(&format!("--node-selector={}={cluster}", crate::rig::LABEL))
        .arg(&format!("--load-balancer-class={cluster}"))
        .arg("--load-balancer-without-class=false")
}

/// With its own account for each controller it makes them, as their manifest grants; and those may do what they need.
async fn grant_accounts(stage: &Stage) {
    let rules = json!([
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["create", "get"]},
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]},
    ]);
    stage.grant(&stage.name, rules).await;
    for account in [
        "cloud-node-controller",
        "node-controller",
        "service-controller",
        "route-controller",
    ] {
        let user = format!("system:serviceaccount:kube-system:{account}");
        let rules = json!([{"apiGroups": [""], "verbs": ["*"],
                            "resources": ["nodes", "nodes/status", "services", "services/status", "events"]}]);
        stage.grant(&user, rules).await;
    }
    let attributes = json!({"verb": "create", "resource": "serviceaccounts", "subresource": "token",
                            "namespace": "kube-system"});
    stage
        .allowed(&stage.name, &json!({"resourceAttributes": attributes}))
        .await;
}

async fn works(stage: &Stage, manager: &Manager) {
    let (node, _) = stage.join("node").await;
    stage.initialised(manager, &node).await;
    stage.serve(manager, "web").await;
}

#[rstest]
#[case::daemon_set(DAEMON_SET)]
#[case::static_pod(STATIC_POD)]
#[case::chart(CHART)]
#[case::chart_with_a_service_monitor(CHART_MONITORED)]
#[tokio::test]
async fn start_it(#[case] args: &[&str]) {
    let stage = Stage::new().await;
    grant_accounts(&stage).await;
    let manager = launch(&stage, args).start();
    works(&stage, &manager).await;
    let log = manager.log();
    let errors: Vec<_> = log.lines().filter(|line| line.starts_with('E')).collect();
    assert_eq!(errors, [""; 0]);
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
    let stage = Stage::new().await;
    let launch = args
        .iter()
        .fold(launch(&stage, DAEMON_SET), |launch, arg| launch.arg(arg));
    let manager = launch.start();
    stage
        .cloud_until("a call", &manager, |cloud| !cloud.calls().is_empty())
        .await;
    let agent = stage.cloud.calls().remove(0).agent.unwrap();
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
    let stage = Stage::new().await;
    let launch = args
        .iter()
        .fold(launch(&stage, DAEMON_SET), |launch, arg| launch.arg(arg));
    let exit = launch.start().exited().await;
    assert_eq!((exit.code, exit.stderr), (1, format!("Error: {expected}\n")), "{input}");
}
