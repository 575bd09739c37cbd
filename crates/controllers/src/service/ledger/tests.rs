use super::*;
use crate::service::{hosts::HostSet, metrics::Metrics, tests::node};
use prometheus::Registry;
use rstest::rstest;
use testkit::service::load_balancer;

fn hosts(names: &[&str]) -> Fingerprint {
    let nodes: Vec<_> = names.iter().map(|name| node(name, "")).collect();
    HostSet::of(&nodes, |_| true).fingerprint()
}

fn settled(name: &str, on: &[&str]) -> Known {
    let mut known = Known::new(load_balancer(name).build().into(), Phase::Settled);
    known.hosts = Some(hosts(on));
    known
}

impl Ledger {
    pub(in crate::service) fn knows(&self, key: &str) -> bool {
        self.lock().known.contains_key(key)
    }

    fn uids(&self) -> Vec<String> {
        let uid = |known: &Known| known.service.metadata.uid.clone();
        self.lock().known.values().filter_map(uid).collect()
    }
}

fn put(ledger: &Ledger, known: Known) {
    let key = format!("default/{}", known.service.metadata.name.clone().unwrap());
    ledger.with_or(&key, || known, |_| ());
}

// upstream: TestServiceCache
#[test]
fn keeps_services() {
    let ledger = Ledger::default();
    let size = || ledger.uids().len();
    put(&ledger, settled("a", &[]));
    assert_eq!(size(), 1, "add");
    ledger.forget("default/a");
    assert_eq!(size(), 0, "delete");
    put(&ledger, settled("a", &[]));
    assert!(ledger.knows("default/a"), "set+get");
    put(&ledger, settled("b", &[]));
    assert_eq!(size(), 2, "second set, list keys");
    let name = ledger
        .with("default/b", |known| known.service.metadata.name.clone())
        .flatten();
    assert_eq!(name.as_deref(), Some("b"), "get by key");
    let mut all = ledger.uids();
    all.sort();
    assert_eq!(all, ["uid-a", "uid-b"], "all services");
}

#[test]
fn services_that_are_not_worked_on_hear_of_new_hosts() {
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let ledger = Ledger::default();
    put(&ledger, settled("old", &["n1"]));
    put(&ledger, settled("new", &["n1", "n2"]));
    let ensuring = Phase::Ensuring(Round::new(Voice::Quiet));
    put(&ledger, Known::new(load_balancer("under-way").build().into(), ensuring));
    let pass = Arc::new(Pass::start(&metrics));
    assert_eq!(ledger.outdated(hosts(&["n1", "n2"]), &pass), ["default/old"]);

    drop(pass);
    assert_eq!(
        metrics.node_sync.get_sample_count(),
        0,
        "one Service has still to hear of it"
    );
    drop(ledger.take_pass("default/old"));
    assert_eq!(metrics.node_sync.get_sample_count(), 1);
}

fn in_the_cloud(phase: Phase, address: Option<&str>) -> Known {
    let service = match address {
        Some(address) => load_balancer("a").ingress_ip(address),
        None => load_balancer("a"),
    };
    let mut known = Known::new(service.build().into(), phase);
    known.reach = Reach::Cloud;
    known
}

/// What is gone is looked at again only if that leaves something to do.
#[rstest]
#[case::in_order(Phase::Settled, Some("192.0.2.1"), false)]
#[case::refused(Phase::Refused, Some("192.0.2.1"), false)]
#[case::hosts_failed(Phase::Updating(Round::new(Voice::Told)), Some("192.0.2.1"), false)]
#[case::change_failed(Phase::Ensuring(Round::new(Voice::Told)), Some("192.0.2.1"), false)]
#[case::being_made(Phase::Ensuring(Round::new(Voice::Told)), None, true)]
#[case::being_deleted(Phase::Deleting(Round::new(Voice::Told)), Some("192.0.2.1"), true)]
fn departs(#[case] phase: Phase, #[case] address: Option<&str>, #[case] leaves_work: bool) {
    let (ledger, metrics) = (Ledger::default(), Metrics::register(&Registry::new()).unwrap());
    put(&ledger, in_the_cloud(phase, address));
    assert_eq!(ledger.depart("default/a"), leaves_work);
    assert_eq!(ledger.depart("default/a"), leaves_work, "the second time");
    assert!(ledger.knows("default/a"), "another may take its name");
    let pass = Arc::new(Pass::start(&metrics));
    assert_eq!(ledger.outdated(hosts(&["n1"]), &pass), [""; 0]);
    if !leaves_work {
        assert_eq!(ledger.reopen(), [""; 0]);
    }
    let step = ledger.plan("default/a", None, &Classes::default(), hosts(&["n1"]));
    assert_eq!(matches!(step, Step::Remove(_)), leaves_work, "{step}");
}

#[test]
fn what_never_reached_the_cloud_is_forgotten_at_once() {
    let ledger = Ledger::default();
    put(&ledger, Known::new(load_balancer("a").build().into(), Phase::Refused));
    assert!(!ledger.depart("default/a"));
    assert!(!ledger.knows("default/a"));
}

#[tokio::test(start_paused = true)]
async fn what_departed_is_forgotten_after_a_while() {
    let ledger = Ledger::default();
    for back in [false, true] {
        put(&ledger, in_the_cloud(Phase::Settled, None));
        ledger.depart("default/a");
        tokio::time::advance(MEMORY.saturating_sub(Duration::from_secs(1))).await;
        ledger.depart("default/other");
        assert!(ledger.knows("default/a"));
        if back {
            ledger.with("default/a", |known| known.phase = Phase::Settled);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        ledger.depart("default/other");
        assert_eq!(ledger.knows("default/a"), back, "one that came back is there");
    }
}

#[test]
fn what_we_wrote_counts_until_the_informer_has_caught_up() {
    let ledger = Ledger::default();
    put(&ledger, settled("a", &[]));
    let version = |version: &str| Arc::new(load_balancer("a").version(version).build());
    let newest = |seen: &str| {
        ledger
            .newest("default/a", version(seen))
            .metadata
            .resource_version
            .clone()
    };

    ledger.wrote("default/a", &version("1"), version("2"), &Annotations::default());
    assert_eq!(newest("1").as_deref(), Some("2"));
    assert_eq!(newest("3").as_deref(), Some("3"));
    assert_eq!(newest("1").as_deref(), Some("1"), "what we wrote is forgotten");
}

#[test]
fn pending_work_is_counted_while_it_is_pending() {
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let ledger = Ledger::default();
    let mut round = Round::new(Voice::Told);
    round.pending = Some(Pending::new(&metrics));
    put(
        &ledger,
        Known::new(load_balancer("a").build().into(), Phase::Ensuring(round)),
    );
    assert_eq!(metrics.pending.get(), 1);
    ledger.forget("default/a");
    assert_eq!(metrics.pending.get(), 0);
}

#[test]
fn a_service_is_not_kept_twice() {
    let ledger = Ledger::default();
    put(&ledger, settled("a", &[]));
    let kept = || ledger.with("default/a", |known| known.service.clone()).unwrap();
    let ours = Arc::new(load_balancer("a").ingress_ip("192.0.2.1").build());
    ledger.caught_up("default/a", &ours, &Classes::default());
    assert!(Arc::ptr_eq(&kept(), &ours));

    let theirs = Arc::new(load_balancer("a").annotation("a", "b").build());
    ledger.caught_up("default/a", &theirs, &Classes::default());
    assert!(Arc::ptr_eq(&kept(), &ours), "its load balancer has yet to match");

    let another = Arc::new(load_balancer("a").uid("other").build());
    ledger.caught_up("default/a", &another, &Classes::default());
    assert!(Arc::ptr_eq(&kept(), &ours), "what it left behind has yet to go");
}
