use super::*;
use crate::control::Retry;
use rstest::rstest;
use std::{sync::Arc, time::Duration};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn manager() -> CloudControllerManager {
    let spec = serde_json::from_value(json!({"provider": "memory"})).unwrap();
    CloudControllerManager::new("west", spec)
}

fn message(sentence: &str) -> Option<Message> {
    (!sentence.is_empty()).then(|| ("Because", sentence.to_owned()))
}

fn found(state: Management, progressing: &str, degraded: &str) -> Found {
    let inventory = vec![Key::config_map("ns", "x")];
    Found {
        state,
        progressing: message(progressing),
        degraded: message(degraded),
        inventory,
        ..Found::default()
    }
}

fn running(available: i64) -> Lookup {
    let status = json!({"replicas": 2, "readyReplicas": available, "availableReplicas": available});
    Lookup::Found(Arc::new(json!({ "status": status })))
}

fn lines(status: &Status) -> String {
    let conditions = status.conditions.iter();
    let lines = conditions.map(|each| format!("{}={} {} {}", each.type_, each.status, each.reason, each.message));
    lines
        .map(|line| line.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

#[rstest]
#[case::it_runs(
    running(2),
    "",
    "",
    "Available=True AsExpected 2 of 2 Pods are available\nProgressing=False AsExpected\nDegraded=False AsExpected"
)]
#[case::nothing_runs_yet(
    Lookup::Absent,
    "x",
    "",
    "Available=False NothingRuns 0 of 2 Pods are available\nProgressing=True Because x\nDegraded=False AsExpected"
)]
#[case::it_cannot_run(
    Lookup::Absent,
    "",
    "y",
    "Available=False Because y\nProgressing=False AsExpected\nDegraded=True Because y"
)]
#[case::unknown(
    Lookup::Unknown("no answer".to_owned()), "x", "",
    "Available=Unknown CannotRead no answer\nProgressing=True Because x\nDegraded=False AsExpected"
)]
fn conditions(#[case] deployment: Lookup, #[case] progressing: &str, #[case] degraded: &str, #[case] expected: &str) {
    let found = found(Management::Managed, progressing, degraded);
    assert_eq!(
        lines(&next(&manager(), &Status::default(), &found, &deployment, NOW)),
        expected
    );
}

#[rstest]
#[case::nothing_runs(0, "Available=False NothingRuns Pod a: CrashLoopBackOff")]
#[case::something_does(1, "Available=True AsExpected 1 of 2 Pods are available")]
fn the_reason_for_no_pods_is_in_available(#[case] available: i64, #[case] expected: &str) {
    let found = Found {
        down: Some("Pod a: CrashLoopBackOff".to_owned()),
        ..found(Management::Managed, "", "")
    };
    let message = lines(&next(&manager(), &Status::default(), &found, &running(available), NOW));
    assert_eq!(message.lines().next(), Some(expected));
}

#[test]
fn an_unreadable_deployment_keeps_the_condition() {
    let (manager, found) = (manager(), found(Management::Managed, "", ""));
    let before = next(&manager, &Status::default(), &found, &running(1), NOW);
    let after = next(&manager, &before, &found, &Lookup::Unknown("no answer".to_owned()), NOW);
    assert_eq!(after, before);
    assert_eq!((after.replicas, after.ready_replicas), (Some(2), Some(1)));
}

#[rstest]
#[case::it_runs(Management::Managed, "", Some(1), "Available:True Progressing:False Degraded:False")]
#[case::it_does_not(Management::Managed, "y", None, "Available:False Progressing:False Degraded:True")]
#[case::unmanaged(
    Management::Unmanaged,
    "",
    None,
    "Available:Unknown Progressing:False Degraded:False"
)]
#[case::it_is_being_removed(
    Management::Removed,
    "",
    Some(1),
    "Available:Unknown Progressing:False Degraded:False"
)]
#[case::it_cannot_be_removed(
    Management::Removed,
    "y",
    Some(1),
    "Available:Unknown Progressing:False Degraded:True"
)]
fn gauges_are(
    #[case] state: Management,
    #[case] degraded: &str,
    #[case] available: Option<i64>,
    #[case] expected: &str,
) {
    let deployment = available.map_or(Lookup::Absent, running);
    let status = next(
        &manager(),
        &Status::default(),
        &found(state, "", degraded),
        &deployment,
        NOW,
    );
    let shown = gauges(&status, state).map(|(type_, truth)| format!("{type_}:{truth:?}"));
    assert_eq!(shown.join(" "), expected);
}

#[test]
fn a_removed_manager_raises_no_alert() {
    let removed = Found {
        inventory: Vec::new(),
        ..found(Management::Removed, "", "")
    };
    let status = next(&manager(), &Status::default(), &removed, &Lookup::Absent, NOW);
    assert!(lines(&status).starts_with("Available=False Removed"));
    assert!(
        gauges(&status, Management::Removed)
            .iter()
            .all(|(_, truth)| *truth == Truth::Unknown)
    );
}

const LEFT: Duration = Duration::from_secs(20);

/// When a failure has to be reported, the next pass is due, and not with the next retry after that.
#[rstest]
#[case::the_user_has_to_act(Cause::Terminal(("R", "x".to_owned())), Verdict::Wait(LEFT), "degraded R x")]
#[case::refused(Cause::Refused(("R", "x".to_owned())), Verdict::Wait(LEFT), "degraded R x, retry")]
#[case::it_may_pass(
    Cause::Transient(("R", "x".to_owned())),
    Verdict::Wait(LEFT),
    "progressing Retrying x, retry, again after 20s"
)]
#[case::it_lasts(Cause::Transient(("R", "x".to_owned())), Verdict::Report, "degraded R x, retry")]
fn problems_are_reported(#[case] problem: Cause, #[case] verdict: Verdict, #[case] expected: &str) {
    let found = failed(problem, || verdict, Vec::new());
    let part =
        |name: &str, message: &Option<Message>| message.as_ref().map(|(reason, why)| format!("{name} {reason} {why}"));
    let parts = [
        part("progressing", &found.progressing),
        part("degraded", &found.degraded),
        (found.next.retry == Retry::WithBackOff).then(|| "retry".to_owned()),
        found.next.again.map(|left| format!("again after {left:?}")),
    ];
    assert_eq!(parts.into_iter().flatten().collect::<Vec<_>>().join(", "), expected);
}

#[test]
fn an_unreadable_object_is_reported_once() {
    let mut object = json!({"metadata": {"generation": 3}, "status": {"replicas": "many"}});
    let patch = unreadable(&object, "spec.replicas: no number", NOW).unwrap();
    assert_eq!(patch["conditions"][0]["message"], "spec.replicas: no number");
    object["status"]["conditions"] = patch["conditions"].clone();
    assert_eq!(unreadable(&object, "spec.replicas: no number", NOW), None);
    assert!(unreadable(&object, "spec.provider: no text", NOW).is_some());
}

/// The claims of Pods that may be running are recorded before the Pods are created, and removed once the Pods do not exist any more.
#[rstest]
#[case::nothing_new(ClaimUpdate::Keep, &["old"], &["old"])]
#[case::about_to_be_written(ClaimUpdate::Add, &["old"], &["old", "memory"])]
#[case::still_being_rolled_out(ClaimUpdate::Add, &["old", "memory"], &["old", "memory"])]
#[case::rolled_out(ClaimUpdate::Replace, &["old", "memory"], &["memory"])]
fn claims_are(#[case] claims: ClaimUpdate, #[case] before: &[&str], #[case] after: &[&str]) {
    let claim = |provider: &&str| {
        let spec = serde_json::from_value(json!({ "provider": provider })).unwrap();
        Claim::of(&spec)
    };
    let before = Status {
        claims: before.iter().map(claim).collect(),
        ..Status::default()
    };
    let mut found = Found {
        claims,
        ..found(Management::Managed, "", "")
    };
    let status = next(&manager(), &before, &found, &running(1), NOW);
    assert_eq!(status.claims, after.iter().map(claim).collect::<Vec<_>>());
    found.inventory.clear();
    let status = next(&manager(), &before, &found, &Lookup::Absent, NOW);
    assert_eq!(status.claims, [], "nothing is there");
}

/// The worst condition decides what `kubectl get` prints.
#[rstest]
#[case::as_it_should_be("", "", 2, "")]
#[case::rolling_out("rolling out Deployment a", "", 0, "rolling out Deployment a")]
#[case::degraded("rolling out Deployment a", "no such image", 2, "no such image")]
#[case::nothing_runs("", "", 0, "0 of 2 Pods are available")]
fn the_message_is_that_of_the_worst_condition(
    #[case] progressing: &str,
    #[case] degraded: &str,
    #[case] available: i64,
    #[case] expected: &str,
) {
    let found = found(Management::Managed, progressing, degraded);
    let status = next(&manager(), &Status::default(), &found, &running(available), NOW);
    assert_eq!(status.message, expected);
}

#[test]
fn objects_that_do_not_exist_are_in_the_message() {
    let remarks = ["Pods wait for Secret ns/keys: create it".to_owned()];
    let waits = found(Management::Managed, "rolling out Deployment a", "").waiting_for(&remarks);
    let expected = "rolling out Deployment a; Pods wait for Secret ns/keys: create it";
    assert_eq!(waits.progressing.unwrap().1, expected);
    assert_eq!(
        found(Management::Managed, "", "").waiting_for(&remarks).progressing,
        None
    );
}

#[test]
fn further_problems_are_reported_together() {
    let overlap = Cause::Terminal(("ScopeOverlap", "in conflict with b".to_owned()));
    let both = overlap.with(&["spec.replicas must be at least 1, not 0".to_owned()]);
    let expected = (
        "ScopeOverlap",
        "in conflict with b; spec.replicas must be at least 1, not 0".to_owned(),
    );
    assert_eq!(both.message(), &expected);
}

#[test]
fn a_long_message_is_truncated() {
    let found = found(Management::Managed, &"x".repeat(100_000), "");
    let status = next(&manager(), &Status::default(), &found, &running(1), NOW);
    let message = &status.condition("Progressing").unwrap().message;
    assert!(message.len() < 5_000 && message.ends_with('…'), "{}", message.len());
}
