use super::plan::{Task, after, work};
use cloud::Error;
use k8s_openapi::api::core::v1::Node;
use rstest::rstest;
use runtime::{informer::Change, queue::Next};
use serde_json::json;
use std::{sync::Arc, time::Duration};

const LABEL: (&str, &str) = ("tagged", "v1");

/// A Node with this provider ID and this value of the label; `-`: none.
fn node(id: &str, value: &str) -> Arc<Node> {
    let given = |text: &str| (text != "-").then(|| text.to_owned());
    let labels = given(value).map(|value| json!({"tagged": value}));
    let node = json!({"metadata": {"name": "n", "labels": labels}, "spec": {"providerID": given(id)}});
    Arc::new(serde_json::from_value(node).unwrap())
}

#[rstest]
#[case::new("aws:///a/i-1", "-", true)]
#[case::other_tags("aws:///a/i-1", "v0", true)]
#[case::tagged("aws:///a/i-1", "v1", false)]
#[case::not_initialized("-", "-", false)]
fn nodes_without_the_label_are_tagged(#[case] id: &str, #[case] value: &str, #[case] expected: bool) {
    let node = node(id, value);
    let updated = Change::Updated {
        old: Arc::clone(&node),
        new: Arc::clone(&node),
    };
    for change in [Change::Added(node), updated] {
        let key = work(&change, LABEL);
        assert_eq!(key.map(|key| key.task), expected.then_some(Task::Tag));
    }
}

#[rstest]
#[case::tagged("aws:///a/i-1", "v1", true)]
#[case::other_tags("aws:///a/i-1", "v0", true)]
#[case::never_tagged("aws:///a/i-1", "-", false)]
#[case::no_machine("-", "v1", false)]
fn a_deleted_node_loses_its_tags(#[case] id: &str, #[case] value: &str, #[case] expected: bool) {
    let key = work(&Change::Deleted(node(id, value)), LABEL);
    assert_eq!(key.is_some(), expected);
}

fn missing() -> Error {
    Error::not_found("i-1")
}

fn down() -> Error {
    Error::unavailable("CreateTags", "down")
}

fn slow() -> Error {
    Error::Throttled {
        call: "CreateTags".into(),
        retry_after: Some(Duration::from_secs(7)),
    }
}

#[rstest]
#[case::young(missing(), 299, 20, Next::Retry, "Failed")]
#[case::old(missing(), 300, 0, Next::Done, "Failed GivenUp")]
#[case::invalid(Error::invalid("id", "bad"), 0, 0, Next::Done, "Failed GivenUp")]
#[case::down(down(), 999, 8, Next::Retry, "Failed")]
#[case::down_for_long(down(), 0, 9, Next::Done, "Failed GivenUp")]
#[case::throttled(slow(), 0, 0, Next::After(Duration::from_secs(7)), "Failed")]
#[case::cannot_have_tags(Error::NotSupported { what: "tags".into() }, 0, 0, Next::Done, "")]
fn a_failure_is_retried_for_a_while(
    #[case] error: Error,
    #[case] age: u64,
    #[case] failures: u32,
    #[case] next: Next,
    #[case] observed: &str,
) {
    let (found, outcomes) = after(&error, Duration::from_secs(age), failures);
    let outcomes: Vec<_> = outcomes.iter().map(|outcome| format!("{outcome:?}")).collect();
    assert_eq!((found, outcomes.join(" ").as_str()), (next, observed));
}
