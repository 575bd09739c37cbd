use super::*;
use rstest::rstest;

const THEN: i64 = 1_000;
const NOW: i64 = 2_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn report(operands: Operands) -> Summary {
    Summary {
        cloud_config: None,
        trusted_ca: None,
        operands: Some(operands),
        remarks: Vec::new(),
        obstacles: Vec::new(),
        related: Vec::new(),
        release: "5.0.0".to_owned(),
    }
}

fn installed(version: &str) -> Status {
    let mut done = report(Operands::Done);
    version.clone_into(&mut done.release);
    next(&Status::default(), &done, at(THEN))
}

fn down(version: &str) -> Status {
    let down = report(Operands::Down("Deployment a: nothing runs".to_owned()));
    next(&installed(version), &down, at(THEN))
}

fn show(status: &Status) -> String {
    let conditions = status.conditions.iter().map(|condition| {
        let Condition {
            type_,
            status,
            reason,
            message,
            ..
        } = condition;
        format!("{type_}={status}/{reason}/{message}")
    });
    let versions = status.versions.iter().map(|version| version.version.clone());
    conditions.chain(versions).collect::<Vec<_>>().join("\n")
}

// W1: the version is reported only when everything is rolled out.
#[rstest]
#[case::nothing_to_install(
    Status::default(),
    Operands::Done,
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 5.0.0\n\
     Progressing=False/AsExpected/\nDegraded=False/AsExpected/\nUpgradeable=True/AsExpected/\n5.0.0"
)]
#[case::first_install(
    Status::default(),
    Operands::Progressing(vec!["Deployment a: 0 of 2 Pods are available".to_owned()]),
    "Available=False/SyncingResources/nothing has been rolled out yet\n\
     Progressing=True/SyncingResources/Progressing towards operator: 5.0.0: Deployment a: 0 of 2 Pods are available\n\
     Degraded=False/AsExpected/\nUpgradeable=True/AsExpected/"
)]
#[case::first_install_that_cannot_start(
    Status::default(),
    Operands::Failing,
    "Available=False/SyncingResources/nothing has been rolled out yet\n\
     Progressing=True/SyncingResources/Progressing towards operator: 5.0.0\n\
     Degraded=False/AsExpected/\nUpgradeable=True/AsExpected/"
)]
#[case::first_install_that_waits_for_another_process(
    Status::default(),
    Operands::Waiting,
    "Available=False/SyncingResources/nothing has been rolled out yet\n\
     Progressing=True/SyncingResources/Progressing towards operator: 5.0.0\n\
     Degraded=False/AsExpected/\nUpgradeable=True/AsExpected/"
)]
#[case::the_failure_has_been_corrected(
    next(&installed("5.0.0"), &report(Operands::Failed("images.json is broken".to_owned())), at(THEN)),
    Operands::Progressing(vec!["rolling out Deployment a".to_owned()]),
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 5.0.0\n\
     Progressing=True/AsExpected/rolling out Deployment a\n\
     Degraded=False/AsExpected/\nUpgradeable=True/AsExpected/\n5.0.0"
)]
#[case::upgrade(
    installed("4.0.0"),
    Operands::Progressing(vec!["Deployment a: 0 of 2 Pods are updated".to_owned()]),
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 4.0.0\n\
     Progressing=True/SyncingResources/Progressing towards operator: 5.0.0: Deployment a: 0 of 2 Pods are updated\n\
     Degraded=False/AsExpected/\nUpgradeable=True/AsExpected/\n4.0.0"
)]
#[case::changed_without_an_upgrade(
    installed("5.0.0"),
    Operands::Progressing(vec!["Deployment a: 1 of 2 Pods are updated".to_owned()]),
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 5.0.0\n\
     Progressing=True/AsExpected/Deployment a: 1 of 2 Pods are updated\n\
     Degraded=False/AsExpected/\nUpgradeable=True/AsExpected/\n5.0.0"
)]
#[case::w4_nothing_runs(
    installed("5.0.0"),
    Operands::Down("Deployment a: 0 of 2 Pods are available".to_owned()),
    "Available=False/NothingRuns/Deployment a: 0 of 2 Pods are available\n\
     Progressing=False/AsExpected/\nDegraded=False/AsExpected/\nUpgradeable=True/AsExpected/\n5.0.0"
)]
#[case::w2_w5_every_false_has_a_reason(
    installed("5.0.0"),
    Operands::Failed("images.json: expected value at line 1 column 2".to_owned()),
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 5.0.0\n\
     Progressing=False/AsExpected/\n\
     Degraded=True/SyncingFailed/Failed to resync for operator: 5.0.0 because images.json: expected value at line 1 column 2\n\
     Upgradeable=False/SyncingFailed/an upgrade has to wait until this works again: images.json: expected value at line 1 column 2\n\
     5.0.0"
)]
#[case::failed_upgrade(
    installed("4.0.0"),
    Operands::Failed("no".to_owned()),
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 4.0.0\n\
     Progressing=False/AsExpected/\n\
     Degraded=True/SyncingFailed/Failed when progressing towards operator: 5.0.0 because no\n\
     Upgradeable=False/SyncingFailed/an upgrade has to wait until this works again: no\n4.0.0"
)]
#[case::a_blip_is_not_reported(
    installed("5.0.0"),
    Operands::Failing,
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 5.0.0\n\
     Progressing=False/AsExpected/\nDegraded=False/AsExpected/\nUpgradeable=True/AsExpected/\n5.0.0"
)]
#[case::w4_one_of_two_runs_again(
    down("5.0.0"),
    Operands::Impaired("Deployment a: 1 of 2 Pods available".to_owned()),
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 5.0.0\n\
     Progressing=False/AsExpected/\n\
     Degraded=True/SyncingFailed/Failed to resync for operator: 5.0.0 because Deployment a: 1 of 2 Pods available\n\
     Upgradeable=False/SyncingFailed/an upgrade has to wait until this works again: Deployment a: 1 of 2 Pods available\n\
     5.0.0"
)]
#[case::w4_the_state_is_unknown(
    down("5.0.0"),
    Operands::Failed("no".to_owned()),
    "Available=False/NothingRuns/Deployment a: nothing runs\n\
     Progressing=False/AsExpected/\n\
     Degraded=True/SyncingFailed/Failed to resync for operator: 5.0.0 because no\n\
     Upgradeable=False/SyncingFailed/an upgrade has to wait until this works again: no\n\
     5.0.0"
)]
#[case::w4_something_runs_again_while_something_fails(
    down("5.0.0"),
    Operands::Running,
    "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 5.0.0\n\
     Progressing=False/AsExpected/\nDegraded=False/AsExpected/\nUpgradeable=True/AsExpected/\n5.0.0"
)]
fn reports(#[case] before: Status, #[case] operands: Operands, #[case] after: &str) {
    assert_eq!(show(&next(&before, &report(operands), at(NOW))), after);
}

fn changing(version: &str) -> Status {
    let waiting = vec![
        "Service a does not exist yet".to_owned(),
        "Deployment a: 0 of 2 Pods".to_owned(),
    ];
    next(&installed(version), &report(Operands::Progressing(waiting)), at(THEN))
}

/// The message of Progressing while something fails is the current one. Without a change Progressing stays False.
#[rstest]
#[case::a_blip(changing("5.0.0"), Operands::Failing, "AsExpected/cannot create Service a: no")]
#[case::some_run(changing("5.0.0"), Operands::Running, "AsExpected/cannot create Service a: no")]
#[case::for_long(changing("5.0.0"), failed(), "AsExpected/cannot create Service a: no")]
#[case::during_an_upgrade(
    changing("4.0.0"),
    Operands::Impaired("no".to_owned()),
    "SyncingResources/Progressing towards operator: 5.0.0: cannot create Service a: no"
)]
#[case::nothing_is_changed(installed("5.0.0"), Operands::Failing, "AsExpected/")]
fn obstacles_are_reported(#[case] before: Status, #[case] operands: Operands, #[case] expected: &str) {
    let obstacles = vec!["cannot create Service a: no".to_owned()];
    let report = Summary {
        obstacles,
        ..report(operands)
    };
    let after = next(&before, &report, at(NOW));
    let of = |status: &Status| {
        let found = status.conditions.iter().find(|each| each.type_ == "Progressing");
        found.cloned().expect("a condition")
    };
    let Condition {
        reason,
        message,
        status,
        last_transition_time,
        ..
    } = of(&after);
    assert_eq!(format!("{reason}/{message}"), expected);
    assert_eq!(
        (status, last_transition_time),
        (of(&before).status, of(&before).last_transition_time)
    );
}

/// The event of an upgrade is emitted when it begins, and not again with everything it waits for.
#[rstest]
#[case::first_install(Status::default(), "5.0.0", waits(), true)]
#[case::upgrade(installed("4.0.0"), "5.0.0", waits(), true)]
#[case::waits_for_another_object(changing("4.0.0"), "5.0.0", waits(), false)]
#[case::to_the_next_version(changing("4.0.0"), "5.0.1", waits(), true)]
#[case::to_a_version_that_begins_alike(changing("4.0.0"), "5.0.0-1", waits(), true)]
#[case::no_other_version(installed("5.0.0"), "5.0.0", waits(), false)]
#[case::it_is_done(changing("4.0.0"), "5.0.0", Operands::Done, false)]
fn an_upgrade_begins_once(
    #[case] before: Status,
    #[case] release: &str,
    #[case] operands: Operands,
    #[case] expected: bool,
) {
    let mut report = report(operands);
    release.clone_into(&mut report.release);
    let after = next(&before, &report, at(NOW));
    assert_eq!(upgrade(&before, &after, release).is_some(), expected);
}

#[rstest]
#[case::fine(PartState::Fine, "True False Cloud Config Controller works as expected")]
#[case::with_a_warning(
    PartState::Warning("ConfigMap openshift-config/x does not exist: create it".to_owned()),
    "True False Cloud Config Controller works as expected; warning: ConfigMap openshift-config/x does not exist: create it"
)]
#[case::w6_the_cause_is_reported(
    PartState::Failed("ConfigMap openshift-config/x has no key y".to_owned()),
    "False True Cloud Config Controller failed to sync cloud config: ConfigMap openshift-config/x has no key y"
)]
fn conditions_of_parts(#[case] outcome: PartState, #[case] expected: &str) {
    let report = Summary {
        cloud_config: Some(outcome),
        operands: None,
        ..report(Operands::Waiting)
    };
    let status = next(&Status::default(), &report, at(NOW));
    let [available, degraded] = status.conditions.as_slice() else {
        panic!("two conditions, not {:?}", status.conditions)
    };
    assert_eq!(
        format!("{} {} {}", available.status, degraded.status, degraded.message),
        expected
    );
    // W1: a part never reports a version.
    assert_eq!(status.versions, []);
}

#[test]
fn an_unchanged_report_is_not_written() {
    let before = installed("5.0.0");
    assert_eq!(next(&before, &report(Operands::Done), at(NOW)), before);
}

#[test]
fn the_time_moves_only_with_the_status() {
    let before = installed("5.0.0");
    let after = next(&before, &report(Operands::Failed("no".to_owned())), at(NOW));
    let times: Vec<_> = after
        .conditions
        .iter()
        .map(|each| each.last_transition_time.0.as_second())
        .collect();
    // Available and Progressing do not change; Degraded and Upgradeable do.
    assert_eq!(times, [THEN, THEN, NOW, NOW]);
}

#[test]
fn the_condition_of_the_hand_over_is_removed() {
    let mut before = installed("5.0.0");
    set(
        &mut before.conditions,
        "CloudControllerOwner",
        "True",
        "x",
        "y",
        at(THEN),
    );
    let after = next(&before, &report(Operands::Done), at(NOW));
    assert!(after.conditions.iter().all(|each| each.type_ != "CloudControllerOwner"));
}

/// Objects that cannot be deleted are reported, and change no condition.
#[test]
fn kept_objects_are_reported() {
    let mut done = report(Operands::Done);
    done.remarks.push("cannot delete ClusterRole x: may not".to_owned());
    let status = next(&installed("5.0.0"), &done, at(NOW));
    assert_eq!(
        show(&status),
        "Available=True/AsExpected/Cluster Cloud Controller Manager Operator is available at 5.0.0; \
         cannot delete ClusterRole x: may not\n\
         Progressing=False/AsExpected/\nDegraded=False/AsExpected/\nUpgradeable=True/AsExpected/\n5.0.0"
    );
}

/// W2, W5: a condition that reports a problem always has a reason and a message.
#[rstest]
fn every_failure_has_its_reason(
    #[values(Status::default(), installed("4.0.0"), installed("5.0.0"), down("5.0.0"))] before: Status,
    #[values(
        Operands::Done,
        Operands::Progressing(Vec::new()),
        Operands::Progressing(vec!["x".to_owned()]),
        Operands::Down("x".to_owned()),
        Operands::Waiting,
        Operands::Failing,
        Operands::Running,
        Operands::Failed("x".to_owned()),
        Operands::Impaired("x".to_owned()),
        Operands::Outage("x".to_owned())
    )]
    operands: Operands,
) {
    let status = next(&before, &report(operands), at(NOW));
    for condition in &status.conditions {
        let good = match condition.type_.as_str() {
            "Progressing" | "Degraded" => "False",
            _ => "True",
        };
        let silent = condition.status != good && (condition.message.is_empty() || condition.reason.is_empty());
        assert!(!silent, "{condition:?}");
    }
}

fn failed() -> Operands {
    Operands::Failed("no".to_owned())
}

fn waits() -> Operands {
    Operands::Progressing(vec!["waits".to_owned()])
}

fn dead() -> Operands {
    Operands::Outage("dead".to_owned())
}

// W4: a failure does not hide that no Pod runs, nor that some do.
#[rstest]
#[case::fails_and_nothing_runs(failed(), dead(), Operands::Outage("no; dead".to_owned()))]
#[case::fails_and_no_pod_runs_from_now_on(failed(), Operands::Down("dead".to_owned()), Operands::Outage("no; dead".to_owned()))]
#[case::fails_and_some_run(failed(), Operands::Impaired("one".to_owned()), Operands::Impaired("no; one".to_owned()))]
#[case::fails_and_all_run(failed(), Operands::Done, Operands::Impaired("no".to_owned()))]
#[case::fails_and_the_state_is_unknown(failed(), Operands::Failing, failed())]
#[case::fails_and_rolls_out(failed(), Operands::Progressing(Vec::new()), failed())]
#[case::a_blip_and_nothing_runs(Operands::Failing, dead(), dead())]
#[case::a_blip_and_all_run(Operands::Failing, Operands::Done, Operands::Running)]
#[case::a_blip_and_it_rolls_out(Operands::Failing, waits(), Operands::Failing)]
#[case::waits_for_a_part_and_nothing_runs(Operands::Waiting, Operands::Down("dead".to_owned()), Operands::Down("dead".to_owned()))]
#[case::waits_for_a_part_and_all_run(Operands::Waiting, Operands::Done, Operands::Running)]
#[case::waits_for_old_pods(waits(), Operands::Done, waits())]
#[case::waits_for_old_pods_for_long(waits(), dead(), Operands::Outage("waits; dead".to_owned()))]
fn objects_and_pods(#[case] objects: Operands, #[case] pods: Operands, #[case] expected: Operands) {
    assert_eq!(objects.and(pods), expected);
}
