mod model;
mod time;

use super::{
    decision::{Step, View},
    record::{micro_time, new_lease},
    *,
};
use rstest::rstest;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn params(lease: u64, renew: u64, retry: u64) -> Params {
    Params {
        namespace: "kube-system".into(),
        name: "cloud-controller-manager".into(),
        identity: "me".into(),
        lease_duration: MS(lease),
        renew_deadline: MS(renew),
        retry_period: MS(retry),
    }
}

#[rstest]
#[case::defaults(15_000, 10_000, 2_000, &[])]
#[case::openshift(137_000, 107_000, 26_000, &[])]
#[case::fractions(1_500, 1_200, 200, &[])]
#[case::lease_too_short(10_000, 10_000, 2_000, &["leaseDuration (10s) must be greater than renewDeadline (10s)"])]
#[case::renew_too_short(
    15_000,
    2_400,
    2_000,
    &["renewDeadline (2.4s) must be greater than 1.2 times retryPeriod (2s)"]
)]
#[case::less_than_a_second(
    900,
    500,
    100,
    &["leaseDuration (900ms) must be at least 1s: a Lease counts whole seconds"]
)]
#[case::zeros(
    0,
    0,
    0,
    &[
        "renewDeadline (0ns) must be at least 1ms",
        "retryPeriod (0ns) must be at least 1ms",
        "leaseDuration (0ns) must be at least 1s: a Lease counts whole seconds",
        "leaseDuration (0ns) must be greater than renewDeadline (0ns)",
        "renewDeadline (0ns) must be greater than 1.2 times retryPeriod (0ns)",
    ]
)]
#[case::too_long(
    4_000_000_000_000,
    10_000,
    2_000,
    &["leaseDuration (4000000000s) is more than a Lease can express"]
)]
fn timings(#[case] lease: u64, #[case] renew: u64, #[case] retry: u64, #[case] problems: &[&str]) {
    assert_eq!(params(lease, renew, retry).validate(), problems);
}

#[test]
fn a_lease_needs_names() {
    let nameless = Params {
        namespace: String::new(),
        name: String::new(),
        identity: String::new(),
        ..params(15_000, 10_000, 2_000)
    };
    let expected = [
        "resourceNamespace must be set",
        "resourceName must be set",
        "identity must be set",
    ];
    assert_eq!(nameless.validate(), expected);
}

/// Rounded down, as client-go does, 10.9 s would let others in before a renew deadline of 10.5 s.
#[rstest]
#[case::whole(15_000, 15)]
#[case::fraction(10_900, 11)]
#[case::least(1_000, 1)]
fn a_lease_is_never_written_shorter_than_it_is(#[case] millis: u64, #[case] seconds: i32) {
    assert_eq!(params(millis, 10_000, 2_000).seconds(), seconds);
}

#[rstest]
#[case::defaults(10_000, 5_000)]
#[case::openshift(107_000, 53_500)]
#[case::short(800, 1_000)]
fn a_request_has_half_the_deadline_but_a_second(#[case] renew: u64, #[case] timeout: u64) {
    assert_eq!(params(137_000, renew, 100).request_timeout(), MS(timeout));
}

#[test]
fn candidates_pause_one_to_two_point_two_periods() {
    let pauses: Vec<_> = std::iter::repeat_with(|| params(15_000, 10_000, 2_000).pause())
        .take(1000)
        .collect();
    assert!(pauses.iter().all(|pause| (MS(2_000)..MS(4_400)).contains(pause)));
    assert!(pauses.iter().any(|pause| *pause < MS(2_400)) && pauses.iter().any(|pause| *pause > MS(4_000)));
}

#[test]
fn an_identity_is_the_host_and_something_unique() {
    let (one, other) = (identity(), identity());
    let (host, id) = one.rsplit_once('_').unwrap();
    assert!(!host.is_empty() && !host.contains(char::is_whitespace), "{one}");
    assert!(uuid::Uuid::parse_str(id).is_ok(), "{one}");
    assert_ne!(one, other);
}

#[test]
fn times_have_six_digits() {
    let time = micro_time();
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000000Z");
}

fn held() -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "a", "namespace": "b", "resourceVersion": "7", "uid": "u", "labels": { "l": "1" },
            "annotations": { "a": "2" }, "futureField": { "x": [1] }
        },
        "spec": {
            "holderIdentity": "you", "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.000001Z",
            "renewTime": "2026-01-01T00:00:10.000002Z", "leaseTransitions": 4, "strategy": "OldestEmulationVersion",
            "preferredHolder": "them", "futureField": true
        }
    })
}

const NOW: &str = "2026-11-15T12:00:00.123456Z";

#[rstest]
#[case::taken_over(
    &Step::Take,
    &json!({ "holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": NOW, "renewTime": NOW, "leaseTransitions": 5 })
)]
#[case::renewed(
    &Step::Renew,
    &json!({
        "holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": "2026-01-01T00:00:00.000001Z",
        "renewTime": NOW, "leaseTransitions": 4
    })
)]
fn writes_what_client_go_writes_and_keeps_the_rest(#[case] step: &Step, #[case] ours: &Value) {
    let before = held();
    let record = Record::claim(step, &Record::of(&before).unwrap(), "me", 15, NOW.into());
    let after = record.into_lease(before.clone()).unwrap();
    let mut expected = before;
    expected["spec"]
        .as_object_mut()
        .unwrap()
        .extend(ours.as_object().unwrap().clone());
    assert_eq!(after, expected);
}

#[test]
fn a_new_lease_equals_that_of_client_go() {
    let record = Record::claim(&Step::Create, &Record::default(), "me", 15, NOW.into());
    let expected = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": "a", "namespace": "b" },
        "spec": { "holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": NOW, "renewTime": NOW, "leaseTransitions": 0 }
    });
    assert_eq!(record.into_lease(new_lease("b", "a")).unwrap(), expected);
}

#[test]
fn a_released_lease_is_as_client_go_leaves_it() {
    let before = held();
    let after = Record::of(&before)
        .unwrap()
        .released(NOW.into())
        .into_lease(before.clone())
        .unwrap();
    let ours = json!({ "holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": NOW, "renewTime": NOW, "leaseTransitions": 4 });
    let mut expected = before;
    expected["spec"]
        .as_object_mut()
        .unwrap()
        .extend(ours.as_object().unwrap().clone());
    assert_eq!(after, expected);
}

#[rstest]
#[case::no_spec(json!({}))]
#[case::null_spec(json!({ "spec": null }))]
#[case::empty_spec(json!({ "spec": {} }))]
#[case::nulls(json!({ "spec": { "holderIdentity": null, "leaseDurationSeconds": null } }))]
fn an_empty_lease_is_free(#[case] lease: Value) {
    let record = Record::of(&lease).unwrap();
    assert!(record.is_free());
    assert_eq!(record, Record::default());
}

fn record(holder: &str, seconds: Option<i32>, renewed: &str) -> Record {
    Record {
        holder_identity: Some(holder.into()),
        lease_duration_seconds: seconds,
        renew_time: Some(renewed.into()),
        ..Record::default()
    }
}

/// What is seen at which millisecond (`-`: not there), and what is decided at the last one.
#[rstest]
#[case::never_existed("0 -", "create")]
#[case::free("0 free", "take")]
#[case::ours_already("0 me", "renew")]
#[case::first_sight("0 you", "wait 15000")]
#[case::still_quiet("0 you, 14999 you", "wait 15000")]
#[case::quiet_for_too_long("0 you, 15000 you", "take")]
#[case::renewed("0 you, 14000 you@2, 20000 you@2", "wait 29000")]
#[case::renewed_and_quiet("0 you, 14000 you@2, 29000 you@2", "take")]
#[case::others_in_turn("0 you, 14000 them, 20000 them", "wait 29000")]
#[case::clock_far_behind(
    "0 you@1970-01-01T00:00:00.000000Z, 14999 you@1970-01-01T00:00:00.000000Z",
    "wait 15000"
)]
#[case::clock_far_ahead("0 you@2999-01-01T00:00:00.000000Z, 15000 you@2999-01-01T00:00:00.000000Z", "take")]
#[case::clock_goes_back("0 you@2, 10000 you@1, 15000 you@1", "wait 25000")]
#[case::released("0 you, 1 free", "take")]
#[case::deleted_while_held("0 you, 1 -", "wait 15000")]
#[case::deleted_long_after("0 you, 15000 -", "create")]
#[case::deleted_when_free("0 you, 1 free, 2 -", "create")]
#[case::deleted_and_made_by_another("0 you, 1 -, 2 them", "wait 15002")]
#[case::ours_deleted("0 me, 1 -", "create")]
#[case::ours_taken("0 me, 1 you", "wait 15001")]
#[case::no_duration("0 you:none", "wait 12000")]
#[case::other_duration("0 you:100", "wait 100000")]
#[case::nonsense_duration("0 you:-1", "wait 12000")]
fn decides(#[case] seen: &str, #[case] decision: &str) {
    let start = Instant::now();
    let mut view = View::new("me", MS(12_000));
    let mut step = None;
    for sight in seen.split(", ") {
        let (at, what) = sight.split_once(' ').unwrap();
        let found = (what != "-").then(|| parse(what));
        step = Some(view.decide(found.as_ref(), start + MS(at.parse().unwrap())));
    }
    let step = match step.unwrap() {
        Step::Create => "create".into(),
        Step::Take => "take".into(),
        Step::Renew => "renew".into(),
        Step::Wait(until) => format!("wait {}", (until - start).as_millis()),
    };
    assert_eq!(step, decision);
}

/// `holder[:seconds][@renewed]`
fn parse(what: &str) -> Record {
    let (who, renewed) = what.split_once('@').unwrap_or((what, "1"));
    let (holder, seconds) = who.split_once(':').unwrap_or((who, "15"));
    record(
        if holder == "free" { "" } else { holder },
        seconds.parse().ok(),
        renewed,
    )
}

#[test]
fn metrics_have_the_names_of_kubernetes() {
    let registry = prometheus::Registry::new();
    let metrics = Metrics::register(&registry).unwrap();
    let lease = metrics.of("cloud-controller-manager");
    lease.leading();
    lease.slow_path();
    let text = prometheus::TextEncoder::new()
        .encode_to_string(&registry.gather())
        .unwrap();
    assert!(text.contains("# TYPE leader_election_master_status gauge\n"), "{text}");
    assert!(
        text.contains("leader_election_master_status{name=\"cloud-controller-manager\"} 1\n"),
        "{text}"
    );
    assert!(
        text.contains("# TYPE leader_election_slowpath_total counter\n"),
        "{text}"
    );
    assert!(
        text.contains("leader_election_slowpath_total{name=\"cloud-controller-manager\"} 1\n"),
        "{text}"
    );
    lease.not_leading();
    let text = prometheus::TextEncoder::new()
        .encode_to_string(&registry.gather())
        .unwrap();
    assert!(
        text.contains("leader_election_master_status{name=\"cloud-controller-manager\"} 0\n"),
        "{text}"
    );
}
