//! The two locks of leader migration.

use crate::replica::{Replica, ghost, leases, meddle, ms, params, spec, until, within};
use lab::{ControlPlane, unique};
use runtime::{
    fence::Fenced,
    leader_migration::{self, Config, Main, Next},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The main and the migration lock of one replica.
struct Locks {
    main: Replica,
    migration: Replica,
    names: [String; 2],
}

impl Locks {
    fn new(plane: &ControlPlane, names: &[String; 2], identity: &str) -> Self {
        let config = Config {
            leader_name: names[1].clone(),
            ..Config::default()
        };
        let main = params(&names[0], identity);
        let migration = leader_migration::params(&main, &config);
        assert_eq!(
            (migration.name.as_str(), migration.identity.as_str()),
            (names[1].as_str(), identity)
        );
        assert_eq!(
            (&migration.namespace, migration.lease_duration),
            (&main.namespace, main.lease_duration)
        );
        Self {
            main: Replica::with(plane.config(), main),
            migration: Replica::with(plane.config(), migration),
            names: names.clone(),
        }
    }
}

fn names() -> [String; 2] {
    [unique("main"), unique("migration")]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_main_lock_comes_first_and_both_are_given_back() {
    let (plane, names, cancel) = (ControlPlane::shared(), names(), CancellationToken::new());
    let Locks { main, migration, names } = Locks::new(plane, &names, "one");
    let held = Main::acquire(main.elector, migration.elector, &cancel).await.unwrap();
    assert_eq!(main.fence.check(), Ok(()));
    assert_eq!(migration.fence.check(), Err(Fenced));
    assert_eq!(
        leases(plane).get_opt(&names[1]).await.unwrap(),
        None,
        "the second lock is not even looked at"
    );

    let Next::Both(both) = held.migrate(&cancel).await else {
        panic!("there is no other candidate")
    };
    assert_eq!((main.fence.check(), migration.fence.check()), (Ok(()), Ok(())));
    for name in &names {
        assert_eq!(spec(plane, name).await["holderIdentity"], "one");
    }
    both.release().await.unwrap();
    assert_eq!(
        (main.fence.check(), migration.fence.check()),
        (Err(Fenced), Err(Fenced))
    );
    for name in &names {
        assert_eq!(spec(plane, name).await["holderIdentity"], "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn losing_either_lock_is_a_loss() {
    for lost in [0, 1] {
        let (plane, names, cancel) = (ControlPlane::shared(), names(), CancellationToken::new());
        let Locks { main, migration, names } = Locks::new(plane, &names, "one");
        let held = Main::acquire(main.elector, migration.elector, &cancel).await.unwrap();
        let Next::Both(both) = held.migrate(&cancel).await else {
            panic!("there is no other candidate")
        };
        meddle(plane, &names[lost], &json!({ "spec": { "holderIdentity": "usurper" } })).await;
        let loss = within(ms(2_000), "the loss", both.lost()).await;
        assert!(loss.to_string().contains(&names[lost]), "{loss}");
    }
}

/// The other program holds the migration lock, as before the migration.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_migration_lock_ends_with_the_main_lock() {
    let (plane, names, cancel) = (ControlPlane::shared(), names(), CancellationToken::new());
    ghost(plane, &names[1], 3_600, "2026-01-01T00:00:00.000000Z").await;
    let Locks { main, migration, names } = Locks::new(plane, &names, "one");
    let held = Main::acquire(main.elector, migration.elector, &cancel).await.unwrap();
    let next = tokio::spawn(async move { held.migrate(&cancel).await });
    until("it to know who has it", async || migration.status.leader() == "ghost").await;
    assert_eq!(main.fence.check(), Ok(()));
    meddle(plane, &names[0], &json!({ "spec": { "holderIdentity": "usurper" } })).await;
    let next = within(ms(3_000), "the end", next).await.unwrap();
    assert!(matches!(next, Next::Lost(_)), "{next:?}");
    assert_eq!(spec(plane, &names[1]).await["holderIdentity"], "ghost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_waiting_leaves_the_main_lock_to_be_released() {
    let (plane, names, cancel) = (ControlPlane::shared(), names(), CancellationToken::new());
    ghost(plane, &names[1], 3_600, "2026-01-01T00:00:00.000000Z").await;
    let Locks { main, migration, names } = Locks::new(plane, &names, "one");
    let held = Main::acquire(main.elector, migration.elector, &cancel).await.unwrap();
    let stop = cancel.clone();
    let next = tokio::spawn(async move { held.migrate(&stop).await });
    until("it to know who has it", async || migration.status.leader() == "ghost").await;
    cancel.cancel();
    let next = within(ms(2_000), "the end", next).await.unwrap();
    let Next::Cancelled(leadership) = next else {
        panic!("{next:?}")
    };
    assert_eq!(main.fence.check(), Ok(()));
    leadership.release().await.unwrap();
    assert_eq!(spec(plane, &names[0]).await["holderIdentity"], "");
}
