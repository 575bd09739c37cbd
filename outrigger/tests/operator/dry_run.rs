//! A dry run prints what would change, like `kubectl diff`, and changes nothing: on `OpenShift` and standalone.

use crate::{
    flavour::{Flavour, LAB, Managed},
    objects::deployment,
    process_fixture::{Exit, Launch, Mark},
    rights::{OPERANDS, as_itself, release},
    standalone::cluster::{Cluster, managers, scope},
    world::{World, infrastructure, kind, proxy},
};
use kube::api::ListParams;
use rstest::rstest;
use serde_json::{Value, json};

/// The other manager of a standalone cluster.
const WEST: &str = "west";

async fn preview(launch: Launch) -> Exit {
    launch.flag("--dry-run").start().exited().await
}

/// There are changes: these lines, and no line with any of the others.
fn shows(exit: &Exit, code: i32, expected: &[impl AsRef<str>], absent: &[&str]) {
    assert_eq!(exit.code, code, "{exit:#?}");
    for line in expected.iter().map(AsRef::as_ref) {
        let shown = exit.stdout.lines().any(|each| each == line);
        assert!(shown, "{line} is not in {}", exit.stdout);
    }
    for part in absent {
        assert!(!exit.stdout.contains(part), "{part} is in {}", exit.stdout);
    }
}

async fn events(world: &World) -> Vec<String> {
    let api = world.api(&kind("Event"), "");
    let all = api.list(&ListParams::default()).await.unwrap();
    let ours = all.into_iter().filter(|event| {
        let namespace = &event.data["involvedObject"]["namespace"];
        *namespace == world.namespace.as_str()
    });
    ours.map(|event| event.data["reason"].to_string()).collect()
}

/// Nothing was written except dry runs.
fn assert_only_tried(world: &Managed, mark: Mark) {
    let tries: &[&str] = match world {
        Managed::OpenShift(..) => &["patch ", "create "],
        Managed::Standalone(_) => &["patch "],
    };
    let mut writes = world.writes_since(mark);
    writes.retain(|write| !tries.iter().any(|verb| write.starts_with(verb)));
    assert!(writes.is_empty(), "{writes:?}");
}

/// The operator has neither created nor reported anything.
async fn assert_untouched(world: &Managed) {
    match world {
        Managed::OpenShift(world, _) => {
            assert_eq!(world.operands().await, [""; 0]);
            assert_eq!(world.cluster_operator().await, Value::Null);
        }
        Managed::Standalone(cluster) => {
            for name in [LAB, WEST] {
                assert!(cluster.deployment(name).await.is_none());
                assert_eq!(cluster.resource(name).await.get("status"), None);
            }
        }
    }
}

/// The spec of a manager that shares the cluster with another one.
fn spec(zone: &str, port: u16) -> Value {
    json!({"provider": "memory", "securePort": port, "scope": scope(zone)})
}

/// Installs everything, and ends the operator.
async fn install(world: &Managed) {
    let operator = world.operator().start();
    world.rolled_out(&operator).await;
    if let Managed::Standalone(cluster) = world {
        let look = async || cluster.is_rolled_out(WEST).await;
        operator.until("the other manager", look).await;
    }
    world.settled().await;
    operator.signal("TERM");
    operator.exited().await;
}

/// On `OpenShift` a user edits an operand; standalone one manager is changed, and the other one removed.
async fn change(world: &Managed) {
    match world {
        Managed::OpenShift(world, _) => {
            let edit = json!({"spec": {"replicas": 5}});
            let name = "aws-cloud-controller-manager";
            world.edit(&deployment(), &world.namespace, name, edit).await;
        }
        Managed::Standalone(cluster) => {
            let edit = async |name: &str, spec: Value| cluster.edit(&managers(), "", name, json!({"spec": spec})).await;
            edit(LAB, json!({"logVerbosity": 7})).await;
            edit(WEST, json!({"managementState": "Removed"})).await;
        }
    }
}

#[rstest]
#[case::openshift(
    Flavour::OpenShift("AWS"),
    &["+kind: Deployment", "+  name: aws-cloud-controller-manager", "+kind: Service"],
    &["-  replicas: 5", "+  replicas: 2"],
    &[],
)]
#[case::standalone(
    Flavour::Standalone,
    &["+kind: Deployment", "+  name: lab-cloud-controller-manager", "+  name: west-cloud-controller-manager", "+  tls.key: \"***\""],
    &["+        - --v=7", "-kind: Deployment", "-  name: west-cloud-controller-manager"],
    &["-  name: lab-cloud"],
)]
#[tokio::test]
async fn before_and_after_an_installation(
    #[case] flavour: Flavour,
    #[case] new: &[&str],
    #[case] changed: &[&str],
    #[case] kept: &[&str],
) {
    let world = flavour.cluster().await;
    if let Managed::Standalone(cluster) = &world {
        cluster.manager(LAB, spec("east", 10300)).await;
        cluster.manager(WEST, spec("west", 10301)).await;
    }
    let mark = world.mark();
    let exit = preview(world.operator()).await;
    shows(&exit, 1, new, &["PRIVATE KEY"]);
    assert!(exit.stdout.contains("--- LIVE/"), "{}", exit.stdout);
    assert_untouched(&world).await;
    assert_only_tried(&world, mark);

    install(&world).await;
    let exit = preview(world.operator()).await;
    assert_eq!((exit.code, exit.stdout.as_str()), (0, ""), "{exit:#?}");

    change(&world).await;
    let (before, mark) = (world.snapshot().await, world.mark());
    let exit = preview(world.operator()).await;
    shows(&exit, 1, changed, kept);
    assert_only_tried(&world, mark);
    assert_eq!(world.snapshot().await, before);
}

/// With the permissions of the release, before any object exists, also for bindings whose roles would be created by the same run. Missing
/// Secrets and feature gates cause no events.
#[tokio::test]
async fn before_the_first_install() {
    let world = World::in_namespace(OPERANDS).await;
    world.set_platform("None").await;
    // This grants the permissions; the operator itself has no other work, and ends before the dry run.
    let operator = release(&world, |_| {}).await;
    operator.signal("TERM");
    operator.exited().await;
    let before = events(&world).await;
    world.set_platform("VSphere").await;
    let exit = preview(world.common(world.operator()).flag(&as_itself(&world))).await;
    let kinds = ["Deployment", "Role", "RoleBinding", "ClusterRoleBinding"];
    shows(&exit, 1, &kinds.map(|kind| format!("+kind: {kind}")), &[]);
    assert_eq!(events(&world).await, before);
    let name = "vsphere-cloud-controller-manager";
    assert_eq!(world.get(&deployment(), OPERANDS, name).await, None);
}

/// Without an Infrastructure nothing can be decided, which is reported.
#[tokio::test]
async fn without_infrastructure() {
    let world = World::without_infrastructure().await;
    let exit = preview(world.common(world.operator())).await;
    shows(&exit, 2, &[""; 0], &["+kind: Deployment"]);
    let complaint = "Infrastructure cluster does not exist";
    assert!(exit.stderr.contains(complaint), "{}", exit.stderr);
}

/// One object that the server refuses is named, and the changes of the others are printed.
#[tokio::test]
async fn one_is_refused() {
    let world = World::new("AWS").await;
    crate::policies::refuse_services(&world).await;
    let exit = preview(world.common(world.operator())).await;
    shows(&exit, 2, &["+kind: Deployment"], &["+kind: Service\n"]);
    assert!(exit.stderr.contains("no Services on Mondays"), "{}", exit.stderr);
    assert_eq!(events(&world).await, [""; 0]);
}

/// One manager that cannot run is named, and the changes of the others are printed.
#[tokio::test]
async fn one_is_in_conflict() {
    let world = Cluster::new().await;
    for name in ["older", "younger"] {
        world.manager(name, json!({"provider": "memory"})).await;
    }
    let exit = preview(world.operator()).await;
    shows(&exit, 2, &["+  name: older-cloud-controller-manager"], &["younger"]);
    let complaint = "CloudControllerManager younger: in conflict with CloudControllerManager";
    assert!(exit.stderr.contains(complaint), "{}", exit.stderr);
}

/// Objects that a run would keep are not printed as deleted, and those that it would delete are.
#[tokio::test]
async fn a_removal() {
    let world = World::left_behind("AWS").await;
    let annotation = "infrastructure.openshift.io/external-cloud-provider";
    let off = json!({"metadata": {"annotations": {annotation: "false"}}});
    world.edit(&infrastructure(), "", "cluster", off).await;
    // Without a Proxy the desired certificates are not known, and the existing object is kept.
    world.delete(&proxy(), "", "cluster").await;
    let exit = preview(world.common(world.operator())).await;
    let gone = ["-kind: Deployment", "-kind: Service", "-  name: cloud-conf"];
    shows(&exit, 1, &gone, &[".ccm-trusted-ca\n"]);
}
