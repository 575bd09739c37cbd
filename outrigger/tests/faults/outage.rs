//! A control plane that loses its history, and one that does not answer.

use crate::{
    fixture::{Fixture, Mark},
    replica::{ALONE, Replica, SHORT},
};
use k8s_openapi::jiff::Timestamp;
use kube::{ResourceExt, api::DeleteParams};
use memory_sim::{Failure, Fault, Operation};
use std::time::{Duration, Instant};

/// Both on one control plane, because each has to break it.
#[tokio::test]
async fn watches_expire_and_etcd_stalls() {
    let fixture = Fixture::private().await;
    watches_expire(&fixture).await;
    etcd_stalls(&fixture).await;
}

/// Objects change while the manager is disconnected, and the API server loses the history: it restarts, and has only
/// the current state. The manager resumes its watches, and gets the error that the version is too old.
async fn watches_expire(fixture: &Fixture) {
    let manager = Replica::start(fixture, &[ALONE]).await;
    let (stays, goes) = (fixture.join("stays").await, fixture.join("goes").await);
    let old = fixture.create(fixture.balanced("old")).await.name_any();
    fixture.all_initialised(2).await;
    fixture.served(&manager, &old).await;
    fixture.all_have_hosts(vec![stays.clone(), goes.clone()]).await;

    fixture.stop_apiserver().await;
    manager.signal("STOP");
    fixture.start_apiserver().await;
    fixture.nodes().delete(&goes, &DeleteParams::default()).await.unwrap();
    let comes = fixture.join("comes").await;
    fixture.delete_service(&old).await;
    let new = fixture.create(fixture.balanced("new")).await.name_any();
    fixture.stop_apiserver().await;
    fixture.start_apiserver().await;
    let mark = fixture.mark();
    manager.signal("CONT");

    fixture.initialised(&manager, &comes).await;
    fixture.served(&manager, &new).await;
    fixture.all_have_hosts(vec![stays, comes]).await;
    manager
        .until("the old Service to go", async || {
            match fixture.services().get_opt(&old).await.unwrap() {
                None => Ok(()),
                Some(service) => Err(format!("{service:?}")),
            }
        })
        .await;
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
    let listed = |resource: &str| {
        manager
            .requests(fixture, mark)
            .iter()
            .any(|entry| entry.verb == "list" && entry.resource == resource)
    };
    assert!(
        listed("nodes") && listed("services"),
        "it did not list again: was nothing forgotten?"
    );
    fixture.delete_service(&new).await;
    fixture.no_services().await;
}

/// A leader that cannot renew its lease stops in time, although it has work in progress.
async fn etcd_stalls(fixture: &Fixture) {
    let pending = Failure::Pending {
        poll_after: Duration::from_millis(300),
    };
    let pending = fixture
        .cloud
        .inject(Fault::fail(pending).operation(Operation::EnsureLoadBalancer));
    let leader = Replica::start(fixture, &SHORT).await;
    leader.leading().await;
    let service = fixture.create(fixture.balanced("slow")).await.name_any();
    let before = fixture.cloud.count(Operation::EnsureLoadBalancer);
    fixture
        .cloud_until(|cloud| cloud.count(Operation::EnsureLoadBalancer) > before + 2)
        .await;

    fixture.pause_etcd().await;
    let (stalled, then) = (Timestamp::now(), Instant::now());
    let exit = leader.exited().await;
    let took = Timestamp::now().duration_since(stalled);
    assert_eq!(exit.code, 1, "{}", leader.log_tail());
    assert!(exit.stderr.contains("leaderelection lost"), "{}", leader.log_tail());
    assert!(took.as_secs() < 15, "it took {took:?}");
    // It continued for as long as it was certain to lead, and not longer; a busy machine may delay requests that it sent before.
    assert!(
        !leader.server.writes_after(then).is_empty(),
        "the cloud was not written to"
    );
    let late = leader.server.writes_after(then + Duration::from_millis(3500));
    assert!(late.is_empty(), "it changed the cloud after its lease: {late:?}");
    fixture.resume_etcd().await;
    fixture.cloud.withdraw(pending);

    let next = Replica::start(fixture, &SHORT).await;
    let node = fixture.join("after").await;
    fixture.initialised(&next, &node).await;
    fixture.served(&next, &service).await;
    let deadline = stalled + Duration::from_secs(3);
    fixture.audited().await;
    let mut late = leader.requests(fixture, Mark::default());
    late.retain(|entry| entry.is_write() && entry.at > deadline);
    assert!(late.is_empty(), "it wrote after its lease: {late:?}");
    fixture.delete_service(&service).await;
    fixture.no_services().await;
    assert_eq!(fixture.cloud.load_balancers(), []);
}
