use super::*;
use crate::service::{
    hosts::HostSet,
    ledger::{Round, Voice},
    options::Classless,
    predicates::FINALIZER,
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

fn known(service: Builder, phase: Phase) -> Known {
    let mut known = Known::new(service.build().into(), phase);
    known.reach = Reach::Cloud;
    known
}

/// In order, with so many hosts.
fn settled(service: Builder, count: usize) -> Known {
    let mut known = known(service, Phase::Settled);
    known.hosts = Some(hosts(count));
    known
}

/// What only its user can mend; its load balancer has so many hosts.
fn refused(service: Builder, count: usize) -> Known {
    let mut known = known(service, Phase::Refused);
    known.hosts = Some(hosts(count));
    known
}

fn never_asked_for(service: Builder) -> Known {
    Known::new(service.build().into(), Phase::Refused)
}

fn ensuring() -> Phase {
    Phase::Ensuring(Round::new(Voice::Told))
}

fn updating() -> Phase {
    Phase::Updating(Round::new(Voice::Told))
}

fn update_failed() -> Phase {
    let mut round = Round::new(Voice::Told);
    round.failed_with = Some(hosts(2));
    Phase::Updating(round)
}

fn deleting() -> Phase {
    Phase::Deleting(Round::new(Voice::Told))
}

/// The settings have changed.
fn reopened(mut known: Known) -> Known {
    known.settings = Settings::Old;
    known
}

fn departed() -> Phase {
    Phase::Departed(tokio::time::Instant::now())
}

const GONE: Option<Builder> = None;
const REMOVE: &str = "remove the load balancer of a Service that is gone";

/// There are two hosts.
#[rstest]
#[case::new(Some(lb()), None, "ensure")]
#[case::not_wanted(Some(cluster_ip("a")), None, "nothing")]
#[case::class_of_others(Some(lb().class("x")), None, "nothing")]
#[case::unchanged(Some(lb()), Some(settled(lb(), 2)), "nothing")]
#[case::our_own_write(Some(lb().ingress_ip("192.0.2.1")), Some(settled(lb(), 2)), "nothing")]
#[case::changed(Some(lb().annotation("a", "b")), Some(settled(lb(), 2)), "ensure")]
#[case::node_joined(Some(lb()), Some(settled(lb(), 1)), "update hosts")]
#[case::changed_and_node_joined(Some(lb().annotation("a", "b")), Some(settled(lb(), 1)), "ensure")]
#[case::other_settings(Some(lb()), Some(reopened(settled(lb(), 2))), "ensure")]
#[case::other_settings_for_what_was_refused(Some(lb()), Some(reopened(refused(lb(), 2))), "ensure")]
#[case::other_settings_while_hosts_are_updated(Some(lb()), Some(reopened(known(lb(), updating()))), "ensure")]
#[case::other_settings_and_gone(GONE, Some(reopened(known(lb(), departed()))), "nothing")]
#[case::pending_or_failed(Some(lb()), Some(known(lb(), ensuring())), "ensure")]
#[case::hosts_pending(Some(lb()), Some(known(lb(), updating())), "update hosts")]
#[case::hosts_pending_and_changed(Some(lb().annotation("a", "b")), Some(known(lb(), updating())), "ensure")]
#[case::hosts_failed(Some(lb()), Some(known(lb(), update_failed())), "ensure")]
#[case::refused(Some(lb()), Some(refused(lb(), 2)), "nothing")]
#[case::refused_but_serving(Some(lb().ingress_ip("192.0.2.1")), Some(refused(lb(), 1)), "update hosts")]
#[case::refused_and_serving_the_same(Some(lb().ingress_ip("192.0.2.1")), Some(refused(lb(), 2)), "nothing")]
#[case::refused_and_serving_nobody(Some(lb()), Some(refused(lb(), 1)), "nothing")]
#[case::mended(Some(lb().annotation("a", "b")), Some(known(lb(), Phase::Refused)), "ensure")]
#[case::elsewhere(Some(lb()), Some(known(lb(), Phase::Elsewhere)), "nothing")]
#[case::came_to_us(Some(lb().annotation("a", "b")), Some(known(lb(), Phase::Elsewhere)), "ensure")]
#[case::wanted_again(Some(lb()), Some(known(lb(), deleting())), "ensure")]
#[case::deleted(Some(lb().finalizer(FINALIZER).deleted()), Some(settled(lb(), 2)), "clean up")]
#[case::deleted_before_we_came(Some(lb().finalizer(FINALIZER).deleted()), None, "clean up")]
#[case::deletion_goes_on(Some(lb().finalizer(FINALIZER).deleted()), Some(known(lb(), deleting())), "clean up")]
#[case::no_load_balancer_any_more(Some(cluster_ip("a").finalizer(FINALIZER)), Some(settled(lb(), 2)), "clean up")]
#[case::finalizer_was_stripped(Some(cluster_ip("a")), Some(settled(lb(), 2)), "clean up")]
#[case::deleted_without_our_finalizer(Some(lb().finalizer("x").deleted()), Some(settled(lb(), 2)), "clean up")]
#[case::held_by_others(Some(lb().finalizer("x").deleted()), None, "nothing")]
#[case::gone_without_finalizer(GONE, Some(settled(lb(), 2)), REMOVE)]
#[case::gone_and_never_asked_for(GONE, Some(never_asked_for(lb())), "forget")]
#[case::gone_and_unknown(GONE, None, "nothing")]
#[case::departed(GONE, Some(known(lb(), departed())), "nothing")]
#[case::departed_and_back(Some(lb()), Some(known(lb(), departed())), "ensure")]
#[case::departed_and_replaced(Some(lb().uid("other")), Some(known(lb(), departed())), REMOVE)]
#[case::replaced(Some(lb().uid("other")), Some(settled(lb(), 2)), REMOVE)]
#[case::replaced_by_another_type(Some(cluster_ip("a").uid("other")), Some(settled(lb(), 2)), REMOVE)]
#[case::replaced_and_never_asked_for(Some(lb().uid("other")), Some(never_asked_for(lb())), "forget")]
#[case::refused_and_not_wanted(Some(cluster_ip("a")), Some(never_asked_for(lb())), "forget")]
fn plans(#[case] service: Option<Builder>, #[case] known: Option<Known>, #[case] step: &str) {
    let service = service.map(Builder::build);
    assert_eq!(
        plan(service.as_ref(), known.as_ref(), &Classes::default(), hosts(2)).to_string(),
        step
    );
}

/// One manager serves class `x` only; another may serve the rest.
#[rstest]
#[case::ours(Some(lb().class("x")), None, "ensure")]
#[case::classless(Some(lb()), None, "nothing")]
#[case::ours_deleted(Some(lb().class("x").finalizer(FINALIZER).deleted()), None, "clean up")]
#[case::theirs_deleted(Some(lb().class("y").finalizer(FINALIZER).deleted()), None, "nothing")]
#[case::classless_deleted(Some(lb().finalizer(FINALIZER).deleted()), None, "nothing")]
#[case::whose(Some(cluster_ip("a").finalizer(FINALIZER)), None, "clean up if it is ours")]
#[case::known_to_be_ours(Some(cluster_ip("a").finalizer(FINALIZER)), Some(settled(lb().class("x"), 2)), "clean up")]
fn plans_by_class(#[case] service: Option<Builder>, #[case] known: Option<Known>, #[case] step: &str) {
    let classes = Classes {
        named: ["x".to_owned()].into(),
        classless: Classless::Ignored,
    };
    let service = service.map(Builder::build);
    assert_eq!(
        plan(service.as_ref(), known.as_ref(), &classes, hosts(2)).to_string(),
        step
    );
}
