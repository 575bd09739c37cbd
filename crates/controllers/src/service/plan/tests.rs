use super::*;
use crate::service::{
    hosts::HostSet,
    options::Classless,
    spec::predicates::FINALIZER,
    state::{Announced, Operation},
    tests::node,
};
use rstest::rstest;
use testkit::service::{Builder, cluster_ip, load_balancer};

fn hosts(count: usize) -> Fingerprint {
    let nodes: Vec<_> = (0..count).map(|index| node(&format!("node-{index}"), "")).collect();
    HostSet::of(&nodes, |_| true).fingerprint()
}

fn lb() -> Builder {
    load_balancer("a")
}

fn state(service: Builder, phase: Phase) -> ServiceState {
    let mut state = ServiceState::new(service.build().into(), phase);
    state.cloud_objects = CloudObjects::MayExist;
    state
}

/// Reconciled, with this many hosts.
fn ready(service: Builder, count: usize) -> ServiceState {
    let mut state = state(service, Phase::Ready);
    state.hosts = Some(hosts(count));
    state
}

/// Rejected; its load balancer has this many hosts.
fn rejected(service: Builder, count: usize) -> ServiceState {
    let mut state = state(service, Phase::Rejected);
    state.hosts = Some(hosts(count));
    state
}

fn without_objects(service: Builder) -> ServiceState {
    ServiceState::new(service.build().into(), Phase::Rejected)
}

fn ensuring() -> Phase {
    Phase::Ensuring(Operation::new(Announced::Yes))
}

fn updating() -> Phase {
    Phase::UpdatingHosts(Operation::new(Announced::Yes))
}

fn update_failed() -> Phase {
    let mut operation = Operation::new(Announced::Yes);
    operation.failed_with = Some(hosts(2));
    Phase::UpdatingHosts(operation)
}

fn deleting() -> Phase {
    Phase::Deleting(Operation::new(Announced::Yes))
}

/// The cloud's settings have changed.
fn outdated(mut state: ServiceState) -> ServiceState {
    state.settings = CloudSettings::Outdated;
    state
}

fn gone() -> Phase {
    Phase::Gone(tokio::time::Instant::now())
}

const GONE: Option<Builder> = None;
const DELETE_OF_GONE: &str = "delete the load balancer of a Service that does not exist";

/// There are two hosts.
#[rstest]
#[case::new(Some(lb()), None, "ensure")]
#[case::not_wanted(Some(cluster_ip("a")), None, "nothing")]
#[case::class_of_others(Some(lb().class("x")), None, "nothing")]
#[case::unchanged(Some(lb()), Some(ready(lb(), 2)), "nothing")]
#[case::our_own_write(Some(lb().ingress_ip("192.0.2.1")), Some(ready(lb(), 2)), "nothing")]
#[case::changed(Some(lb().annotation("a", "b")), Some(ready(lb(), 2)), "ensure")]
#[case::node_joined(Some(lb()), Some(ready(lb(), 1)), "update hosts")]
#[case::changed_and_node_joined(Some(lb().annotation("a", "b")), Some(ready(lb(), 1)), "ensure")]
#[case::other_settings(Some(lb()), Some(outdated(ready(lb(), 2))), "ensure")]
#[case::other_settings_after_a_rejection(Some(lb()), Some(outdated(rejected(lb(), 2))), "ensure")]
#[case::other_settings_while_hosts_are_updated(Some(lb()), Some(outdated(state(lb(), updating()))), "ensure")]
#[case::other_settings_and_gone(GONE, Some(outdated(state(lb(), gone()))), "nothing")]
#[case::pending_or_failed(Some(lb()), Some(state(lb(), ensuring())), "ensure")]
#[case::hosts_pending(Some(lb()), Some(state(lb(), updating())), "update hosts")]
#[case::hosts_pending_and_changed(Some(lb().annotation("a", "b")), Some(state(lb(), updating())), "ensure")]
#[case::hosts_failed(Some(lb()), Some(state(lb(), update_failed())), "ensure")]
#[case::rejected(Some(lb()), Some(rejected(lb(), 2)), "nothing")]
#[case::rejected_but_serving(Some(lb().ingress_ip("192.0.2.1")), Some(rejected(lb(), 1)), "update hosts")]
#[case::rejected_and_serving_the_same(Some(lb().ingress_ip("192.0.2.1")), Some(rejected(lb(), 2)), "nothing")]
#[case::rejected_and_not_serving(Some(lb()), Some(rejected(lb(), 1)), "nothing")]
#[case::corrected(Some(lb().annotation("a", "b")), Some(state(lb(), Phase::Rejected)), "ensure")]
#[case::other_controller(Some(lb()), Some(state(lb(), Phase::OtherController)), "nothing")]
#[case::changed_at_another_controller(Some(lb().annotation("a", "b")), Some(state(lb(), Phase::OtherController)), "ensure")]
#[case::wanted_again(Some(lb()), Some(state(lb(), deleting())), "ensure")]
#[case::deleted(Some(lb().finalizer(FINALIZER).deleted()), Some(ready(lb(), 2)), "delete")]
#[case::deleted_before_the_start(Some(lb().finalizer(FINALIZER).deleted()), None, "delete")]
#[case::deletion_goes_on(Some(lb().finalizer(FINALIZER).deleted()), Some(state(lb(), deleting())), "delete")]
#[case::no_load_balancer_any_more(Some(cluster_ip("a").finalizer(FINALIZER)), Some(ready(lb(), 2)), "delete")]
#[case::finalizer_was_stripped(Some(cluster_ip("a")), Some(ready(lb(), 2)), "delete")]
#[case::deleted_without_our_finalizer(Some(lb().finalizer("x").deleted()), Some(ready(lb(), 2)), "delete")]
#[case::other_finalizer(Some(lb().finalizer("x").deleted()), None, "nothing")]
#[case::gone_without_finalizer(GONE, Some(ready(lb(), 2)), DELETE_OF_GONE)]
#[case::gone_without_objects(GONE, Some(without_objects(lb())), "forget")]
#[case::gone_and_unknown(GONE, None, "nothing")]
#[case::gone(GONE, Some(state(lb(), gone())), "nothing")]
#[case::gone_and_back(Some(lb()), Some(state(lb(), gone())), "ensure")]
#[case::gone_and_replaced(Some(lb().uid("other")), Some(state(lb(), gone())), DELETE_OF_GONE)]
#[case::replaced(Some(lb().uid("other")), Some(ready(lb(), 2)), DELETE_OF_GONE)]
#[case::replaced_by_another_type(Some(cluster_ip("a").uid("other")), Some(ready(lb(), 2)), DELETE_OF_GONE)]
#[case::replaced_without_objects(Some(lb().uid("other")), Some(without_objects(lb())), "forget")]
#[case::rejected_and_not_wanted(Some(cluster_ip("a")), Some(without_objects(lb())), "forget")]
fn plans(#[case] service: Option<Builder>, #[case] state: Option<ServiceState>, #[case] step: &str) {
    let service = service.map(Builder::build);
    assert_eq!(
        plan(service.as_ref(), state.as_ref(), &Classes::default(), hosts(2)).to_string(),
        step
    );
}

/// This manager serves class `x` only.
#[rstest]
#[case::ours(Some(lb().class("x")), None, "ensure")]
#[case::classless(Some(lb()), None, "nothing")]
#[case::ours_deleted(Some(lb().class("x").finalizer(FINALIZER).deleted()), None, "delete")]
#[case::others_deleted(Some(lb().class("y").finalizer(FINALIZER).deleted()), None, "nothing")]
#[case::classless_deleted(Some(lb().finalizer(FINALIZER).deleted()), None, "nothing")]
#[case::unknown_manager(Some(cluster_ip("a").finalizer(FINALIZER)), None, "delete if found")]
#[case::known_manager(Some(cluster_ip("a").finalizer(FINALIZER)), Some(ready(lb().class("x"), 2)), "delete")]
fn plans_by_class(#[case] service: Option<Builder>, #[case] state: Option<ServiceState>, #[case] step: &str) {
    let classes = Classes {
        named: ["x".to_owned()].into(),
        classless: Classless::Ignored,
    };
    let service = service.map(Builder::build);
    assert_eq!(
        plan(service.as_ref(), state.as_ref(), &classes, hosts(2)).to_string(),
        step
    );
}
