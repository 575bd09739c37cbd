use super::*;
use rstest::rstest;
use serde_json::json;

fn key(kind: &str) -> Key {
    Key {
        api_version: "apps/v1".into(),
        kind: kind.into(),
        namespace: Some("ns".into()),
        name: "ccm".into(),
    }
}

/// `generation/observed [status reason]`
fn deployment(text: &str) -> Value {
    let words: Vec<_> = text.split([' ', '/']).collect();
    let number = |index: usize| words[index].parse::<i64>().expect("a number");
    let conditions = match words.as_slice() {
        [_, _] => json!([{ "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable" }]),
        [_, _, status, reason] => json!([
            { "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable" },
            { "type": "Progressing", "status": status, "reason": reason, "message": "words of the cluster" },
        ]),
        _ => panic!("{text}"),
    };
    json!({
        "metadata": { "generation": number(0) },
        "spec": { "replicas": 2 },
        "status": { "observedGeneration": number(1), "updatedReplicas": 1, "conditions": conditions },
    })
}

const NOT_OBSERVED: &str = "Deployment ns/ccm: the last change was not seen by its controller yet";
const HALF: &str = "Deployment ns/ccm: 1 of 2 Pods updated";

// Seven rows for a Deployment …
#[rstest]
#[case::complete("3/3 True NewReplicaSetAvailable", "complete")]
#[case::observed_ahead("3/4 True NewReplicaSetAvailable", "complete")]
#[case::change_not_seen("3/2 True NewReplicaSetAvailable", NOT_OBSERVED)]
#[case::new_set_being_made("3/3 True ReplicaSetUpdated", HALF)]
#[case::new_set_just_made("3/3 True NewReplicaSetCreated", HALF)]
#[case::no_condition_yet("1/1", HALF)]
#[case::condition_unknown("3/3 Unknown DeploymentPaused", HALF)]
// … and four for one that makes no progress.
#[case::deadline(
    "3/3 False ProgressDeadlineExceeded",
    "stalled: Deployment ns/ccm: words of the cluster"
)]
#[case::deadline_of_the_change_before("3/2 False ProgressDeadlineExceeded", NOT_OBSERVED)]
#[case::failed_for_another_reason("3/3 False ReplicaSetCreateError", HALF)]
#[case::reason_without_its_status("3/3 True ProgressDeadlineExceeded", HALF)]
fn deployments_roll_out(#[case] live: &str, #[case] expected: &str) {
    assert_eq!(words(rollout(&key("Deployment"), Some(&deployment(live)))), expected);
}

/// Between the end of the old Pods and the first new one the condition still describes the old ones.
#[test]
fn recreated_pods_are_waited_for() {
    let mut live = deployment("2/2 True NewReplicaSetAvailable");
    live["status"]["updatedReplicas"] = json!(0);
    let waiting = "Deployment ns/ccm: 0 of 2 Pods updated";
    assert_eq!(words(rollout(&key("Deployment"), Some(&live))), waiting);
    live["spec"]["replicas"] = json!(0);
    assert_eq!(words(rollout(&key("Deployment"), Some(&live))), "complete");
}

fn words(rollout: Rollout) -> String {
    match rollout {
        Rollout::Complete => "complete".to_owned(),
        Rollout::Underway(why) => why,
        Rollout::Stalled(why) => format!("stalled: {why}"),
    }
}

// Generation, observed; desired, current, updated, available, misscheduled.
#[rstest]
#[case::complete([2, 2], [3, 3, 3, 3, 0], "complete")]
#[case::node_reboots([2, 2], [3, 3, 3, 2, 0], "complete")]
#[case::misscheduled([2, 2], [3, 3, 3, 3, 1], "complete")]
#[case::node_joins([2, 2], [4, 3, 3, 3, 0], "complete")]
#[case::not_all_updated([2, 2], [3, 3, 2, 3, 0], "DaemonSet ns/ccm: 2 of 3 Pods updated")]
#[case::no_pods([2, 2], [3, 0, 0, 0, 0], "DaemonSet ns/ccm: 0 of 0 Pods updated")]
#[case::change_not_seen([3, 2], [3, 3, 3, 3, 0], "DaemonSet ns/ccm: the last change was not seen by its controller yet")]
fn daemon_sets_roll_out(#[case] generations: [i64; 2], #[case] counts: [i64; 5], #[case] expected: &str) {
    assert_eq!(
        words(rollout(&key("DaemonSet"), Some(&daemon_set_of(generations, counts)))),
        expected
    );
}

fn daemon_set_of([generation, observed]: [i64; 2], counts: [i64; 5]) -> Value {
    let [desired, current, updated, available, misscheduled] = counts;
    json!({
        "metadata": { "generation": generation },
        "status": {
            "observedGeneration": observed,
            "desiredNumberScheduled": desired,
            "currentNumberScheduled": current,
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberMisscheduled": misscheduled,
        },
    })
}

#[test]
fn a_missing_workload_is_in_progress() {
    let missing = rollout(&key("Deployment"), None);
    assert_eq!(
        missing,
        Rollout::Underway("Deployment ns/ccm does not exist yet".into())
    );
    assert_eq!(health(&key("Deployment"), None, &[]).state, State::Changing);
}

#[test]
fn only_workloads_roll_out() {
    assert_eq!(
        rollout(&key("ConfigMap"), Some(&json!({ "metadata": { "generation": 7 } }))),
        Rollout::Complete
    );
}

// Operator.md W4: a complete roll-out whose Pods have failed since is not available.
#[rstest]
#[case::all(2, "3/3 True NewReplicaSetAvailable", State::Well, "2 of 2")]
#[case::one(1, "3/3 True NewReplicaSetAvailable", State::Partial, "1 of 2")]
#[case::none(0, "3/3 True NewReplicaSetAvailable", State::Unavailable, "0 of 2")]
#[case::first_start(0, "1/1 True ReplicaSetUpdated", State::Changing, "0 of 2")]
#[case::change_under_way(1, "3/2 True NewReplicaSetAvailable", State::Changing, "1 of 2")]
fn w4_pods_are_counted(#[case] available: i64, #[case] live: &str, #[case] state: State, #[case] counts: &str) {
    let mut live = deployment(live);
    live["status"]["availableReplicas"] = json!(available);
    let health = health(&key("Deployment"), Some(&live), &[]);
    assert_eq!(health.state, state);
    assert_eq!(
        health.to_string(),
        format!("Deployment ns/ccm: {counts} Pods available")
    );
}

#[rstest]
#[case::all([3, 3, 3, 3, 0], State::Well)]
#[case::one_node_down([3, 3, 3, 2, 0], State::Partial)]
#[case::none([3, 3, 3, 0, 0], State::Unavailable)]
fn w4_pods_of_daemon_sets_are_counted(#[case] counts: [i64; 5], #[case] state: State) {
    assert_eq!(
        health(&key("DaemonSet"), Some(&daemon_set_of([1, 1], counts)), &[]).state,
        state
    );
}

#[test]
fn w4_reports_why_pods_wait() {
    let mut live = deployment("3/3 True NewReplicaSetAvailable");
    live["status"]["availableReplicas"] = json!(0);
    let crashing = json!({
        "metadata": { "name": "ccm-1" },
        "status": { "containerStatuses": [{ "state": { "waiting": {
            "reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"
        } } }] },
    });
    let homeless = json!({
        "metadata": { "name": "ccm-2" },
        "status": { "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"
        }] },
    });
    let initializing = json!({
        "metadata": { "name": "ccm-3" },
        "status": {
            "initContainerStatuses": [{ "state": { "waiting": { "reason": "ImagePullBackOff" } } }],
            "containerStatuses": [{ "state": { "waiting": { "reason": "PodInitializing" } } }],
        },
    });
    let running =
        json!({ "metadata": { "name": "ccm-4" }, "status": { "containerStatuses": [{ "state": { "running": {} } }] } });
    let between_two_attempts = json!({
        "metadata": { "name": "ccm-5" },
        "status": { "containerStatuses": [{
            "ready": false, "state": { "running": {} },
            "lastState": { "terminated": { "exitCode": 1, "reason": "Error", "message": "no such cloud" } },
        }] },
    });
    let recovered = json!({
        "metadata": { "name": "ccm-6" },
        "status": { "containerStatuses": [{
            "ready": true, "state": { "running": {} }, "lastState": { "terminated": { "exitCode": 1, "reason": "Error" } },
        }] },
    });
    let shown = |pods: &[&Value]| health(&key("Deployment"), Some(&live), pods).to_string();
    assert_eq!(
        shown(&[&running, &between_two_attempts, &recovered]),
        "Deployment ns/ccm: 0 of 2 Pods available (Pod ccm-5: Error: no such cloud)"
    );
    assert_eq!(
        shown(&[&crashing, &homeless, &initializing, &between_two_attempts]),
        "Deployment ns/ccm: 0 of 2 Pods available (Pod ccm-1: CrashLoopBackOff; Pod ccm-2: Unschedulable: 0/3 nodes \
         are available; Pod ccm-3: ImagePullBackOff; 1 more for other reasons)"
    );
}
