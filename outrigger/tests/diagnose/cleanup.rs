//! `outrigger cleanup`.

use crate::fixture::{Exit, Fixture, Launch};

async fn cleanup(fixture: &Fixture, cluster: &str, flags: &[&str]) -> Exit {
    let launch = Launch::new(fixture.folder.path())
        .arg("cleanup")
        .arg("--cloud-provider=memory");
    let launch = launch
        .flag(&format!("--cloud-config={}", fixture.cloud_config().display()))
        .flag(&format!("--cluster-name={cluster}"));
    let launch = flags.iter().fold(launch, |launch, flag| launch.arg(flag));
    launch.start().exited().await
}

/// A manager created two load balancers, and then its cluster disappeared.
#[tokio::test]
async fn lists_and_deletes_what_a_cluster_left() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    for name in ["web", "db"] {
        let service = fixture.create(fixture.balanced(name)).await;
        fixture.served(&manager, &service.metadata.name.unwrap()).await;
    }
    manager.signal("KILL");
    manager.exited().await;
    let before = fixture.cloud.load_balancers().len();
    assert_eq!(before, 2);

    let exit = cleanup(&fixture, "another", &[]).await;
    assert_eq!(
        (exit.code, exit.stdout.as_str()),
        (0, "The cloud has no objects of cluster \"another\".\n")
    );

    let exit = cleanup(&fixture, &fixture.name, &[]).await;
    assert_eq!(exit.code, 1, "{exit:?}");
    for name in ["web", "db"] {
        let service = format!("default/{}", fixture.named(name));
        assert!(exit.stdout.contains(&service), "{service} is not in {}", exit.stdout);
    }
    assert!(
        exit.stdout
            .ends_with("Nothing was deleted: repeat the command with --delete to do so.\n"),
        "{exit:?}"
    );
    assert_eq!(fixture.cloud.load_balancers().len(), before);

    let exit = cleanup(&fixture, &fixture.name, &["--delete"]).await;
    assert_eq!(exit.code, 0, "{exit:?}");
    assert!(exit.stderr.contains("KIND"), "it is shown first: {exit:?}");
    assert_eq!(fixture.cloud.load_balancers().len(), 0);
}

#[tokio::test]
async fn the_cluster_must_be_named() {
    let exit = tokio::task::spawn_blocking(|| crate::fixture::run(&["cleanup", "--cloud-provider=memory"])).await;
    let exit = exit.unwrap();
    assert_ne!(exit.code, 0);
    assert!(exit.stderr.contains("--cluster-name"), "{exit:?}");
}
