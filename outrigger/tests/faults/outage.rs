//! A control plane that forgets, and one that does not answer.

use crate::{
    replica::{ALONE, Replica, SHORT},
    rig::{Mark, Rig},
};
use k8s_openapi::jiff::Timestamp;
use kube::{ResourceExt, api::DeleteParams};
use memory::{Failure, Fault, Operation};
use std::time::{Duration, Instant};

/// Both on one control plane, because each has to break it.
#[tokio::test]
async fn watches_expire_and_etcd_stalls() {
    let rig = Rig::private().await;
    watches_expire(&rig).await;
    etcd_stalls(&rig).await;
}

/// Things happen while the manager is cut off, and the API server forgets about them: it starts anew, and knows only
/// the present. The manager goes on watching where it was interrupted, and is told that this is too long ago.
async fn watches_expire(rig: &Rig) {
    let manager = Replica::start(rig, &[ALONE]).await;
    let (stays, goes) = (rig.join("stays").await, rig.join("goes").await);
    let old = rig.create(rig.balanced("old")).await.name_any();
    rig.all_initialised(2).await;
    rig.served(&manager, &old).await;
    rig.all_have_hosts(vec![stays.clone(), goes.clone()]).await;

    rig.stop_apiserver().await;
    manager.signal("STOP");
    rig.start_apiserver().await;
    rig.nodes().delete(&goes, &DeleteParams::default()).await.unwrap();
    let comes = rig.join("comes").await;
    rig.delete_service(&old).await;
    let new = rig.create(rig.balanced("new")).await.name_any();
    rig.stop_apiserver().await;
    rig.start_apiserver().await;
    let mark = rig.mark();
    manager.signal("CONT");

    rig.initialised(&manager, &comes).await;
    rig.served(&manager, &new).await;
    rig.all_have_hosts(vec![stays, comes]).await;
    manager
        .until("the old Service to go", async || {
            match rig.services().get_opt(&old).await.unwrap() {
                None => Ok(()),
                Some(service) => Err(format!("{service:?}")),
            }
        })
        .await;
    assert_eq!(rig.cloud.load_balancers().len(), 1);
    let listed = |resource: &str| {
        manager
            .requests(rig, mark)
            .iter()
            .any(|entry| entry.verb == "list" && entry.resource == resource)
    };
    assert!(
        listed("nodes") && listed("services"),
        "it did not list again: was nothing forgotten?"
    );
    rig.delete_service(&new).await;
    rig.no_services().await;
}

/// A leader that cannot renew its lease gives up in time, although it has something to do.
async fn etcd_stalls(rig: &Rig) {
    let pending = Failure::Pending {
        poll_after: Duration::from_millis(300),
    };
    let pending = rig
        .cloud
        .inject(Fault::fail(pending).operation(Operation::EnsureLoadBalancer));
    let leader = Replica::start(rig, &SHORT).await;
    leader.leading().await;
    let service = rig.create(rig.balanced("slow")).await.name_any();
    let before = rig.cloud.count(Operation::EnsureLoadBalancer);
    rig.cloud_until(|cloud| cloud.count(Operation::EnsureLoadBalancer) > before + 2)
        .await;

    rig.pause_etcd().await;
    let (stalled, then) = (Timestamp::now(), Instant::now());
    let exit = leader.exited().await;
    let took = Timestamp::now().duration_since(stalled);
    assert_eq!(exit.code, 1, "{}", leader.told());
    assert!(exit.stderr.contains("leaderelection lost"), "{}", leader.told());
    assert!(took.as_secs() < 15, "it took {took:?}");
    // It went on for as long as it was sure to lead, and not longer; a busy machine may delay what it sent before.
    assert!(
        !leader.door.writes_after(then).is_empty(),
        "the cloud was not written to"
    );
    let late = leader.door.writes_after(then + Duration::from_millis(3500));
    assert!(late.is_empty(), "it changed the cloud after its lease: {late:?}");
    rig.resume_etcd().await;
    rig.cloud.withdraw(pending);

    let next = Replica::start(rig, &SHORT).await;
    let node = rig.join("after").await;
    rig.initialised(&next, &node).await;
    rig.served(&next, &service).await;
    let deadline = stalled + Duration::from_secs(3);
    rig.audited().await;
    let mut late = leader.requests(rig, Mark::default());
    late.retain(|entry| entry.is_write() && entry.at > deadline);
    assert!(late.is_empty(), "it wrote after its lease: {late:?}");
    rig.delete_service(&service).await;
    rig.no_services().await;
    assert_eq!(rig.cloud.load_balancers(), []);
}
