use super::*;
use rstest::rstest;
use testkit::node::node;

const PATIENCE: Duration = Duration::from_secs(5);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn a_failure_is_reported_when_it_lasts_and_again_when_it_changes() {
    let start = Instant::now();
    let mut failure = Failure::new(start);
    let mut reported = |reason, after| failure.should_report(reason, Duration::ZERO, PATIENCE, start + seconds(after));
    let all: Vec<_> = [
        ("a", 0),
        ("a", 4),
        ("a", 5),
        ("a", 60),
        ("b", 61),
        ("b", 62),
        ("b", 361),
    ]
    .into_iter()
    .filter(|(reason, after)| reported(reason, *after))
    .collect();
    assert_eq!(all, [("a", 5), ("b", 61), ("b", 361)]);
}

#[test]
fn a_failure_that_will_last_is_reported_at_once() {
    let start = Instant::now();
    assert!(Failure::new(start).should_report("a", seconds(300), PATIENCE, start));
}

#[rstest]
#[case::none(None, true)]
#[case::same(Some(("A", "b")), false)]
#[case::other_reason(Some(("B", "b")), true)]
#[case::other_text(Some(("A", "c")), true)]
fn writes_a_condition_only_when_it_changes(#[case] there: Option<(&str, &str)>, #[case] expected: bool) {
    let mut node = node("n", "");
    let began = Time("2020-01-01T00:00:00Z".parse().unwrap());
    node.status.as_mut().unwrap().conditions = there.map(|(reason, message)| {
        vec![NodeCondition {
            reason: Some(reason.into()),
            message: Some(message.into()),
            last_transition_time: Some(began.clone()),
            ..testkit::node::condition(conditions::CLOUD_PROVIDER_INITIALIZED, "False")
        }]
    });
    let now = "2021-01-01T00:00:00Z".parse().unwrap();
    let written = condition(&node, "A", "b", now);
    assert_eq!(written.is_some(), expected);
    if let Some(written) = written {
        let since = if there.is_some() { began } else { Time(now) };
        assert_eq!(written.last_transition_time, Some(since));
    }
}
