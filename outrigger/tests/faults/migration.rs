//! Leader migration: the migration lock belongs to another program at first.

use crate::{
    fixture::{Fixture, Manager, service_address},
    replica::{Replica, Rights},
};
use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use memory_sim::{Fault, Operation};
use serde_json::json;
use std::time::Duration;

/// The migration lock of a fixture, as another program holds it.
struct Lock {
    leases: Api<Lease>,
    name: String,
}

impl Lock {
    async fn held(fixture: &Fixture) -> Self {
        let lock = Self::named(fixture, &fixture.named("migration"));
        let lease = serde_json::from_value(json!({"metadata": {"name": lock.name}})).unwrap();
        lock.leases.create(&PostParams::default(), &lease).await.unwrap();
        lock.renew("kube-controller-manager").await;
        lock
    }

    /// A lock of this name, which a manager holds, or will hold.
    fn named(fixture: &Fixture, name: &str) -> Self {
        Self {
            leases: Api::namespaced(fixture.client.clone(), "kube-system"),
            name: name.to_owned(),
        }
    }

    /// Waits until this manager holds it.
    async fn held_by(&self, manager: &Manager) {
        let (text, lease) = ("\"successfully acquired lease\"", format!("/{}\"", self.name));
        manager
            .until(&format!("{} to be held", self.name), async || {
                let lines = manager.lines_with(text);
                let found = lines.iter().any(|line| line.contains(&lease));
                if found { Ok(()) } else { Err(format!("{lines:?}")) }
            })
            .await;
    }

    /// Another program acquires it: then the manager that held it must end at once, whatever it is doing.
    async fn taken_from(&self, manager: &Manager) {
        self.renew("somebody-else").await;
        let exit = manager.exited().await;
        assert_eq!(exit.code, 1, "{}", manager.log_tail());
        assert!(exit.stderr.contains("leaderelection lost"), "{}", manager.log_tail());
        assert_eq!(
            self.holder().await,
            "somebody-else",
            "it gave away what it did not have"
        );
    }

    async fn renew(&self, holder: &str) {
        let spec =
            json!({"holderIdentity": holder, "leaseDurationSeconds": 4, "renewTime": now(), "acquireTime": now()});
        self.patch(spec).await;
    }

    async fn keep(&self) {
        loop {
            self.renew("kube-controller-manager").await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn patch(&self, spec: serde_json::Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.leases
            .patch(&self.name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    async fn holder(&self) -> String {
        let spec = self.leases.get(&self.name).await.unwrap().spec.unwrap();
        spec.holder_identity.unwrap_or_default()
    }
}

fn now() -> String {
    format!("{:.6}", Timestamp::now())
}

/// Services and the lifecycle of nodes migrate; routes stay with the other program.
fn config(fixture: &Fixture) -> String {
    let leaders = json!([
        {"name": "service-controller", "component": "cloud-controller-manager"},
        {"name": "cloud-node-lifecycle-controller", "component": "*"},
        {"name": "route-controller", "component": "kube-controller-manager"},
    ]);
    let config = json!({
        "apiVersion": "controllermanager.config.k8s.io/v1",
        "kind": "LeaderMigrationConfiguration",
        "leaderName": fixture.named("migration"),
        "controllerLeaders": leaders,
    });
    format!(
        "--leader-migration-config={}",
        fixture.folder.write("migration.yaml", &config.to_string()).display()
    )
}

#[tokio::test]
async fn migrated_controllers_follow_the_migration_lock() {
    let fixture = Fixture::shared().await;
    let lock = Lock::held(&fixture).await;
    let config = config(&fixture);
    let flags = [
        "--enable-leader-migration",
        &config,
        "--node-deletion-grace-period=0s",
        "--cluster-cidr=10.0.0.0/8",
        "--configure-cloud-routes",
    ];
    let manager = Replica::launch(&fixture, Rights::All, fixture.manager(), &flags).await;
    let (node, gone) = (fixture.named("node"), fixture.named("gone"));
    let service = fixture.create(fixture.balanced("web")).await.name_any();
    let only_what_stays = async {
        manager.leading().await;
        fixture.join("node").await;
        fixture.join("gone").await;
        fixture.initialised(&manager, &node).await;
        fixture.initialised(&manager, &gone).await;
        fixture.cloud.delete_machine(&gone);
        fixture.set_ready(&gone, "Unknown").await;
        // Longer than the lock is valid without a renewal.
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(service_address(&fixture.services().get(&service).await.unwrap()), None);
        assert!(fixture.nodes().get_opt(&gone).await.unwrap().is_some());
        assert_eq!(manager.server.writes(), [""; 0]);
    };
    tokio::select! { () = only_what_stays => {}, () = lock.keep() => {} }

    lock.renew("").await;
    fixture.served(&manager, &service).await;
    fixture.node_gone(&manager, &gone).await;
    assert!(!lock.holder().await.is_empty());
    assert_eq!(
        fixture.cloud.count(Operation::ListRoutes),
        0,
        "routes are the other program's"
    );

    lock.taken_from(&manager).await;
}

/// A pause between controllers that no test waits for.
const SLOW_START: &str = "--controller-start-interval=1h";

#[tokio::test]
async fn the_main_lock_is_lost_while_controllers_are_started() {
    let fixture = Fixture::shared().await;
    let config = config(&fixture);
    let flags = ["--enable-leader-migration", &config, SLOW_START];
    let manager = Replica::launch(&fixture, Rights::All, fixture.manager(), &flags).await;
    let main = Lock::named(&fixture, &fixture.name);
    main.held_by(&manager).await;
    manager.logged("\"started controller\"").await;
    main.taken_from(&manager).await;
}

#[tokio::test]
async fn the_migration_lock_is_lost_while_what_migrates_is_started() {
    let fixture = Fixture::shared().await;
    let config = config(&fixture);
    let flags = [
        "--enable-leader-migration",
        &config,
        SLOW_START,
        // No controllers that do not migrate, so that those that do are started next.
        "--controllers=*,-cloud-node-controller",
    ];
    let manager = Replica::launch(&fixture, Rights::All, fixture.manager(), &flags).await;
    let migration = Lock::named(&fixture, &fixture.named("migration"));
    migration.held_by(&manager).await;
    manager.logged("\"started controller\"").await;
    migration.taken_from(&manager).await;
}

/// The other program holds the migration lock, the cloud does not answer, and the process gets a signal to stop.
#[tokio::test]
async fn the_main_lock_is_lost_while_the_last_work_is_finished() {
    let fixture = Fixture::shared().await;
    let lock = Lock::held(&fixture).await;
    let config = config(&fixture);
    let flags = ["--enable-leader-migration", &config, "--shutdown-grace-period=1h"];
    let manager = Replica::launch(&fixture, Rights::All, fixture.manager(), &flags).await;
    let main = Lock::named(&fixture, &fixture.name);
    let lost = async {
        main.held_by(&manager).await;
        fixture.cloud.inject(Fault::hang().operation(Operation::Describe));
        fixture.join("node").await;
        fixture.cloud_until(|cloud| cloud.count(Operation::Describe) > 0).await;
        manager.signal("TERM");
        manager.logged("received a signal to stop").await;
        main.taken_from(&manager).await;
    };
    tokio::select! { () = lost => {}, () = lock.keep() => {} }
}
