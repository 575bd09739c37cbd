//! A cloud.conf that can be read and does not fit the cloud: the process lives, says what is wrong, and goes on once it is right.

use crate::stage::{PASSWORD, Stage, red};
use openstack_sim::Service;
use rstest::rstest;

const SECRET: &str = "hunter2-is-secret";

/// The configuration of a cloud with one mistake in it.
fn mistaken(stage: &Stage, from: &str, to: &str) -> String {
    let good = format!("{}{}", stage.global(PASSWORD), stage.load_balancer(""));
    assert!(good.contains(from), "{good}");
    good.replace(from, to)
}

#[rstest]
#[case::password(
    "password=labpass",
    "password=hunter2-is-secret",
    &["keystone at", "\"demo\"", "check the password"]
)]
#[case::user("username=demo", "username=nobody", &["keystone at", "\"nobody\"", "check"])]
#[case::region("region=RegionOne", "region=Atlantis", &["Atlantis", "RegionOne"])]
#[case::host("auth-url=http://127.0.0.1", "auth-url=http://keystone.invalid", &["keystone.invalid"])]
#[case::path("/identity/v3", "/nothing/v3", &["no Keystone", "check auth-url"])]
#[tokio::test]
async fn is_told_and_can_be_corrected(#[case] from: &str, #[case] to: &str, #[case] words: &[&str]) {
    let stage = Stage::new().await;
    let manager = stage.manager_with(&mistaken(&stage, from, to)).start();
    let told = red(&manager, words).await;
    assert!(!told.contains(SECRET), "{told}");
    assert_eq!(told.trim_end().lines().count(), 1, "{told}");
    manager.answers("/healthz", 200).await;
    assert_eq!(stage.holder().await, "", "it leads without a cloud");
    assert!(manager.ended().is_none());

    stage.configure(&mistaken(&stage, from, from));
    manager.ready().await;
    manager.leading().await;
}

#[tokio::test]
async fn an_endpoint_that_is_missing_is_told() {
    let stage = Stage::new().await;
    stage.cloud.remove_service(Service::Nova);
    let manager = stage.manager().start();
    red(&manager, &["compute", "catalog"]).await;
    assert!(manager.ended().is_none());
    assert_eq!(stage.holder().await, "", "it leads without a cloud");
}

#[tokio::test]
async fn without_octavia_nodes_work_and_it_is_said_how_to_switch_it_off() {
    let stage = Stage::new().await;
    stage.cloud.remove_service(Service::Octavia);
    let manager = stage.manager().flag("--leader-elect=false").start();
    let (node, _) = stage.join("node").await;
    stage.initialised(&manager, &node).await;
    manager.ready().await;
    let line = manager.logged("there will be no load balancers").await;
    assert!(line.starts_with('W'), "{line}");
    assert!(line.contains("set enabled=false in [LoadBalancer]"), "{line}");
}

#[tokio::test]
async fn what_is_secret_is_never_logged() {
    let stage = Stage::new().await;
    stage.cloud.set_password("demo", SECRET);
    let config = format!("{}{}", stage.global(SECRET), stage.load_balancer(""));
    let manager = stage.start_with(stage.manager_with(&config), &["--v=10"]).await;
    stage.nodes(&manager, 1).await;
    let name = stage.serve(&manager, "web").await;
    let tokens = stage.cloud.token_count();
    stage.cloud.revoke_tokens();
    stage.end(&manager, name.metadata.name.as_deref().unwrap()).await;
    assert!(tokens > 0);
    stage.cloud.set_password("demo", "another");
    let (node, _) = stage.join("late").await;
    stage.event(&node, "FailedToInitialize").await;
    manager.signal("TERM");
    let exit = manager.exited().await;
    let printed = format!("{}{}", exit.stdout, exit.stderr);
    assert!(printed.len() > 10_000, "it logs next to nothing at --v=10");
    assert!(!printed.contains(SECRET), "the password was logged");
    // The tokens of the simulation, and of Keystone, begin with this.
    let tokens: Vec<_> = printed.lines().filter(|line| line.contains("gAAAA")).collect();
    assert_eq!(tokens, [""; 0], "a token was logged");
    assert!(
        !printed.to_lowercase().contains("x-subject-token: "),
        "a token was logged"
    );
}
