//! Load balancers whose Service does not exist.

use super::fixture::{CLUSTER, Fixture};
use crate::service::{Sweep, orphans::orphans};
use cloud::{Owned, ServiceRef, Spec};
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use std::{sync::Arc, time::Duration};
use testkit::service::{cluster_ip, load_balancer};

/// An object of the Service `default/<name>` with this UID.
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

/// There are the Services `web` (with a load balancer) and `plain` (without); a third one is being deleted.
#[rstest]
#[case::exists(Some(("web", "uid-web")), false)]
#[case::gone(Some(("gone", "uid-gone")), true)]
#[case::being_deleted(Some(("old", "uid-busy")), false)]
#[case::recreated(Some(("web", "uid-former")), false)]
#[case::retyped(Some(("plain", "uid-plain")), false)]
#[case::recreated_without_one(Some(("plain", "uid-former")), true)]
#[case::no_owner(None, false)]
fn finds_orphans(#[case] owner: Option<(&str, &str)>, #[case] orphan: bool) {
    let services = [load_balancer("web"), cluster_ip("plain")].map(|service| Arc::new(service.build()));
    let found = orphans(vec![owned(owner)], &services, &["uid-busy".to_owned()]);
    assert_eq!(!found.is_empty(), orphan);
}

/// A load balancer without a Service.
async fn create_orphan(fixture: &Fixture, name: &str) {
    let service = ServiceRef {
        namespace: fixture.namespace.clone(),
        name: name.into(),
        uid: format!("uid-{name}"),
    };
    let spec = Spec {
        cluster: CLUSTER.into(),
        service,
        ..Spec::default()
    };
    fixture
        .reconciler
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
    let mut fixture = Fixture::new().await;
    fixture.restart(|reconciler| reconciler.options.sweep = sweep);
    fixture.create(load_balancer("there")).await;
    fixture.reconcile("there").await;
    create_orphan(&fixture, "gone").await;
    fixture.reasons();
    fixture.reconciler.sweep(&fixture.client).await.unwrap();
    assert_eq!(fixture.reconciler.metrics.orphans.get(), 1);
    assert_eq!(fixture.reasons(), ["OrphanedLoadBalancer"]);
    assert_eq!(fixture.cloud.load_balancers().len(), left);
}

#[tokio::test]
async fn a_service_that_is_not_cached_has_no_orphan() {
    let mut fixture = Fixture::new().await;
    fixture.restart(|reconciler| reconciler.options.sweep = Sweep::Delete(Duration::from_mins(1)));
    fixture.create(load_balancer("there")).await;
    fixture.reconcile("there").await;
    fixture.reconciler.services.remove(&fixture.key("there"));
    fixture.restart(|_| ());
    fixture.reconciler.sweep(&fixture.client).await.unwrap();
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
}

/// It may have adopted a load balancer by its name.
#[tokio::test]
async fn a_service_of_the_same_name_has_no_orphan() {
    let mut fixture = Fixture::new().await;
    fixture.restart(|reconciler| reconciler.options.sweep = Sweep::Delete(Duration::from_mins(1)));
    create_orphan(&fixture, "again").await;
    fixture.create(load_balancer("again")).await;
    fixture.reasons();
    fixture.reconciler.sweep(&fixture.client).await.unwrap();
    assert_eq!(
        (fixture.reconciler.metrics.orphans.get(), fixture.reasons().len()),
        (0, 0)
    );
    // Nor if it is not cached.
    fixture.reconciler.services.remove(&fixture.key("again"));
    fixture.reconciler.sweep(&fixture.client).await.unwrap();
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
}

#[tokio::test]
async fn a_load_balancer_that_is_being_deleted_is_no_orphan() {
    let mut fixture = Fixture::new().await;
    fixture.create(load_balancer("s")).await;
    fixture.reconcile("s").await;
    fixture.reconciler.services.remove(&fixture.key("s"));
    fixture
        .cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).operation(Operation::DeleteLoadBalancer));
    fixture.reconcile("s").await;
    fixture.reasons();
    fixture.reconciler.sweep(&fixture.client).await.unwrap();
    assert_eq!(
        (fixture.reconciler.metrics.orphans.get(), fixture.reasons().len()),
        (0, 0)
    );
}
