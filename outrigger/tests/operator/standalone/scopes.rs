//! No two managers ever manage the same node: the claims of their Pods count, not only their specs.

use super::cluster::{Cluster, scope};
use crate::{
    objects::{deployment, kind},
    process_fixture::Manager,
};
use kube::api::DeleteParams;
use serde_json::{Value, json};

fn spec(port: u16, scope: &Value) -> Value {
    json!({"provider": "memory", "securePort": port, "scope": scope})
}

/// A scope with the nodes of a zone, and Services of its own.
fn at(zone: &str, class: &str) -> Value {
    json!({"nodeSelector": {"matchLabels": {"zone": zone}}, "loadBalancerClasses": [class]})
}

/// Waits until the objects of these managers are written, lets their Pods run, and waits until that is reported.
async fn run(world: &Cluster, operator: &Manager, names: &[&str]) {
    for name in names {
        world.reports(operator, name, &["Progressing=True RollingOut"]).await;
    }
    world.roll_out(9).await;
    for name in names {
        let done = ["Available=True", "Progressing=False", "Degraded=False"];
        world.reports(operator, name, &done).await;
    }
}

/// Waits until the operator has observed the last change of a manager.
async fn seen(world: &Cluster, operator: &Manager, name: &str) {
    let look = async || {
        let manager = world.resource(name).await;
        let (seen, last) = (
            &manager["status"]["observedGeneration"],
            &manager["metadata"]["generation"],
        );
        if seen == last {
            Ok(())
        } else {
            Err(format!("{seen} of {last}"))
        }
    };
    operator.until(&format!("the last change of {name}"), look).await;
}

/// The node selector of a manager's Pods.
async fn selector(world: &Cluster, name: &str) -> String {
    let live = world.deployment(name).await.unwrap();
    let args = live["spec"]["template"]["spec"]["containers"][0]["args"]
        .as_array()
        .cloned();
    let args = args.unwrap().into_iter();
    let text = args.map(|arg| arg.as_str().unwrap().to_owned());
    text.filter(|arg| arg.starts_with("--node-selector=")).collect()
}

/// A manager whose change was refused keeps its nodes, and one whose scope changes keeps the previous one until its Pods are replaced.
#[tokio::test]
async fn a_scope_is_free_when_no_pod_uses_it() {
    let world = Cluster::new().await;
    world.manager("a", spec(10300, &scope("west"))).await;
    world.manager("b", spec(10301, &scope("east"))).await;
    let operator = world.start();
    run(&world, &operator, &["a", "b"]).await;

    // All nodes: refused because of the other one, and its Pods keep their scope.
    let all = json!({"loadBalancerClasses": ["lab/west"]});
    world.manager("a", spec(10300, &all)).await;
    world.reports(&operator, "a", &["Degraded=True ScopeOverlap"]).await;
    assert_eq!(selector(&world, "a").await, "--node-selector=zone=west");
    world.manager("c", spec(10302, &at("west", "lab/c"))).await;
    let conditions = world.reports(&operator, "c", &["Degraded=True ScopeOverlap"]).await;
    let why = "in conflict with CloudControllerManager \"a\", whose Pods run with an earlier spec";
    assert!(conditions.contains(why), "{conditions}");

    // The state is not only in the operator's memory.
    operator.signal("KILL");
    operator.exited().await;
    let operator = world.operator().flag("--leader-elect=false").start();
    let mut louder = spec(10302, &at("west", "lab/c"));
    louder["logVerbosity"] = json!(1);
    world.manager("c", louder).await;
    seen(&world, &operator, "c").await;
    world.reports(&operator, "c", &["Degraded=True ScopeOverlap"]).await;
    assert_eq!(world.related("c").await, [""; 0]);
    assert!(world.deployment("c").await.is_none());

    // Nodes without a manager: until the last Pod is replaced, the previous ones are not free.
    world.manager("a", spec(10300, &scope("north"))).await;
    world.reports(&operator, "a", &["Progressing=True RollingOut"]).await;
    world.settled().await;
    assert_eq!(selector(&world, "a").await, "--node-selector=zone=north");
    assert!(world.deployment("c").await.is_none());
    world.reports(&operator, "c", &["Degraded=True ScopeOverlap"]).await;
    world.roll_out(9).await;
    run(&world, &operator, &["c"]).await;
    assert_eq!(selector(&world, "c").await, "--node-selector=zone=west");
    world.reports(&operator, "a", &["Degraded=False"]).await;

    // The nodes of a removed manager are free as soon as its Pods do not exist any more.
    world.manager("d", spec(10303, &at("west", "lab/d"))).await;
    world.reports(&operator, "d", &["Degraded=True ScopeOverlap"]).await;
    let mut gone = spec(10302, &at("west", "lab/c"));
    gone["managementState"] = json!("Removed");
    world.manager("c", gone).await;
    let taken = async || {
        world.collect_garbage().await;
        world
            .deployment("d")
            .await
            .map(drop)
            .ok_or_else(|| "nothing runs".to_owned())
    };
    operator.until("the next one in its place", taken).await;
    assert!(world.deployment("c").await.is_none());
}

/// A change that is refused for another reason frees no nodes either.
#[tokio::test]
async fn a_refused_change_frees_nothing() {
    let world = Cluster::new().await;
    world.manager("a", spec(10300, &scope("west"))).await;
    let operator = world.start();
    run(&world, &operator, &["a"]).await;
    let mut wrong = spec(10300, &scope("north"));
    wrong["controllers"] = json!(["nobody"]);
    world.manager("a", wrong).await;
    world.reports(&operator, "a", &["Degraded=True InvalidSpec"]).await;
    world.manager("c", spec(10302, &at("west", "lab/c"))).await;
    world.reports(&operator, "c", &["Degraded=True ScopeOverlap"]).await;
    assert!(world.deployment("c").await.is_none());

    world.manager("a", spec(10300, &scope("north"))).await;
    run(&world, &operator, &["a"]).await;
    run(&world, &operator, &["c"]).await;
}

/// A Pod as the Deployment of a manager would create it.
async fn pod(world: &Cluster, manager: &str) {
    let live = world.deployment(manager).await.unwrap();
    let made = &live["spec"]["template"]["metadata"];
    let pod = json!({
        "metadata": {"labels": made["labels"], "annotations": made["annotations"]},
        "spec": {"containers": [{"name": "lab", "image": "registry.lab/outrigger:1"}], "automountServiceAccountToken": false},
    });
    world
        .apply(&pods(), &world.namespace, &format!("{manager}-1"), pod)
        .await;
}

fn pods() -> kube::api::ApiResource {
    kind("Pod")
}

/// Waits until a manager reports what it waits for, and checks that none of its Pods runs.
async fn waits(world: &Cluster, operator: &Manager, name: &str, what: &str) {
    let look = async || {
        let lines = world.conditions(name).await;
        let line = lines.iter().find(|line| line.starts_with("Progressing=True Retrying"));
        line.filter(|line| line.contains(what))
            .map(drop)
            .ok_or(format!("{lines:#?}"))
    };
    operator.until(what, look).await;
    assert!(world.deployment(name).await.is_none());
    assert_eq!(world.related(name).await, [""; 0]);
    world.reports(operator, name, &["Degraded=False"]).await;
}

/// The resource is deleted at once, and its Pods run until they have ended. A manager for the same nodes waits for the last of them, also after the operator was
/// killed; a manager for other nodes, and one of the same name, which has the same lock, does not wait.
#[tokio::test]
async fn a_deleted_manager_holds_its_scope_until_its_pods_have_ended() {
    let world = Cluster::new().await;
    world.manager("a", spec(10300, &scope("west"))).await;
    let operator = world.start();
    run(&world, &operator, &["a"]).await;
    pod(&world, "a").await;

    world.unmanage("a").await;
    world.manager("b", spec(10301, &at("west", "lab/b"))).await;
    world.manager("c", spec(10302, &scope("east"))).await;
    let left = |what: &str| format!("\"a\", of which {what} {}/a-", world.namespace);
    waits(&world, &operator, "b", &left("Deployment")).await;
    run(&world, &operator, &["c"]).await;

    let deployments = world.api(&deployment(), &world.namespace);
    let name = "a-cloud-controller-manager";
    deployments.delete(name, &DeleteParams::background()).await.unwrap();
    waits(&world, &operator, "b", &left("Pod")).await;
    operator.signal("KILL");
    operator.exited().await;
    let operator = world.operator().flag("--leader-elect=false").start();
    let mut louder = spec(10301, &at("west", "lab/b"));
    louder["logVerbosity"] = json!(1);
    world.manager("b", louder).await;
    seen(&world, &operator, "b").await;
    waits(&world, &operator, "b", &left("Pod")).await;

    let now = DeleteParams::default().grace_period(0);
    world.api(&pods(), &world.namespace).delete("a-1", &now).await.unwrap();
    run(&world, &operator, &["b"]).await;
    assert_eq!(selector(&world, "b").await, "--node-selector=zone=west");

    pod(&world, "b").await;
    world.unmanage("b").await;
    world.manager("b", spec(10301, &at("west", "lab/b"))).await;
    world.reports(&operator, "b", &["Progressing=True RollingOut"]).await;
}
