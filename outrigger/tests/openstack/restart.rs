//! A manager that restarts while the cloud does not change.

use crate::{
    fixture::{Fixture, PASSWORD, metric, summaries},
    process_fixture::Entry,
};
use kube::ResourceExt;
use std::collections::BTreeMap;

const SERVICES: u64 = 50;

#[tokio::test]
async fn a_restart_reads_a_few_pages_and_writes_nothing() {
    let fixture = Fixture::private().await;
    let guarded = fixture.load_balancer("manage-security-groups=true");
    let config = format!("{}{guarded}", fixture.global(PASSWORD));
    let launch = || fixture.manager_with(&config);
    let before = fixture.start_with(launch(), &[]).await;
    fixture.nodes(&before, 3).await;
    let mut names = Vec::new();
    for n in 0..SERVICES {
        names.push(fixture.create(fixture.balanced(&format!("web-{n}"))).await.name_any());
    }
    for name in &names {
        fixture.served(&before, name).await;
    }
    before.signal("TERM");
    assert_eq!(before.exited().await.code, 0, "{}", before.log_tail());

    let (mark, requests) = (fixture.cloud.mark(), fixture.mark());
    let after = fixture.start_with(launch(), &[]).await;
    let series = "cloudprovider_openstack_reconcile_total{operation=\"loadbalancer_ensure\"}";
    let looked = async || match metric(&after, series).await {
        Ok(passes) if passes >= SERVICES => Ok(passes),
        passes => Err(format!("{passes:?}")),
    };
    let passes = after.until("all Services to be looked at", looked).await;
    assert_eq!(passes, SERVICES, "some were looked at twice");
    fixture.audited().await;
    let calls = fixture.cloud.calls_since(mark);
    let mut counts = BTreeMap::<_, u64>::new();
    for call in &calls {
        *counts.entry(call.operation).or_default() += 1;
    }
    for (operation, count) in &counts {
        // The ports of the nodes, and the ports with groups of Services.
        let most = if *operation == "port_list" { 2 } else { 1 };
        assert!(*count <= most, "{operation}: {counts:?}");
    }
    assert!(calls.len() <= 12, "{counts:?}");
    assert!(
        fixture.cloud.writes_since(mark).is_empty(),
        "{:?}",
        summaries(&fixture.cloud.writes_since(mark))
    );
    let is_change = |entry: &Entry| entry.is_write() && !["leases", "events"].contains(&entry.resource.as_str());
    let changes: Vec<_> = fixture.requests_since(requests).into_iter().filter(is_change).collect();
    let reviews = |entry: &Entry| entry.resource.ends_with("reviews");
    let changes: Vec<_> = changes
        .iter()
        .filter(|entry| !reviews(entry))
        .map(Entry::what)
        .collect();
    assert_eq!(changes, [""; 0]);
}
