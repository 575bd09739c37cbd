//! Every endpoint fails, in every way, in every phase of a cluster: nothing is doubled or left behind, no node is deleted, and the cloud ends in
//! the same state as without faults.

mod endpoints;
#[path = "../it/fixture.rs"]
mod fixture;
mod injection;
mod lifecycle;
mod snapshot;

use injection::{Injection, Pace};
use lifecycle::Lifecycle;
use openstack_sim::Fault;
use rstest::rstest;
use std::collections::BTreeSet;
use tokio::sync::OnceCell;

/// For these, "not found" is an answer: a missing object need not be deleted or changed, the Node of a missing server is deleted, and a flavor
/// may be deleted while servers have it.
const ACCEPTED: &[&str] = &[
    "flavor_get",
    "floating_ip_delete",
    "port_get",
    "port_tag_delete",
    "security_group_delete",
    "security_group_rule_delete",
    "server_get",
];

/// The snapshots of a lifecycle without faults.
struct Undisturbed {
    phases: Vec<(&'static str, String)>,
    called: BTreeSet<String>,
}

async fn undisturbed() -> &'static Undisturbed {
    static LIFECYCLE: OnceCell<Undisturbed> = OnceCell::const_new();
    LIFECYCLE
        .get_or_init(|| async {
            let lifecycle = Lifecycle::run(Injection::none()).await;
            Undisturbed {
                called: lifecycle.called(),
                phases: lifecycle.phases,
            }
        })
        .await
}

/// A new endpoint fails this test until the lifecycle calls it; then it fails in the other test, too.
#[tokio::test]
async fn a_lifecycle_calls_every_endpoint() {
    let (all, called) = (endpoints::all(), &undisturbed().await.called);
    let missing: Vec<_> = all.difference(called).collect();
    assert!(missing.is_empty(), "{missing:?} are never called");
    let unknown: Vec<_> = called.difference(&all).collect();
    assert!(unknown.is_empty(), "{unknown:?} are called and were not found in api/");
}

#[rstest]
#[case::unauthorized(|| Fault::status(401), Pace::EveryPhase, &[])]
#[case::not_found(|| Fault::status(404), Pace::EveryPhase, ACCEPTED)]
#[case::conflict(|| Fault::status(409), Pace::EveryPhase, &[])]
#[case::throttled(|| Fault::status(429).retry_after("1"), Pace::Once, &[])]
#[case::error(|| Fault::status(500), Pace::EveryPhase, &[])]
#[case::unavailable(|| Fault::status(503), Pace::Lasting, &[])]
#[case::truncated(Fault::truncate, Pace::EveryPhase, &[])]
#[case::lost(Fault::lose_answer, Pace::EveryPhase, &[])]
#[case::reset(Fault::reset, Pace::EveryPhase, &[])]
#[case::hanging(Fault::hang, Pace::Once, &[])]
#[tokio::test]
async fn a_lifecycle_in_which_every_endpoint_fails(
    #[case] fault: fn() -> Fault,
    #[case] pace: Pace,
    #[case] spared: &'static [&'static str],
) {
    let undisturbed = undisturbed().await;
    let lifecycle = Lifecycle::run(Injection::new(fault, pace, spared)).await;
    for ((phase, expected), (_, seen)) in undisturbed.phases.iter().zip(&lifecycle.phases) {
        let differences = differences(expected, seen);
        assert!(seen == expected, "after {phase} it is not as usual:\n{differences}");
    }
    assert_eq!(lifecycle.phases.len(), undisturbed.phases.len());
    let missed = lifecycle.injection.missed();
    assert!(missed.is_empty(), "{missed:?} never failed");
}

/// The lines that only one of them has; both, if they differ only in order or number.
fn differences(expected: &str, seen: &str) -> String {
    let only = |one: &str, other: &str, sign: char| -> Vec<String> {
        let lines = one.lines().filter(|line| !other.lines().any(|known| known == *line));
        lines.map(|line| format!("{sign} {line}")).collect()
    };
    let lines = [only(expected, seen, '-'), only(seen, expected, '+')].concat();
    if lines.is_empty() {
        return format!("{expected}\n{seen}");
    }
    lines.join("\n")
}
