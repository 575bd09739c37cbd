//! A dry run says all that can be said, and nobody hears of it but who asked.

use crate::{
    rig::Exit,
    rights::{OPERANDS, as_itself, release},
    world::{World, deployment, kind},
};
use kube::api::ListParams;
use serde_json::{Value, json};

async fn preview(world: &World, flags: &[&str]) -> Exit {
    let launch = world.common(world.operator()).flag("--dry-run");
    let launch = flags.iter().fold(launch, |launch, flag| launch.flag(flag));
    launch.start().exited().await
}

fn shows(exit: &Exit, expected: &[impl AsRef<str>]) {
    for line in expected.iter().map(AsRef::as_ref) {
        let shown = exit.stdout.lines().any(|each| each == line);
        assert!(shown, "{line} is not in {}", exit.stdout);
    }
}

async fn events(world: &World) -> Vec<String> {
    let api = world.api(&kind("", "v1", "Event", "events"), "");
    let all = api.list(&ListParams::default()).await.unwrap();
    let ours = all.into_iter().filter(|event| {
        let namespace = &event.data["involvedObject"]["namespace"];
        *namespace == world.namespace.as_str()
    });
    ours.map(|event| event.data["reason"].to_string()).collect()
}

/// A dry run says what would change, in the way of `kubectl diff`, and changes nothing.
#[tokio::test]
async fn before_and_after_an_installation() {
    let world = World::new("AWS").await;
    let mark = world.mark();
    let exit = preview(&world, &[]).await;
    assert_eq!(exit.code, 1, "{exit:#?}");
    let new = [
        "+kind: Deployment",
        "+  name: aws-cloud-controller-manager",
        "+kind: Service",
    ];
    shows(&exit, &new);
    assert!(exit.stdout.contains("--- "), "{}", exit.stdout);
    let lasting = |write: &String| !write.starts_with("patch ") && !write.starts_with("create ");
    assert_eq!(world.operands().await, [""; 0]);
    assert_eq!(world.cluster_operator().await, Value::Null);
    assert!(
        !world.writes_since(mark).iter().any(lasting),
        "{:?}",
        world.writes_since(mark)
    );

    world.left_behind("Deployment aws-cloud-controller-manager").await;
    let exit = preview(&world, &[]).await;
    assert_eq!((exit.code, exit.stdout.as_str()), (0, ""), "{exit:#?}");

    let edit = json!({"spec": {"replicas": 5}});
    world
        .edit(&deployment(), &world.namespace, "aws-cloud-controller-manager", edit)
        .await;
    let exit = preview(&world, &[]).await;
    assert_eq!(exit.code, 1, "{exit:#?}");
    shows(&exit, &["-  replicas: 5", "+  replicas: 2"]);
}

/// With the rights of the release, before anything is there: bindings whose roles would be made by the same run included. Secrets
/// are missed, gates are read, and no event is written about either.
#[tokio::test]
async fn before_the_first_install() {
    let world = World::in_namespace(OPERANDS).await;
    world.set_platform("None").await;
    // The rights come with this; it has nothing else to do, and ends before anything is looked at.
    let operator = release(&world, |_| {}).await;
    operator.signal("TERM");
    operator.exited().await;
    let before = events(&world).await;
    world.set_platform("VSphere").await;
    let exit = preview(&world, &[&as_itself(&world)]).await;
    assert_eq!(exit.code, 1, "{exit:#?}");
    let kinds = ["Deployment", "Role", "RoleBinding", "ClusterRoleBinding"];
    shows(&exit, &kinds.map(|kind| format!("+kind: {kind}")));
    assert_eq!(events(&world).await, before);
    assert_eq!(
        world
            .get(&deployment(), OPERANDS, "vsphere-cloud-controller-manager")
            .await,
        None
    );
}

/// One object that the server refuses is named, and the others are shown.
#[tokio::test]
async fn one_is_refused() {
    let world = World::new("AWS").await;
    crate::policies::refuse_services(&world).await;
    let exit = preview(&world, &[]).await;
    assert_eq!(exit.code, 2, "{exit:#?}");
    assert!(exit.stderr.contains("no Services on Mondays"), "{}", exit.stderr);
    assert!(exit.stdout.contains("+kind: Deployment"), "{}", exit.stdout);
    assert!(!exit.stdout.contains("+kind: Service\n"), "{}", exit.stdout);
    assert_eq!(events(&world).await, [""; 0]);
}

/// What a run would leave alone is not shown as deleted, and what it would delete is.
#[tokio::test]
async fn a_removal() {
    let world = World::new("AWS").await;
    world.left_behind("Deployment aws-cloud-controller-manager").await;
    let annotation = "infrastructure.openshift.io/external-cloud-provider";
    let off = json!({"metadata": {"annotations": {annotation: "false"}}});
    world.edit(&crate::world::infrastructure(), "", "cluster", off).await;
    // Where there is no Proxy nobody says what should be trusted, and what is there stays.
    let proxies = world.api(&crate::world::proxy(), "");
    proxies
        .delete("cluster", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    let exit = preview(&world, &[]).await;
    assert_eq!(exit.code, 1, "{exit:#?}");
    shows(&exit, &["-kind: Deployment", "-kind: Service", "-  name: cloud-conf"]);
    assert!(!exit.stdout.contains(".ccm-trusted-ca\n"), "{}", exit.stdout);
}
