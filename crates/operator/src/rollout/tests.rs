use super::*;
use rstest::rstest;
use serde_json::json;

const THERE: &str = "NewReplicaSetAvailable";
const ON_ITS_WAY: &str = "ReplicaSetUpdated";
const TOO_SLOW: &str = "ProgressDeadlineExceeded";

fn key(kind: &str) -> Key {
    Key::namespaced("apps/v1", kind, "ns", "a")
}

fn workload(replicas: i64, available: i64, reason: &str) -> Workload {
    let status = if reason == TOO_SLOW { "False" } else { "True" };
    let live = json!({
        "metadata": {"generation": 1},
        "spec": {"replicas": replicas},
        "status": {
            "observedGeneration": 1, "updatedReplicas": replicas, "availableReplicas": available,
            "conditions": [{"type": "Progressing", "status": status, "reason": reason, "message": "too slow"}],
        },
    });
    Workload {
        key: key("Deployment"),
        live: Some(Arc::new(live)),
        pods: Vec::new(),
    }
}

/// The last judgement.
fn last(story: impl IntoIterator<Item = (u64, Workload)>) -> String {
    let (start, mut patience) = (Instant::now(), Patience::default());
    let mut judged = None;
    for (second, workload) in story {
        judged = Some(patience.judge(&[workload], start + Duration::from_secs(second)));
    }
    let judged = format!("{:?}", judged.expect("a story").operands);
    judged.split('(').next().unwrap_or_default().to_owned()
}

// W4: Pods that do not work are reported, and a short interruption is not.
#[rstest]
#[case::well(&[(0, 2, THERE)], "Done")]
#[case::rolling(&[(0, 0, ON_ITS_WAY)], "Progressing")]
#[case::one_is_missing(&[(0, 1, THERE), (150, 1, THERE)], "Done")]
#[case::one_is_missing_for_long(&[(0, 1, THERE), (600, 1, THERE)], "Impaired")]
#[case::nothing_runs(&[(0, 0, THERE)], "Failing")]
#[case::nothing_runs_for_a_while(&[(0, 0, THERE), (15, 0, THERE)], "Down")]
#[case::nothing_runs_for_long(&[(0, 0, THERE), (150, 0, THERE)], "Outage")]
#[case::a_blip(&[(0, 0, THERE), (10, 2, THERE)], "Done")]
#[case::two_blips(&[(0, 0, THERE), (10, 2, THERE), (41, 0, THERE)], "Failing")]
#[case::stuck(&[(0, 0, TOO_SLOW)], "Failing")]
#[case::stuck_for_long(&[(0, 1, TOO_SLOW), (150, 1, TOO_SLOW)], "Impaired")]
#[case::stuck_and_one_is_up_and_down(&[(0, 0, TOO_SLOW), (150, 0, TOO_SLOW), (160, 1, TOO_SLOW)], "Failing")]
#[case::stuck_and_one_is_up(&[(0, 0, TOO_SLOW), (150, 0, TOO_SLOW), (160, 1, TOO_SLOW), (190, 1, TOO_SLOW)], "Impaired")]
#[case::stuck_with_nothing(&[(0, 0, TOO_SLOW), (150, 0, TOO_SLOW)], "Outage")]
// A Pod without a readiness probe is available until it crashes.
#[case::up_and_down(&[(0, 0, THERE), (5, 2, THERE), (10, 0, THERE), (12, 2, THERE), (16, 0, THERE)], "Down")]
#[case::available_after_the_report(&[(0, 0, THERE), (15, 0, THERE), (20, 2, THERE)], "Failing")]
#[case::up_and_down_for_long(&[(0, 0, THERE), (15, 0, THERE), (40, 2, THERE), (60, 0, THERE), (150, 0, THERE)], "Outage")]
#[case::up_for_good(&[(0, 0, THERE), (15, 0, THERE), (20, 2, THERE), (50, 2, THERE)], "Done")]
#[case::one_of_two_is_up_and_down(&[(0, 1, THERE), (300, 2, THERE), (310, 1, THERE), (600, 1, THERE)], "Impaired")]
#[case::one_of_two_is_back(&[(0, 1, THERE), (600, 1, THERE), (610, 2, THERE)], "Failing")]
#[case::one_of_two_is_back_for_good(&[(0, 1, THERE), (600, 1, THERE), (610, 2, THERE), (640, 2, THERE)], "Done")]
// A change that does not complete.
#[case::nothing_arrives(&[(0, 0, ON_ITS_WAY), (149, 0, ON_ITS_WAY)], "Progressing")]
#[case::nothing_arrives_for_a_while(&[(0, 0, ON_ITS_WAY), (150, 0, ON_ITS_WAY)], "Down")]
#[case::nothing_arrives_for_long(&[(0, 0, ON_ITS_WAY), (600, 0, ON_ITS_WAY)], "Outage")]
#[case::the_old_ones_run(&[(0, 1, ON_ITS_WAY), (600, 1, ON_ITS_WAY)], "Progressing")]
#[case::it_arrives(&[(0, 0, ON_ITS_WAY), (150, 0, ON_ITS_WAY), (160, 2, THERE)], "Done")]
#[case::one_change_after_the_other(&[(0, 0, ON_ITS_WAY), (100, 2, THERE), (110, 0, ON_ITS_WAY), (200, 0, ON_ITS_WAY)], "Progressing")]
fn decides(#[case] story: &[(u64, i64, &str)], #[case] expected: &str) {
    let story = story
        .iter()
        .map(|(second, available, reason)| (*second, workload(2, *available, reason)));
    assert_eq!(last(story), expected);
}

fn pod(restarts: i64, waiting: &str) -> Arc<Value> {
    let container = json!({"restartCount": restarts, "state": {"waiting": {"reason": waiting}}});
    Arc::new(json!({"metadata": {"name": "a-1"}, "status": {"containerStatuses": [container]}}))
}

// W4: Pods that have crashed repeatedly have to run for minutes.
#[rstest]
#[case::never(0, "", 30, "Done")]
#[case::once(1, "", 30, "Done")]
#[case::again_and_again(3, "", 30, "Failing")]
#[case::the_kubelet_waits(0, "CrashLoopBackOff", 30, "Failing")]
#[case::for_minutes(3, "", 300, "Done")]
fn crashes_are_counted(#[case] restarts: i64, #[case] waiting: &str, #[case] seconds: u64, #[case] expected: &str) {
    let up = || Workload {
        pods: vec![pod(restarts, waiting)],
        ..workload(2, 2, THERE)
    };
    let story = [
        (0, workload(2, 0, THERE)),
        (15, workload(2, 0, THERE)),
        (20, up()),
        (20 + seconds, up()),
    ];
    assert_eq!(last(story), expected);
}

// A DaemonSet without matching nodes has no desired Pods; but its controller must have observed it.
#[rstest]
#[case::for_no_machine(1, "Progressing")]
#[case::unseen(0, "Down")]
fn daemon_sets(#[case] observed: i64, #[case] expected: &str) {
    let live = json!({"metadata": {"generation": 1}, "status": {"observedGeneration": observed}});
    let workload = || Workload {
        key: key("DaemonSet"),
        live: Some(Arc::new(live.clone())),
        pods: Vec::new(),
    };
    assert_eq!(last([(0, workload()), (150, workload())]), expected);
}

// A workload that does not exist runs no Pods.
#[test]
fn absent() {
    let (start, mut patience) = (Instant::now(), Patience::default());
    let workloads = [Workload::new(key("Deployment"), None)];
    patience.judge(&workloads, start);
    let judged = patience.judge(&workloads, start + UNWELL);
    let why = "Deployment ns/a does not exist yet".to_owned();
    assert_eq!(judged.operands, Operands::Down(why));
}

#[test]
fn an_outage_has_its_reason() {
    let (start, mut patience) = (Instant::now(), Patience::default());
    let mut waiting = workload(2, 0, ON_ITS_WAY);
    waiting.pods = vec![pod(0, "ImagePullBackOff")];
    let workloads = [waiting];
    patience.judge(&workloads, start);
    let judged = patience.judge(&workloads, start + UNWELL);
    let Operands::Down(why) = judged.operands else {
        panic!("{:?}", judged.operands)
    };
    assert_eq!(
        why,
        "Deployment ns/a: 2 of 2 Pods updated; Deployment ns/a: 0 of 2 Pods available (Pod a-1: ImagePullBackOff)"
    );
    assert_eq!(judged.again, PARTIAL.checked_sub(UNWELL));
}

/// A `DaemonSet` with so many of its 50 Pods updated, and the maximum number of available ones.
fn daemon_set(updated: i64) -> Workload {
    let status = json!({
        "observedGeneration": 1, "desiredNumberScheduled": 50, "currentNumberScheduled": 50,
        "updatedNumberScheduled": updated, "numberAvailable": 45,
    });
    let live = json!({"metadata": {"generation": 1}, "status": status});
    Workload::new(key("DaemonSet"), Some(Arc::new(live)))
}

/// However many Pods are replaced, one after the other, the message does not change, from before the first one on.
#[test]
fn pods_that_roll_are_not_counted() {
    let (start, mut patience) = (Instant::now(), Patience::default());
    let other = || workload(2, 2, THERE);
    let mut message: Vec<_> = (0..50_u32)
        .map(|second| {
            let now = start + Duration::from_secs(second.into());
            patience.judge(&[other(), daemon_set(second.into())], now).operands
        })
        .collect();
    let unseen = Workload::new(key("DaemonSet"), None);
    message.push(
        patience
            .judge(&[other(), unseen], start + Duration::from_secs(50))
            .operands,
    );
    message.dedup();
    let once = "rolling out Deployment ns/a, DaemonSet ns/a".to_owned();
    assert_eq!(message, [Operands::Progressing(vec![once])]);
}

/// If it is stuck, the Pods are counted, with the causes.
#[test]
fn pods_that_do_not_roll_are() {
    let (start, mut patience) = (Instant::now(), Patience::default());
    let hanging = Workload {
        pods: vec![pod(9, "CrashLoopBackOff")],
        ..daemon_set(7)
    };
    patience.judge(std::slice::from_ref(&hanging), start);
    let judged = patience.judge(&[hanging], start + UNWELL);
    let counted = "DaemonSet ns/a: 7 of 50 Pods updated".to_owned();
    let cause = "DaemonSet ns/a: 45 of 50 Pods available (Pod a-1: CrashLoopBackOff)".to_owned();
    assert_eq!(judged.operands, Operands::Progressing(vec![counted, cause]));
}
