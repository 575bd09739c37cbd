//! A manager that restarts: nothing has changed meanwhile, or something has.

use crate::{
    fixture::{Fixture, Mark, service_address},
    replica::{ALONE, Replica},
};
use kube::ResourceExt;
use memory_sim::Call;
use std::collections::BTreeSet;

const NODES: usize = 40;
const SERVICES: usize = 25;

/// Creates nodes and Services, and waits until they are complete.
async fn populate(fixture: &Fixture) {
    let mut nodes = Vec::new();
    for n in 0..NODES {
        nodes.push(fixture.join(&format!("node-{n}")).await);
    }
    for n in 0..SERVICES {
        fixture.create(fixture.balanced(&format!("web-{n}"))).await;
    }
    fixture.all_initialised(NODES).await;
    fixture.all_served(SERVICES).await;
    fixture.all_have_hosts(nodes).await;
}

async fn stopped(manager: &Replica) {
    manager.signal("TERM");
    assert_eq!(manager.exited().await.code, 0, "{}", manager.log_tail());
}

#[tokio::test]
async fn a_restart_writes_nothing_where_nothing_has_changed() {
    let fixture = Fixture::shared().await;
    let before = Replica::start(&fixture, &[]).await;
    populate(&fixture).await;
    stopped(&before).await;

    fixture.cloud.forget_calls();
    let after = Replica::start(&fixture, &[]).await;
    let looked_at_all = async || {
        // Services of other tests that do not exist any more are looked up, too, because they may have been its own.
        let ours = fixture.named("");
        let services = fixture
            .cloud
            .calls()
            .into_iter()
            .filter_map(|call| call.details.service);
        let services = services.filter(|service| service.name.starts_with(&ours));
        match services.map(|service| service.uid).collect::<BTreeSet<_>>().len() {
            SERVICES => Ok(()),
            some => Err(format!("it asked about {some} of {SERVICES}")),
        }
    };
    after.until("it to ask about all Services", looked_at_all).await;
    // Once this one is complete, all earlier work is complete, too.
    let marker = fixture.create(fixture.balanced("marker")).await.name_any();
    fixture.served(&after, &marker).await;

    fixture.audited().await;
    let mut changes = after.changes(&fixture, Mark::default());
    changes.retain(|change| !change.ends_with(&marker));
    assert_eq!(changes, [""; 0]);
    let mut writes = fixture.cloud.writes();
    let is_marker = |call: &Call| call.service.as_ref().is_some_and(|service| service.name == marker);
    writes.retain(|call| !is_marker(call));
    assert_eq!(writes, [], "the cloud was changed");
}

#[tokio::test]
async fn services_deleted_or_retyped_during_the_restart_are_cleaned_up() {
    let fixture = Fixture::shared().await;
    let before = Replica::start(&fixture, &[ALONE]).await;
    let node = fixture.join("node").await;
    fixture.initialised(&before, &node).await;
    for name in ["deleted", "retyped", "kept"] {
        let service = fixture.create(fixture.balanced(name)).await;
        fixture.served(&before, &service.name_any()).await;
    }
    stopped(&before).await;

    let (deleted, retyped) = (fixture.named("deleted"), fixture.named("retyped"));
    fixture.delete_service(&deleted).await;
    fixture.retype(&retyped).await;
    assert_eq!(fixture.cloud.load_balancers().len(), 3);

    let after = Replica::start(&fixture, &[ALONE]).await;
    let look = async || {
        let gone = fixture.services().get_opt(&deleted).await.unwrap();
        let plain = fixture.services().get(&retyped).await.unwrap();
        let clean = plain.finalizers().is_empty() && service_address(&plain).is_none();
        if gone.is_none() && clean {
            Ok(())
        } else {
            Err(format!("{gone:?} {plain:?}"))
        }
    };
    after.until("the Services to be cleaned up", look).await;
    let left: Vec<_> = fixture
        .cloud
        .load_balancers()
        .into_iter()
        .map(|balancer| balancer.service.name)
        .collect();
    assert_eq!(left, [fixture.named("kept")]);
}
