//! A dry run says what would change, in the way of `kubectl diff`, and changes nothing.

use super::cluster::{Cluster, scope};
use crate::rig::Exit;
use serde_json::json;

async fn preview(world: &Cluster) -> Exit {
    world.operator().flag("--dry-run").start().exited().await
}

#[tokio::test]
async fn dry_run_of_every_manager() {
    let world = Cluster::new().await;
    let spec = |zone: &str, port: u16| json!({"provider": "memory", "securePort": port, "scope": scope(zone)});
    world.manager("east", spec("east", 10300)).await;
    world.manager("west", spec("west", 10301)).await;
    let mark = world.mark();
    let exit = preview(&world).await;
    assert_eq!(exit.code, 1, "{exit:#?}");
    for part in [
        "+kind: Deployment",
        "+  name: east-cloud-controller-manager",
        "+  name: west-cloud-controller-manager",
        "+  tls.key: \"***\"",
        "--- LIVE/",
    ] {
        assert!(exit.stdout.contains(part), "{part} is not in {}", exit.stdout);
    }
    assert!(!exit.stdout.contains("PRIVATE KEY"), "{}", exit.stdout);
    unchanged(&world, &mark, &["east", "west"]).await;

    let operator = world.start();
    world.installed(&operator, "east").await;
    world.installed(&operator, "west").await;
    world.settled().await;
    operator.signal("TERM");
    operator.exited().await;
    let exit = preview(&world).await;
    assert_eq!((exit.code, exit.stdout.as_str()), (0, ""), "{exit:#?}");

    // One field of one manager, and everything of the other.
    let mut more = spec("east", 10300);
    more["logVerbosity"] = json!(7);
    world.manager("east", more).await;
    let mut less = spec("west", 10301);
    less["managementState"] = json!("Removed");
    world.manager("west", less).await;
    let mark = world.mark();
    let exit = preview(&world).await;
    assert_eq!(exit.code, 1, "{exit:#?}");
    for part in [
        "+        - --v=7",
        "-kind: Deployment",
        "-  name: west-cloud-controller-manager",
    ] {
        assert!(exit.stdout.contains(part), "{part} is not in {}", exit.stdout);
    }
    assert!(!exit.stdout.contains("-  name: east-cloud"), "{}", exit.stdout);
    let lasting = |write: &String| !write.starts_with("patch ");
    assert!(!world.writes_since(mark).iter().any(lasting));
    assert!(world.deployment("west").await.is_some());
}

/// What can be said is said of the others, and who is wrong is named.
#[tokio::test]
async fn dry_run_of_what_cannot_be() {
    let world = Cluster::new().await;
    world.manager("older", json!({"provider": "memory"})).await;
    world.manager("younger", json!({"provider": "memory"})).await;
    let exit = preview(&world).await;
    assert_eq!(exit.code, 2, "{exit:#?}");
    assert!(
        exit.stdout.contains("+  name: older-cloud-controller-manager"),
        "{exit:#?}"
    );
    assert!(!exit.stdout.contains("younger"), "{}", exit.stdout);
    let complaint = "CloudControllerManager younger: in conflict with CloudControllerManager";
    assert!(exit.stderr.contains(complaint), "{}", exit.stderr);
}

/// No object is there, and nothing is said about the managers.
async fn unchanged(world: &Cluster, mark: &crate::rig::Mark, managers: &[&str]) {
    let lasting = |write: &String| !write.starts_with("patch ");
    assert!(!world.writes_since(*mark).iter().any(lasting));
    for name in managers {
        assert!(world.deployment(name).await.is_none());
        assert_eq!(world.resource(name).await.get("status"), None);
    }
}
