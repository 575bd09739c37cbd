use super::*;
use crate::nodes::Scope;
use cloud::Error;
use rstest::rstest;
use std::time::Duration;
use testkit::node::{machine, node};

const EXISTS: &str = "keep node0: its machine exists";
const FAILED: &str = "keep node0: describe machines is unavailable: no";
const YOUNG: &str = "keep node0: missing, but too young";

/// `missing`, `not yet`, `unmanaged`, `error`, or the words of a machine.
fn answer(words: &str) -> cloud::Result<Answer> {
    match words {
        "missing" => Ok(Answer::Missing),
        "not yet" => Ok(Answer::NotYet),
        "unmanaged" => Ok(Answer::Unmanaged),
        "error" => Err(Error::unavailable("describe machines", "no")),
        words => Ok(Answer::Found(Box::new(machine(words)))),
    }
}

fn now() -> Timestamp {
    "2020-01-01T00:00:00Z".parse().unwrap()
}

/// The step for the node, including the decision whether to look up its instance.
fn outcome(words: &str, cloud: &str, options: &Options) -> String {
    let node = Arc::new(node("node0", words));
    if is_ready(&node) {
        return ready(node).to_string();
    }
    plan(&[node], &[answer(cloud)], now(), options)[0].to_string()
}

#[rstest]
#[case::not_ready("ready:False")]
#[case::without_a_provider_id("ready:Unknown born:2019-01-01T00:00:00Z")]
fn unmanaged_nodes_are_never_deleted(#[case] words: &str) {
    let kept = outcome(words, "unmanaged", &Options::default());
    assert_eq!(kept, "keep node0: not managed by this cloud");
}

// upstream: Test_NodesDeleted
#[rstest]
#[case("NotReady, instance absent → node deleted", "ready:False", "missing", "delete node0")]
#[case("NotReady, provider error → kept", "ready:False", "error", FAILED)]
#[case("NotReady, exists → kept unchanged", "ready:False", "id:x", EXISTS)]
#[case("Ready Unknown, absent → deleted", "ready:Unknown", "missing", "delete node0")]
#[case("Ready Unknown, exists, not shut down → kept", "ready:Unknown", "id:x", EXISTS)]
#[case(
    "Ready True but provider says gone → kept (cloud not believed)",
    "ready:True",
    "missing",
    "keep node0: ready"
)]
#[case(
    "[InstancesV2] NotReady, instance absent → node deleted",
    "ready:False id:x",
    "missing",
    "delete node0"
)]
#[case("[InstancesV2] NotReady, provider error → kept", "ready:False id:x", "error", FAILED)]
#[case(
    "[InstancesV2] NotReady, exists → kept unchanged",
    "ready:False id:x",
    "id:x",
    EXISTS
)]
#[case(
    "[InstancesV2] Ready Unknown, absent → deleted",
    "ready:Unknown id:x",
    "missing",
    "delete node0"
)]
#[case(
    "[InstancesV2] Ready Unknown, exists, not shut down → kept",
    "ready:Unknown id:x",
    "id:x",
    EXISTS
)]
#[case(
    "[InstancesV2] Ready True but provider says gone → kept (cloud not believed)",
    "ready:True id:x",
    "missing",
    "keep node0: ready"
)]
fn nodes_deleted(#[case] name: &str, #[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(outcome(there, cloud, &Options::default()), expected, "{name}");
}

// upstream: Test_NodesShutdown
#[rstest]
#[case(
    "NotReady, exists, shut down → shutdown taint added",
    "ready:False id:x",
    "id:x off",
    "taint node0"
)]
#[case(
    "same with empty spec.providerID (resolved by InstanceID) → taint added",
    "ready:False",
    "id:x off",
    "taint node0"
)]
#[case(
    "empty providerID, InstanceID empty string, not existing → deleted",
    "ready:False",
    "missing",
    "delete node0"
)]
#[case(
    "InstanceID returns generic error → unchanged, no taint",
    "ready:False",
    "error",
    FAILED
)]
#[case(
    "InstanceID returns InstanceNotFound → deleted",
    "ready:False",
    "missing",
    "delete node0"
)]
#[case(
    "shutdown query would error but instance does not exist → deleted (existence first)",
    "ready:False id:x",
    "missing",
    "delete node0"
)]
#[case(
    "NotReady, not shut down, not existing → deleted",
    "ready:False id:x",
    "missing",
    "delete node0"
)]
#[case(
    "Ready True but provider says shut down → unchanged",
    "ready:True id:x",
    "id:x off",
    "keep node0: ready"
)]
#[case(
    "Ready Unknown, shut down and not existing → deleted",
    "ready:Unknown id:x",
    "missing",
    "delete node0"
)]
fn nodes_shutdown(#[case] name: &str, #[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(outcome(there, cloud, &Options::default()), expected, "{name}");
}

#[rstest]
#[case::no_condition_is_unknown("id:x", "missing", "delete node0")]
#[case::tainted_already("ready:False shutdown", "off", "keep node0: tainted already")]
#[case::on_again_but_not_ready("ready:False shutdown", "id:x", EXISTS)]
#[case::ready_again("ready:True shutdown", "off", "untaint node0")]
#[case::not_yet("ready:False", "not yet", "keep node0: the cloud does not describe its machine yet")]
#[case::young("ready:False born:2019-12-31T23:59:31Z", "missing", YOUNG)]
#[case::old_enough("ready:False born:2019-12-31T23:59:30Z", "missing", "delete node0")]
#[case::created_in_the_future("ready:False born:2020-01-01T00:00:10Z", "missing", YOUNG)]
#[case::never_initialized("ready:False tainted born:2019-12-31T23:55:01Z", "missing", YOUNG)]
#[case::never_initialized_for_long("ready:False tainted born:2019-12-31T23:55:00Z", "missing", "delete node0")]
#[case::never_initialized_but_known_by_its_id(
    "ready:False tainted id:x born:2019-12-31T23:59:30Z",
    "missing",
    "delete node0"
)]
#[case::going("ready:False going", "missing", "keep node0: being deleted already")]
#[case::shut_down_during_deletion("ready:False going", "off", "taint node0")]
fn plans(#[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(outcome(there, cloud, &Options::default()), expected);
}

#[rstest]
#[case::ours("ready:False id:a://b", "delete node0")]
#[case::unknown("ready:False", "keep node0: missing, but without a provider ID")]
fn nodes_that_may_belong_to_another_cloud_are_kept(#[case] there: &str, #[case] expected: &str) {
    let scope = Scope {
        schemes: ["a".to_owned()].into(),
        ..Scope::default()
    };
    assert_eq!(
        outcome(
            there,
            "missing",
            &Options {
                scope,
                ..Options::default()
            }
        ),
        expected
    );
}

#[test]
fn grace_is_an_option() {
    let options = Options {
        grace: Duration::ZERO,
        ..Options::default()
    };
    assert_eq!(
        outcome("born:2019-12-31T23:59:59Z", "missing", &options),
        "delete node0"
    );
}

// upstream: Test_GetProviderID
#[rstest]
#[case("legacy InstanceNotFound → that error", "missing", "delete node0")]
#[case("legacy unknown error → wrapped text", "error", FAILED)]
fn provider_id_errors(#[case] name: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(outcome("ready:False", cloud, &Options::default()), expected, "{name}");
}
