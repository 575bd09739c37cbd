use super::*;
use crate::service::{
    hosts::HostSet,
    metrics::Metrics,
    plan::{Step, plan},
    tests::node,
};
use prometheus::Registry;
use rstest::rstest;
use testkit::service::load_balancer;

fn hosts(names: &[&str]) -> Fingerprint {
    let nodes: Vec<_> = names.iter().map(|name| node(name, "")).collect();
    HostSet::of(&nodes, |_| true).fingerprint()
}

fn ready(name: &str, on: &[&str]) -> ServiceState {
    let mut state = ServiceState::new(load_balancer(name).build().into(), Phase::Ready);
    state.hosts = Some(hosts(on));
    state
}

impl ServiceStates {
    fn has(&self, key: &str) -> bool {
        self.read(key, |state| state.is_some())
    }

    fn uids(&self) -> Vec<String> {
        let uid = |state: &ServiceState| state.service.metadata.uid.clone();
        self.lock().services.values().filter_map(uid).collect()
    }
}

fn put(states: &ServiceStates, state: ServiceState) {
    let key = format!("default/{}", state.service.metadata.name.clone().unwrap());
    states.with_or(&key, || state, |_| ());
}

#[test]
fn a_wait_is_reported_less_and_less_often() {
    let first = Duration::from_secs(30);
    let reports = std::iter::successors(Some(next_report(first, None)), |last| {
        Some(next_report(first, Some(*last)))
    });
    let minutes: Vec<_> = reports.take(6).map(|at| at.as_secs_f64() / 60.0).collect();
    assert_eq!(minutes, [0.5, 2.0, 8.0, 32.0, 62.0, 92.0]);
}

#[test]
fn only_load_balancers_that_match_are_compared_again() {
    let states = ServiceStates::default();
    put(&states, ready("a", &[]));
    let rejected = ServiceState::new(load_balancer("b").build().into(), Phase::Rejected);
    put(&states, rejected);
    assert_eq!(states.resync(), ["default/a"]);
    let outdated = states.read("default/a", |state| state.map(|state| state.settings));
    assert_eq!(outdated, Some(CloudSettings::Outdated));
}

// upstream: TestServiceCache
#[test]
fn keeps_services() {
    let states = ServiceStates::default();
    let size = || states.uids().len();
    put(&states, ready("a", &[]));
    assert_eq!(size(), 1, "add");
    states.forget("default/a");
    assert_eq!(size(), 0, "delete");
    put(&states, ready("a", &[]));
    assert!(states.has("default/a"), "set+get");
    put(&states, ready("b", &[]));
    assert_eq!(size(), 2, "second set, list keys");
    let name = states
        .with("default/b", |state| state.service.metadata.name.clone())
        .flatten();
    assert_eq!(name.as_deref(), Some("b"), "get by key");
    let mut all = states.uids();
    all.sort();
    assert_eq!(all, ["uid-a", "uid-b"], "all services");
}

#[test]
fn idle_services_get_new_hosts() {
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let states = ServiceStates::default();
    put(&states, ready("old", &["n1"]));
    put(&states, ready("new", &["n1", "n2"]));
    let ensuring = Phase::Ensuring(Operation::new(Announced::No));
    put(
        &states,
        ServiceState::new(load_balancer("under-way").build().into(), ensuring),
    );
    let change = Arc::new(HostChange::start(&metrics));
    assert_eq!(states.outdated(hosts(&["n1", "n2"]), &change), ["default/old"]);

    drop(change);
    assert_eq!(
        metrics.node_sync.get_sample_count(),
        0,
        "one Service does not have it yet"
    );
    drop(states.take_host_change("default/old"));
    assert_eq!(metrics.node_sync.get_sample_count(), 1);
}

fn with_objects(phase: Phase, address: Option<&str>) -> ServiceState {
    let service = match address {
        Some(address) => load_balancer("a").ingress_ip(address),
        None => load_balancer("a"),
    };
    let mut state = ServiceState::new(service.build().into(), phase);
    state.cloud_objects = CloudObjects::MayExist;
    state
}

/// A Service that does not exist any more is reconciled only if there is work left.
#[rstest]
#[case::ready(Phase::Ready, Some("192.0.2.1"), false)]
#[case::rejected(Phase::Rejected, Some("192.0.2.1"), false)]
#[case::hosts_failed(Phase::UpdatingHosts(Operation::new(Announced::Yes)), Some("192.0.2.1"), false)]
#[case::change_failed(Phase::Ensuring(Operation::new(Announced::Yes)), Some("192.0.2.1"), false)]
#[case::being_created(Phase::Ensuring(Operation::new(Announced::Yes)), None, true)]
#[case::being_deleted(Phase::Deleting(Operation::new(Announced::Yes)), Some("192.0.2.1"), true)]
fn state_of_a_deleted_service(#[case] phase: Phase, #[case] address: Option<&str>, #[case] leaves_work: bool) {
    let (states, metrics) = (ServiceStates::default(), Metrics::register(&Registry::new()).unwrap());
    put(&states, with_objects(phase, address));
    assert_eq!(states.gone("default/a"), leaves_work);
    assert_eq!(states.gone("default/a"), leaves_work, "the second time");
    assert!(states.has("default/a"), "another Service may take its name");
    let change = Arc::new(HostChange::start(&metrics));
    assert_eq!(states.outdated(hosts(&["n1"]), &change), [""; 0]);
    if !leaves_work {
        assert_eq!(states.settings_changed(), [""; 0]);
    }
    let step = states.read("default/a", |state| {
        plan(None, state, &Classes::default(), hosts(&["n1"]))
    });
    assert_eq!(matches!(step, Step::DeleteOfGone(_)), leaves_work, "{step}");
}

#[test]
fn without_cloud_objects_the_state_is_forgotten_at_once() {
    let states = ServiceStates::default();
    put(
        &states,
        ServiceState::new(load_balancer("a").build().into(), Phase::Rejected),
    );
    assert!(!states.gone("default/a"));
    assert!(!states.has("default/a"));
}

#[tokio::test(start_paused = true)]
async fn the_state_of_a_deleted_service_is_dropped_after_a_while() {
    let states = ServiceStates::default();
    for back in [false, true] {
        put(&states, with_objects(Phase::Ready, None));
        states.gone("default/a");
        tokio::time::advance(KEEP_GONE.saturating_sub(Duration::from_secs(1))).await;
        states.gone("default/other");
        assert!(states.has("default/a"));
        if back {
            states.with("default/a", |state| state.phase = Phase::Ready);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        states.gone("default/other");
        assert_eq!(states.has("default/a"), back, "one that exists again is kept");
    }
}

#[test]
fn an_own_write_counts_until_the_informer_has_caught_up() {
    let states = ServiceStates::default();
    put(&states, ready("a", &[]));
    let version = |version: &str| Arc::new(load_balancer("a").version(version).build());
    let newest = |seen: &str| {
        states
            .newest("default/a", version(seen))
            .metadata
            .resource_version
            .clone()
    };

    states.wrote("default/a", &version("1"), version("2"), &Annotations::default());
    assert_eq!(newest("1").as_deref(), Some("2"));
    assert_eq!(newest("3").as_deref(), Some("3"));
    assert_eq!(newest("1").as_deref(), Some("1"), "the write is forgotten");
}

#[test]
fn pending_operations_are_counted() {
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let states = ServiceStates::default();
    let mut operation = Operation::new(Announced::Yes);
    operation.pending = Some(Pending::new(&metrics));
    put(
        &states,
        ServiceState::new(load_balancer("a").build().into(), Phase::Ensuring(operation)),
    );
    assert_eq!(metrics.pending.get(), 1);
    states.forget("default/a");
    assert_eq!(metrics.pending.get(), 0);
}

#[test]
fn a_service_is_stored_once() {
    let states = ServiceStates::default();
    put(&states, ready("a", &[]));
    let kept = || states.with("default/a", |state| state.service.clone()).unwrap();
    let ours = Arc::new(load_balancer("a").ingress_ip("192.0.2.1").build());
    states.cached("default/a", &ours, &Classes::default());
    assert!(Arc::ptr_eq(&kept(), &ours));

    let theirs = Arc::new(load_balancer("a").annotation("a", "b").build());
    states.cached("default/a", &theirs, &Classes::default());
    assert!(Arc::ptr_eq(&kept(), &ours), "its load balancer does not match yet");

    let another = Arc::new(load_balancer("a").uid("other").build());
    states.cached("default/a", &another, &Classes::default());
    assert!(
        Arc::ptr_eq(&kept(), &ours),
        "the load balancer of the first still exists"
    );
}
