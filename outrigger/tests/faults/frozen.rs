//! A leader that is frozen for longer than its lease, and continues after another one has taken over.

use crate::{
    fixture::{Entry, Fixture},
    replica::{Replica, SHORT},
};
use kube::ResourceExt;
use memory_sim::{Fault, Operation};

#[tokio::test]
async fn a_leader_frozen_for_longer_than_its_lease_does_not_write_when_it_resumes() {
    let fixture = Fixture::shared().await;
    let old = Replica::start(&fixture, &SHORT).await;
    old.leading().await;
    let new = Replica::start(&fixture, &SHORT).await;
    new.stands_by().await;
    let first = fixture.join("first").await;
    fixture.initialised(&old, &first).await;

    // It is frozen during a call; the response waits in the socket.
    let hang = fixture
        .cloud
        .inject(Fault::hang().operation(Operation::EnsureLoadBalancer).times(1));
    let web = fixture.create(fixture.balanced("web")).await;
    fixture.event(&web.uid().unwrap(), "EnsuringLoadBalancer").await;
    let web = web.name_any();
    fixture
        .cloud_until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    old.signal("STOP");
    fixture.cloud.withdraw(hang);

    // The first event that it receives afterwards.
    let second = fixture.join("second").await;
    let late = fixture.create(fixture.balanced("late")).await.name_any();
    new.leading().await;
    fixture.initialised(&new, &second).await;
    fixture.served(&new, &web).await;
    fixture.served(&new, &late).await;
    fixture.all_have_hosts(vec![first, second.clone()]).await;
    let third = fixture.register("third", "tainted ready:True").await;

    let (mark, asked, holder) = (fixture.mark(), old.server.writes(), fixture.holder().await);
    let before = fixture.services().get(&web).await.unwrap();
    old.signal("CONT");
    let exit = old.exited().await;
    assert_eq!(exit.code, 1, "{}", old.log_tail());
    assert!(exit.stderr.contains("leaderelection lost"), "{}", old.log_tail());
    fixture.audited().await;
    let wrote = old.requests(&fixture, mark).into_iter().filter(Entry::is_write);
    assert_eq!(
        wrote.map(|entry| entry.what()).collect::<Vec<_>>(),
        [""; 0],
        "it wrote when it went on{}",
        old.log_tail()
    );
    assert_eq!(
        old.server.writes(),
        asked,
        "it asked the cloud for changes when it went on"
    );

    assert_eq!(fixture.holder().await, holder, "the new leader was disturbed");
    assert_eq!(fixture.services().get(&web).await.unwrap(), before);
    fixture.cloud.boot(&third);
    fixture.initialised(&new, &third).await;
}
