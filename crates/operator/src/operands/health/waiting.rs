//! Why Pods do not run, in short messages that do not change as long as the cause is the same: each change of a status is
//! a write.

use super::{CRASH_LOOP, containers, crash_loops};
use serde_json::Value;
use std::{cmp::Reverse, collections::BTreeMap};

/// So many reasons are reported.
const REASONS: usize = 3;
/// The longest message of the cluster or of a program, in characters.
const WORDS: usize = 200;

/// Why Pods do not run: each reason once, with one of its Pods. The most frequent reasons come first, and only a few are reported.
pub(super) fn reasons(pods: &[&Value]) -> Vec<String> {
    let mut all: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for pod in pods {
        let name = pod.pointer("/metadata/name").and_then(Value::as_str);
        if let (Some(name), Some(why)) = (name, why(pod)) {
            all.entry(why).or_default().push(name);
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(_, names)| (Reverse(names.len()), names.first().copied()));
    let rest: usize = all.iter().skip(REASONS).map(|(_, names)| names.len()).sum();
    let shown = all.iter().take(REASONS).map(|(why, names)| match names.as_slice() {
        [name, others @ ..] if !others.is_empty() => format!("Pod {name} and {} more: {why}", others.len()),
        names => format!("Pod {}: {why}", names.concat()),
    });
    let rest = (rest > 0).then(|| format!("{rest} more for other reasons"));
    shown.chain(rest).collect()
}

/// Why a Pod does not run.
fn why(pod: &Value) -> Option<String> {
    let waits = |container: &&Value| {
        let reason = container.pointer("/state/waiting/reason");
        reason.is_some_and(|reason| *reason != "PodInitializing")
    };
    if let Some(container) = containers(pod).find(waits) {
        return Some(if container["state"]["waiting"]["reason"] == CRASH_LOOP {
            crash(container)
        } else {
            message(&container["state"]["waiting"], |message| message)
        });
    }
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let unscheduled = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False");
    // Between two attempts a container does not wait: then the end of its log is the reason.
    let ended = || containers(pod).find(|container| container["ready"] != true && end(container).is_some());
    unscheduled
        .map(|condition| message(condition, |message| message))
        .or_else(|| ended().map(crash))
}

/// The message about a container that crashes repeatedly: the same while the kubelet waits, while it runs and when it has ended. The
/// kubelet's own message contains the time that it waits.
fn crash(container: &Value) -> String {
    let words = end(container).map(|end| message(end, last_line));
    let loops = crash_loops(container).then(|| CRASH_LOOP.to_owned());
    loops.into_iter().chain(words).collect::<Vec<_>>().join(": ")
}

/// How a container ended that should run.
fn end(container: &Value) -> Option<&Value> {
    let ends = ["/state/terminated", "/lastState/terminated"].map(|state| container.pointer(state));
    ends.into_iter().flatten().find(|end| end["exitCode"] != 0)
}

/// A reason and its message, if there is one.
fn message(what: &Value, part: impl Fn(&str) -> &str) -> String {
    let reason = what["reason"].as_str().map(str::to_owned);
    let message = what["message"].as_str().map(|message| cut(part(message).trim()));
    let all = reason.into_iter().chain(message);
    all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
}

/// The last line of a log, without its time, which differs after each restart.
fn last_line(log: &str) -> &str {
    let line = log.lines().map(str::trim).rfind(|line| !line.is_empty());
    without_time(line.unwrap_or_default())
}

/// A line of a log without its time: that of klog (`E1117 23:44:47.123456  1 main.go:30] …`), or one that begins with a date.
fn without_time(line: &str) -> &str {
    let is_klog = |head: &str| {
        let mut letters = head.chars();
        letters.next().is_some_and(|level| "IWEF".contains(level))
            && letters.by_ref().take(4).all(|letter| letter.is_ascii_digit())
            && letters.next() == Some(' ')
    };
    match line.split_once("] ") {
        Some((head, words)) if is_klog(head) => return words,
        _ => {}
    }
    match line.split_once(' ') {
        Some((date, words)) if date.parse::<jiff::Timestamp>().is_ok() => words.trim_start(),
        _ => line,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn pod(name: &str, container: &Value) -> Value {
        json!({"metadata": {"name": name}, "status": {"containerStatuses": [container]}})
    }

    fn waiting(reason: &str, message: &str) -> Value {
        json!({"waiting": {"reason": reason, "message": message}})
    }

    fn terminated(message: &str) -> Value {
        json!({"terminated": {"exitCode": 1, "reason": "Error", "message": message}})
    }

    /// The status of Pods, and the message.
    #[rstest]
    #[case::one(&["a: A x"], "Pod a: A: x")]
    #[case::of_one_mind(&["a: A x", "b: A x", "c: A x"], "Pod a and 2 more: A: x")]
    #[case::the_most_frequent_first(&["a: A x", "b: B x", "c: B x"], "Pod b and 1 more: B: x; Pod a: A: x")]
    #[case::four_reasons(&["a: A x", "b: B x", "c: C x", "d: D x"], "Pod a: A: x; Pod b: B: x; Pod c: C: x; 1 more for other reasons")]
    #[case::none(&[], "")]
    fn each_reason_once(#[case] pods: &[&str], #[case] expected: &str) {
        let pods = pods.iter().map(|text| {
            let (name, message) = text.split_once(": ").unwrap();
            let (reason, message) = message.split_once(' ').unwrap();
            pod(name, &json!({"state": waiting(reason, message)}))
        });
        let pods: Vec<_> = pods.collect();
        assert_eq!(reasons(&pods.iter().collect::<Vec<_>>()).join("; "), expected);
    }

    /// The message does not depend on the state of the crash loop.
    #[rstest]
    #[case::the_kubelet_waits(
        waiting("CrashLoopBackOff", "back-off 10s restarting container=a pod=a-1_ns(1)"),
        terminated("no such cloud")
    )]
    #[case::the_kubelet_waits_longer(
        waiting("CrashLoopBackOff", "back-off 5m0s restarting container=a pod=a-1_ns(1)"),
        terminated("no such cloud")
    )]
    #[case::it_is_tried_again(json!({"running": {}}), terminated("no such cloud"))]
    #[case::it_has_ended(terminated("no such cloud"), terminated("something else"))]
    fn a_crash_loop_has_a_stable_message(#[case] state: Value, #[case] last: Value) {
        let looping = json!({"ready": false, "restartCount": 7, "state": state, "lastState": last});
        let shown = why(&pod("a", &looping));
        assert_eq!(shown.as_deref(), Some("CrashLoopBackOff: Error: no such cloud"));
    }

    #[rstest]
    #[case::one_line("no such cloud", "no such cloud")]
    #[case::the_last_one("starting\nno such cloud\n\n", "no such cloud")]
    #[case::of_klog("E1117 23:44:47.123456       1 main.go:30] no such cloud", "no such cloud")]
    #[case::dated("2026-11-17T23:44:47.123Z ERROR no such cloud", "ERROR no such cloud")]
    #[case::a_list("E] is no such cloud", "E] is no such cloud")]
    #[case::silent("", "")]
    fn last_line_is(#[case] log: &str, #[case] words: &str) {
        assert_eq!(last_line(log), words);
    }

    /// A roll-out that fails on every node of a large cluster.
    #[test]
    fn many_reasons_are_shortened() {
        let all = |wait: &str| {
            let pods = (0..500).map(|number| {
                let message = format!("back-off {wait} restarting failed container=a pod=a-{number}_ns(uid-{number})");
                let tail = format!(
                    "{}E1117 23:44:47.{number:06} 1 main.go:30] ü{}\n",
                    "a\n".repeat(900),
                    "x".repeat(900)
                );
                let state = waiting("CrashLoopBackOff", &message);
                pod(
                    &format!("a-{number:03}"),
                    &json!({"ready": false, "state": state, "lastState": terminated(&tail)}),
                )
            });
            let pods: Vec<_> = pods.collect();
            reasons(&pods.iter().collect::<Vec<_>>()).join("; ")
        };
        let shown = all("10s");
        assert!(
            shown.starts_with("Pod a-000 and 499 more: CrashLoopBackOff: Error: üx") && shown.len() < 500,
            "{shown}"
        );
        assert_eq!(shown, all("5m0s"));
    }
}
