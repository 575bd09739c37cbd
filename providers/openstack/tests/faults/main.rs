//! Every endpoint fails, in every way, at every stage of a cluster's life: nothing is doubled or left behind, no node is
//! deleted, and the cloud is what it is after a life that goes well.

mod curse;
mod endpoints;
mod life;
mod portrait;
#[path = "../support/mod.rs"]
mod support;

use curse::{Curse, Pace};
use life::Life;
use openstack_sim::Fault;
use rstest::rstest;
use std::collections::BTreeSet;
use tokio::sync::OnceCell;

/// To these, "not found" is an answer: what is gone need not be deleted or changed, a server that is gone takes its Node
/// along, and a flavor may be deleted while servers have it.
const BELIEVED: &[&str] = &[
    "flavor_get",
    "floating_ip_delete",
    "port_get",
    "port_tag_delete",
    "security_group_delete",
    "security_group_rule_delete",
    "server_get",
];

/// What was seen of a life that went well.
struct Undisturbed {
    scenes: Vec<(&'static str, String)>,
    called: BTreeSet<String>,
}

async fn undisturbed() -> &'static Undisturbed {
    static LIFE: OnceCell<Undisturbed> = OnceCell::const_new();
    LIFE.get_or_init(|| async {
        let life = Life::lived(Curse::none()).await;
        Undisturbed {
            called: life.called(),
            scenes: life.scenes,
        }
    })
    .await
}

/// A new endpoint fails this test until the life reaches it, and so the others make it fail.
#[tokio::test]
async fn a_life_calls_every_endpoint() {
    let (all, called) = (endpoints::all(), &undisturbed().await.called);
    let missing: Vec<_> = all.difference(called).collect();
    assert!(missing.is_empty(), "{missing:?} are never called");
    let unknown: Vec<_> = called.difference(&all).collect();
    assert!(unknown.is_empty(), "{unknown:?} are called and were not found in api/");
}

#[rstest]
#[case::unauthorized(|| Fault::status(401), Pace::EveryScene, &[])]
#[case::not_found(|| Fault::status(404), Pace::EveryScene, BELIEVED)]
#[case::conflict(|| Fault::status(409), Pace::EveryScene, &[])]
#[case::throttled(|| Fault::status(429).retry_after("1"), Pace::OncePerLife, &[])]
#[case::error(|| Fault::status(500), Pace::EveryScene, &[])]
#[case::unavailable(|| Fault::status(503), Pace::Lasting, &[])]
#[case::truncated(Fault::truncate, Pace::EveryScene, &[])]
#[case::lost(Fault::lose_answer, Pace::EveryScene, &[])]
#[case::reset(Fault::reset, Pace::EveryScene, &[])]
#[case::hanging(Fault::hang, Pace::OncePerLife, &[])]
#[tokio::test]
async fn a_life_in_which_every_endpoint_fails(
    #[case] fault: fn() -> Fault,
    #[case] pace: Pace,
    #[case] spared: &'static [&'static str],
) {
    let undisturbed = undisturbed().await;
    let life = Life::lived(Curse::new(fault, pace, spared)).await;
    for ((scene, expected), (_, seen)) in undisturbed.scenes.iter().zip(&life.scenes) {
        let differences = differences(expected, seen);
        assert!(seen == expected, "after {scene} it is not as usual:\n{differences}");
    }
    assert_eq!(life.scenes.len(), undisturbed.scenes.len());
    let missed = life.curse.missed();
    assert!(missed.is_empty(), "{missed:?} never failed");
}

/// The lines that only one of them has; both, where they differ in order or number only.
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
