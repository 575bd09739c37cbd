//! What a crash left in the cloud.

use super::rig::{CLUSTER, Rig};
use crate::service::{Sweep, sweep::orphans};
use cloud::{Owned, ServiceRef, Spec};
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use std::{sync::Arc, time::Duration};
use testkit::service::{cluster_ip, load_balancer};

/// What the Service `default/<name>` with this UID owns.
fn owned(owner: Option<(&str, &str)>) -> Owned {
    let service = owner.map(|(name, uid)| ServiceRef {
        namespace: "default".into(),
        name: name.into(),
        uid: uid.into(),
    });
    Owned {
        kind: "load balancer".into(),
        id: "1".into(),
        name: "a".into(),
        service,
    }
}

/// There are the load balancer `web` and the mere Service `plain`; a third one is being deleted.
#[rstest]
#[case::there(Some(("web", "uid-web")), false)]
#[case::gone(Some(("gone", "uid-gone")), true)]
#[case::being_deleted(Some(("old", "uid-busy")), false)]
#[case::made_again(Some(("web", "uid-former")), false)]
#[case::no_load_balancer_any_more(Some(("plain", "uid-plain")), false)]
#[case::made_again_without_one(Some(("plain", "uid-former")), true)]
#[case::whose(None, false)]
fn finds_orphans(#[case] owner: Option<(&str, &str)>, #[case] orphan: bool) {
    let services = [load_balancer("web"), cluster_ip("plain")].map(|service| Arc::new(service.build()));
    let found = orphans(vec![owned(owner)], &services, &["uid-busy".to_owned()]);
    assert_eq!(!found.is_empty(), orphan);
}

/// A load balancer whose Service was never seen.
async fn leave_behind(rig: &Rig, name: &str) {
    let service = ServiceRef {
        namespace: rig.namespace.clone(),
        name: name.into(),
        uid: format!("uid-{name}"),
    };
    let spec = Spec {
        cluster: CLUSTER.into(),
        service,
        ..Spec::default()
    };
    rig.reconciler
        .provider
        .load_balancers()
        .unwrap()
        .ensure(&spec)
        .await
        .unwrap();
}

#[rstest]
#[case::reports(Sweep::Report(Duration::from_mins(1)), 2)]
#[case::deletes(Sweep::Delete(Duration::from_mins(1)), 1)]
#[tokio::test]
async fn sweeps(#[case] sweep: Sweep, #[case] left: usize) {
    let mut rig = Rig::new().await;
    rig.restart(|reconciler| reconciler.options.sweep = sweep);
    rig.create(load_balancer("there")).await;
    rig.sync("there").await;
    leave_behind(&rig, "gone").await;
    rig.reasons();
    rig.reconciler.sweep(&rig.client).await.unwrap();
    assert_eq!(rig.reconciler.metrics.orphans.get(), 1);
    assert_eq!(rig.reasons(), ["OrphanedLoadBalancer"]);
    assert_eq!(rig.cloud.load_balancers().len(), left);
}

#[tokio::test]
async fn a_service_that_only_the_api_server_knows_is_no_orphan() {
    let mut rig = Rig::new().await;
    rig.restart(|reconciler| reconciler.options.sweep = Sweep::Delete(Duration::from_mins(1)));
    rig.create(load_balancer("there")).await;
    rig.sync("there").await;
    rig.reconciler.services.remove(&rig.key("there"));
    rig.restart(|_| ());
    rig.reconciler.sweep(&rig.client).await.unwrap();
    assert_eq!(rig.cloud.load_balancers().len(), 1);
}

/// It may have taken over what it found by its name.
#[tokio::test]
async fn what_a_service_of_the_same_name_may_use_is_no_orphan() {
    let mut rig = Rig::new().await;
    rig.restart(|reconciler| reconciler.options.sweep = Sweep::Delete(Duration::from_mins(1)));
    leave_behind(&rig, "again").await;
    rig.create(load_balancer("again")).await;
    rig.reasons();
    rig.reconciler.sweep(&rig.client).await.unwrap();
    assert_eq!((rig.reconciler.metrics.orphans.get(), rig.reasons().len()), (0, 0));
    // Nor if only the API server knows of it.
    rig.reconciler.services.remove(&rig.key("again"));
    rig.reconciler.sweep(&rig.client).await.unwrap();
    assert_eq!(rig.cloud.load_balancers().len(), 1);
}

#[tokio::test]
async fn what_is_being_deleted_is_no_orphan() {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    rig.sync("s").await;
    rig.reconciler.services.remove(&rig.key("s"));
    rig.cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).operation(Operation::DeleteLoadBalancer));
    rig.sync("s").await;
    rig.reasons();
    rig.reconciler.sweep(&rig.client).await.unwrap();
    assert_eq!((rig.reconciler.metrics.orphans.get(), rig.reasons().len()), (0, 0));
}
