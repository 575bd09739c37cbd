//! What a crash left in the cloud.

use super::rig::{CLUSTER, Rig};
use crate::service::{Sweep, sweep::orphans};
use cloud::{Owned, ServiceRef, Spec};
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use std::{collections::BTreeSet, time::Duration};
use testkit::service::load_balancer;

fn owned(uid: Option<&str>) -> Owned {
    let service = uid.map(|uid| ServiceRef {
        uid: uid.into(),
        ..ServiceRef::default()
    });
    Owned {
        kind: "load balancer".into(),
        id: "1".into(),
        name: "a".into(),
        service,
    }
}

#[rstest]
#[case::there(Some("1"), false)]
#[case::gone(Some("2"), true)]
#[case::whose(None, false)]
fn finds_orphans(#[case] uid: Option<&str>, #[case] orphan: bool) {
    let uids = BTreeSet::from(["1".to_owned()]);
    assert_eq!(!orphans(vec![owned(uid)], &uids).is_empty(), orphan);
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

#[tokio::test]
async fn what_is_being_deleted_is_no_orphan() {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    rig.sync("s").await;
    rig.reconciler.services.remove(&rig.key("s"));
    rig.cloud
        .inject(Fault::fail(Failure::Unavailable("down".into())).at(Operation::DeleteLoadBalancer));
    rig.sync("s").await;
    rig.reasons();
    rig.reconciler.sweep(&rig.client).await.unwrap();
    assert_eq!((rig.reconciler.metrics.orphans.get(), rig.reasons().len()), (0, 0));
}
