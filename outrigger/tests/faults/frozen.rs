//! A leader that is frozen for longer than its lease, and goes on after another one has taken over.

use crate::{
    replica::{Replica, SHORT},
    rig::{Entry, Rig},
};
use kube::ResourceExt;
use memory::{Fault, Operation};

#[tokio::test]
async fn a_leader_frozen_for_longer_than_its_lease_does_not_write_when_it_goes_on() {
    let rig = Rig::shared().await;
    let old = Replica::start(&rig, &SHORT).await;
    old.leading().await;
    let new = Replica::start(&rig, &SHORT).await;
    new.stands_by().await;
    let first = rig.join("first").await;
    rig.initialised(&old, &first).await;

    // It freezes while the cloud works for it; the answer waits for it in the socket.
    let hang = rig
        .cloud
        .inject(Fault::hang().operation(Operation::EnsureLoadBalancer).times(1));
    let web = rig.create(rig.balanced("web")).await;
    rig.event(&web.uid().unwrap(), "EnsuringLoadBalancer").await;
    let web = web.name_any();
    rig.cloud_until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    old.signal("STOP");
    rig.cloud.withdraw(hang);

    // What happens meanwhile is the first thing that it hears of.
    let second = rig.join("second").await;
    let late = rig.create(rig.balanced("late")).await.name_any();
    new.leading().await;
    rig.initialised(&new, &second).await;
    rig.served(&new, &web).await;
    rig.served(&new, &late).await;
    rig.all_have_hosts(vec![first, second.clone()]).await;
    let third = rig.register("third", "tainted ready:True").await;

    let (mark, asked, holder) = (rig.mark(), old.door.writes(), rig.holder().await);
    let before = rig.services().get(&web).await.unwrap();
    old.signal("CONT");
    let exit = old.exited().await;
    assert_eq!(exit.code, 1, "{}", old.told());
    assert!(exit.stderr.contains("leaderelection lost"), "{}", old.told());
    rig.audited().await;
    let wrote = old.requests(&rig, mark).into_iter().filter(Entry::is_write);
    assert_eq!(
        wrote.map(|entry| entry.what()).collect::<Vec<_>>(),
        [""; 0],
        "it wrote when it went on{}",
        old.told()
    );
    assert_eq!(
        old.door.writes(),
        asked,
        "it asked the cloud for changes when it went on"
    );

    assert_eq!(rig.holder().await, holder, "the new leader was disturbed");
    assert_eq!(rig.services().get(&web).await.unwrap(), before);
    rig.cloud.boot(&third);
    rig.initialised(&new, &third).await;
}
