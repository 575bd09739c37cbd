//! What cannot be read is named, and the rest is reported.

use crate::{
    cluster::{Cluster, line},
    fixture::{Exit, run},
};
use rstest::rstest;

fn fails(exit: &Exit, sentence: &str) {
    assert_eq!(exit.code, 1, "{exit:#?}");
    assert!(exit.sentence().starts_with(sentence), "{exit:#?}");
}

#[tokio::test]
async fn a_user_without_rights() {
    let cluster = Cluster::served().await;
    let (user, kubeconfig) = cluster.fixture.stranger("reader");
    let check = cluster
        .migrate("check")
        .flag(&format!("--kubeconfig={}", kubeconfig.display()));
    let exit = check.start().exited().await;
    assert_eq!(exit.code, 3, "{exit:#?}");
    assert!(line(&exit, "kube-apiserver", "version").starts_with("ok "));
    let nodes = line(&exit, "nodes", "could not be read");
    assert!(nodes.starts_with("blocker ") && nodes.contains(&user), "{nodes}");
    line(&exit, "pods in kube-system", "could not be read");
    line(&exit, "the rights of controller managers", "could not be read");
}

/// Flags that the API does not have are requested, and never guessed.
#[tokio::test]
async fn flags_that_cannot_be_read() {
    let cluster = Cluster::served().await;
    let plan = cluster.migrate("plan").without("--flags").start().exited().await;
    let missing = format!(
        "the flags of kube-apiserver, kube-controller-manager, kubelet on {} are not known",
        cluster.node
    );
    fails(&plan, &missing);
    let check = cluster.migrate("check").without("--flags").start().exited().await;
    assert_eq!(check.code, 3, "{check:#?}");
    assert!(line(&check, "kubelet", "are not known").starts_with("blocker "));
}

#[tokio::test]
async fn the_cloud_is_down() {
    let cluster = Cluster::served().await;
    cluster.in_tree().await;
    let config = cluster
        .fixture
        .folder
        .write("down.yaml", "endpoint: http://127.0.0.1:1\n");
    let check = cluster.migrate("check").arg("--cloud-provider=memory");
    let exit = check
        .arg(&format!("--cloud-config={}", config.display()))
        .start()
        .exited()
        .await;
    assert_eq!(exit.code, 3, "{exit:#?}");
    assert!(line(&exit, "kube-controller-manager on m1", "--cloud-provider=openstack").starts_with("ok "));
    let (node, service) = (
        format!("Node {}", cluster.node),
        format!("Service default/{}", cluster.service),
    );
    assert!(line(&exit, &node, "its instance is not known").starts_with("blocker "));
    assert!(line(&exit, &service, "its load balancer is not known").starts_with("blocker "));
}

#[rstest]
#[case::no_file("--flags=kubelet", "--flags=kubelet is not PROGRAM=FILE")]
#[case::no_program("--flags=kubectl=/x", "--flags=kubectl=/x is not PROGRAM=FILE")]
#[case::no_node("--flags=kubelet@=/x", "--flags=kubelet@=/x is not PROGRAM=FILE")]
#[case::missing(
    "--flags=kubelet=/nonexistent",
    "cannot read the file of --flags=kubelet=/nonexistent: No such file"
)]
#[case::no_objects("--objects=/nonexistent", "cannot read --objects=/nonexistent: No such file")]
#[case::no_kubeconfig("--kubeconfig=/nonexistent", "cannot read --kubeconfig=/nonexistent")]
fn bad_command_lines(#[case] flag: &str, #[case] sentence: &str) {
    fails(&run(&["migrate", "check", flag]), sentence);
}
