use super::*;
use k8s_openapi::api::core::v1::ObjectReference;
use rstest::rstest;

fn pod(name: &str) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".into()),
        name: Some(name.into()),
        namespace: Some("my-ns".into()),
        uid: Some("C934D34AFB20242".into()),
        api_version: Some("version".into()),
        field_path: Some("spec.containers{mycontainer}".into()),
        resource_version: None,
    }
}

fn event(reason: &'static str, message: &str) -> Event {
    Event {
        component: "kubelet",
        regarding: pod("my-pod"),
        kind: Kind::Normal,
        reason,
        message: message.into(),
    }
}

fn same(count: usize) -> Vec<Event> {
    vec![event("duplicate", "me again"); count]
}

fn similar(count: usize) -> Vec<Event> {
    (0..count)
        .map(|n| event("similar", &format!("similar message-{n}")))
        .collect()
}

fn unique(count: usize) -> Vec<Event> {
    let reasons = ["a", "b", "c"];
    (0..count)
        .map(|n| Event {
            regarding: pod(&format!("pod-{n}")),
            ..event(reasons[n % reasons.len()], &n.to_string())
        })
        .collect()
}

fn in_another_container() -> Vec<Event> {
    let mut event = event("similar", "similar message");
    event.regarding.field_path = Some("spec.containers{container2}".into());
    vec![event]
}

fn start() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

/// What becomes of the last of these events, with so many seconds between them.
fn last(limits: Limits, events: &[Event], seconds: i64) -> String {
    let mut correlator = Correlator::new(limits);
    let mut now = start();
    let mut last = None;
    for event in events {
        now += SignedDuration::from_secs(seconds);
        last = correlator.correlate(event, now);
    }
    last.map_or("nothing".to_owned(), |step| step.to_string())
}

// upstream: TestEventCorrelator
#[rstest]
#[case("create-a-single-event", vec![], event("first", "i am first"), 5, "create 1× i am first")]
#[case(
    "the-same-event-should-just-count",
    same(1),
    event("duplicate", "me again"),
    5,
    "count 2× me again"
)]
#[case(
    "the-same-event-should-just-count-even-if-more-than-aggregate",
    same(10),
    event("duplicate", "me again"),
    30,
    "count 11× me again"
)]
#[case(
    "the-same-event-is-spam-if-happens-too-frequently",
    same(26),
    event("duplicate", "me again"),
    1,
    "nothing"
)]
#[case(
    "create-many-unique-events",
    unique(30),
    event("unique", "snowflake"),
    5,
    "create 1× snowflake"
)]
#[case(
    "similar-events-should-aggregate-event",
    similar(9),
    event("similar", "similar message"),
    5,
    "create 1× (combined from similar events): similar message"
)]
#[case(
    "similar-events-many-times-should-count-the-aggregate",
    similar(10),
    event("similar", "similar message"),
    5,
    "count 2× (combined from similar events): similar message"
)]
#[case(
    "events-from-different-containers-do-not-aggregate",
    in_another_container(),
    event("similar", "similar message"),
    5,
    "create 1× similar message"
)]
#[case(
    "similar-events-whose-interval-is-greater-than-aggregate-interval-do-not-aggregate",
    similar(9),
    event("similar", "similar message"),
    601,
    "create 1× similar message"
)]
fn correlates(
    #[case] name: &str,
    #[case] mut before: Vec<Event>,
    #[case] event: Event,
    #[case] seconds: i64,
    #[case] expected: &str,
) {
    before.push(event);
    assert_eq!(last(Limits::default(), &before, seconds), expected, "{name}");
}

// upstream: TestEventSpamFilter
#[rstest]
#[case(
    "event should be reported as spam if object reference is the same for default spam filter",
    event("duplicate", "me again"),
    "nothing"
)]
#[case("another object is not spam", Event { regarding: pod("other"), ..event("original", "i am first") }, "create 1× i am first")]
#[case("another type is not spam", Event { kind: Kind::Warning, ..event("original", "i am first") }, "create 1× i am first")]
#[case("another component is not spam", Event { component: "other", ..event("original", "i am first") }, "create 1× i am first")]
fn filters_spam(#[case] name: &str, #[case] second: Event, #[case] expected: &str) {
    let limits = Limits {
        burst: 1,
        ..Limits::default()
    };
    assert_eq!(
        last(limits, &[event("original", "i am first"), second], 1),
        expected,
        "{name}"
    );
}

// upstream: TestEventAggregatorByReasonFunc
#[rstest]
#[case(
    "end-of-world: it was awful",
    "end-of-world",
    "it was awful",
    "create 1× (combined from similar events): it was awful"
)]
#[case("nevermind: it was a bug", "nevermind", "it was a bug", "create 1× it was a bug")]
fn combines_by_reason(#[case] name: &str, #[case] reason: &'static str, #[case] message: &str, #[case] expected: &str) {
    let limits = Limits {
        similar: 2,
        ..Limits::default()
    };
    assert_eq!(
        last(
            limits,
            &[event("end-of-world", "it was fun"), event(reason, message)],
            1
        ),
        expected,
        "{name}"
    );
}

#[test]
fn filtered_events_still_count() {
    let limits = Limits {
        burst: 2,
        ..Limits::default()
    };
    let mut correlator = Correlator::new(limits);
    let event = event("duplicate", "me again");
    let steps: Vec<_> = [0, 1, 2, 3, 303]
        .map(|seconds| correlator.correlate(&event, start() + SignedDuration::from_secs(seconds)))
        .map(|step| step.map_or("nothing".to_owned(), |step| step.to_string()))
        .into();
    assert_eq!(
        steps,
        [
            "create 1× me again",
            "count 2× me again",
            "nothing",
            "nothing",
            "count 5× me again"
        ]
    );
}

#[test]
fn a_known_message_keeps_its_own_count_when_others_are_combined() {
    let mut events = similar(12);
    events.push(event("similar", "similar message-0"));
    assert_eq!(last(Limits::default(), &events, 1), "count 2× similar message-0");
}

#[test]
fn a_clock_that_is_set_back_has_no_effect() {
    let mut correlator = Correlator::new(Limits {
        burst: 2,
        ..Limits::default()
    });
    let event = event("duplicate", "me again");
    let hour = SignedDuration::from_hours(1);
    let steps = [start(), start() - hour, start() - hour].map(|now| correlator.correlate(&event, now).is_some());
    assert_eq!(steps, [true, true, false]);
}

// upstream: TestEventf
#[test]
fn objects_are_those_of_client_go() {
    let regarding = |uid: &str, field: Option<&str>| ObjectReference {
        kind: Some("Pod".into()),
        name: Some("foo".into()),
        namespace: Some("baz".into()),
        uid: Some(uid.into()),
        api_version: Some("v1".into()),
        field_path: field.map(Into::into),
        resource_version: None,
    };
    let (two, three) = (Some("spec.containers[2]"), Some("spec.containers[3]"));
    let rows = [
        (
            "Started: new",
            regarding("bar", two),
            "Started",
            "some verbose message: 1",
            "create",
            1,
        ),
        (
            "Killed: new",
            regarding("bar", None),
            "Killed",
            "some other verbose message: 1",
            "create",
            1,
        ),
        (
            "Started: again",
            regarding("bar", two),
            "Started",
            "some verbose message: 1",
            "count",
            2,
        ),
        (
            "Started: different uid",
            regarding("differentUid", three),
            "Started",
            "some verbose message: 1",
            "create",
            1,
        ),
        (
            "Started: third time",
            regarding("bar", two),
            "Started",
            "some verbose message: 1",
            "count",
            3,
        ),
        (
            "Stopped: different uid",
            regarding("differentUid", three),
            "Stopped",
            "some verbose message: 1",
            "create",
            1,
        ),
        (
            "Stopped: again",
            regarding("differentUid", three),
            "Stopped",
            "some verbose message: 1",
            "count",
            2,
        ),
    ];
    let mut correlator = Correlator::new(Limits::default());
    let mut now = start();
    for (name, regarding, reason, message, step, count) in rows {
        now += SignedDuration::from_secs(1);
        let event = Event {
            component: "eventTest",
            regarding: regarding.clone(),
            kind: Kind::Normal,
            reason,
            message: message.into(),
        };
        let decided = correlator.correlate(&event, now).unwrap();
        assert_eq!(decided.to_string(), format!("{step} {count}× {message}"), "{name}");
        let object = decided.object();
        assert_eq!(object.involved_object, regarding, "{name}");
        assert_eq!(object.metadata.namespace.as_deref(), Some("baz"), "{name}");
        assert!(object.metadata.name.as_deref().unwrap().starts_with("foo."), "{name}");
        assert_eq!(object.first_timestamp == object.last_timestamp, count == 1, "{name}");
    }
}

// upstream: TestMultiSinkCache
#[test]
fn each_counts_for_itself() {
    let event = event("Started", "hello");
    for name in ["first sink", "second sink"] {
        let mut correlator = Correlator::new(Limits::default());
        let steps = [0, 1].map(|seconds| correlator.correlate(&event, start() + SignedDuration::from_secs(seconds)));
        assert_eq!(
            steps.map(|step| step.unwrap().to_string()),
            ["create 1× hello", "count 2× hello"],
            "{name}"
        );
    }
}

// upstream: TestEventAggregatorByReasonMessageFunc
#[test]
fn combined_events_are_marked() {
    let limits = Limits {
        similar: 1,
        ..Limits::default()
    };
    let message = last(limits, &[event("end-of-world", "it was fun")], 1);
    assert_eq!(
        message.strip_prefix("create 1× "),
        Some("(combined from similar events): it was fun")
    );
}

// upstream: TestEventfNoNamespace
#[rstest]
#[case("no namespace", None, "default")]
#[case("empty namespace", Some(""), "default")]
#[case("namespace", Some("baz"), "baz")]
fn goes_to_the_namespace_of_its_object(#[case] name: &str, #[case] namespace: Option<&str>, #[case] expected: &str) {
    let mut event = event("Started", "some verbose message: 1");
    event.regarding.namespace = namespace.map(Into::into);
    let step = Correlator::new(Limits::default()).correlate(&event, start()).unwrap();
    let object = serde_json::to_value(step.object()).unwrap();
    assert_eq!(object["metadata"]["namespace"], expected, "{name}");
    assert_eq!(
        object["involvedObject"]
            .get("namespace")
            .and_then(|namespace| namespace.as_str()),
        namespace,
        "{name}"
    );
}

#[test]
fn json_is_that_of_client_go() {
    let now: Timestamp = "2026-11-15T12:00:00.123456789Z".parse().unwrap();
    let step = Correlator::new(Limits::default())
        .correlate(&event("Started", "hello"), now)
        .unwrap();
    let expected = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": format!("my-pod.{:x}", now.as_nanosecond()), "namespace": "my-ns"},
        "involvedObject": {
            "kind": "Pod", "namespace": "my-ns", "name": "my-pod", "uid": "C934D34AFB20242", "apiVersion": "version",
            "fieldPath": "spec.containers{mycontainer}",
        },
        "reason": "Started",
        "message": "hello",
        "source": {"component": "kubelet"},
        "firstTimestamp": "2026-11-15T12:00:00Z",
        "lastTimestamp": "2026-11-15T12:00:00Z",
        "count": 1,
        "type": "Normal",
        "reportingComponent": "kubelet",
        "reportingInstance": "",
    });
    assert_eq!(serde_json::to_value(step.object()).unwrap(), expected);
}

// upstream: TestGenerateEventName
#[rstest]
#[case("valid name", "test-pod", Named::After)]
#[case("invalid name - too long", &"x".repeat(300), Named::Otherwise)]
#[case("invalid name - upper case", "test.POD", Named::Otherwise)]
#[case("invalid name - special chars", "test.pod/invalid!chars?", Named::Otherwise)]
#[case(
    "invalid name - special chars and non alphanumeric starting character",
    "--test.pod/invalid!chars?",
    Named::Otherwise
)]
#[case("a subdomain", "node.example.com", Named::After)]
#[case("a label that ends in a dash", "test-", Named::Otherwise)]
#[case("no name", "", Named::Otherwise)]
fn is_named_after_its_object(#[case] case: &str, #[case] object: &str, #[case] expected: Named) {
    let name = name(object, start());
    match expected {
        Named::After => assert_eq!(name, format!("{object}.{:x}", start().as_nanosecond()), "{case}"),
        Named::Otherwise => assert!(uuid::Uuid::parse_str(&name).is_ok(), "{case}: {name}"),
    }
}

#[derive(Debug)]
enum Named {
    After,
    Otherwise,
}
