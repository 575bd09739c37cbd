use super::*;
use crate::nodes::{addresses, conditions};
use k8s_openapi::api::core::v1::Taint;
use rstest::rstest;
use testkit::node::{condition, node};

/// The operations after the test of the UID, in words.
fn words(patch: &Spec<'_>) -> String {
    let (uid, rest) = patch.operations().split_first().unwrap();
    assert_eq!(*uid, json!({ "op": "test", "path": "/metadata/uid", "value": "uid-n" }));
    let one = |operation: &Value| {
        let value = operation
            .get("value")
            .map_or_else(String::new, |value| format!(" {value}"));
        format!(
            "{} {}{value}",
            operation["op"].as_str().unwrap(),
            operation["path"].as_str().unwrap()
        )
    };
    rest.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn taint(key: &str, effect: &str) -> Taint {
    Taint {
        key: key.into(),
        effect: effect.into(),
        ..Taint::default()
    }
}

fn tainted(taints: &[(&str, &str)]) -> Node {
    let mut node = node("n", "");
    node.spec.as_mut().unwrap().taints = Some(taints.iter().map(|(key, effect)| taint(key, effect)).collect());
    node
}

// upstream: TestTaintExists
#[rstest]
#[case("exists T", ("foo", "NoExecute"), true)]
#[case("different key F", ("no_such_key", "NoExecute"), false)]
#[case("different effect F", ("foo", "NoSchedule"), false)]
fn finds_a_taint(#[case] name: &str, #[case] (key, effect): (&str, &str), #[case] expected: bool) {
    let taints = [taint("foo", "NoExecute"), taint("bar", "NoSchedule")];
    assert_eq!(taints::contains(&taints, &taint(key, effect)), expected, "{name}");
}

// upstream: TestRemoveTaint
#[rstest]
#[case("absent → unchanged,false", &[("foo", "NoSchedule")], ("foo_1", "NoSchedule"), "")]
#[case(
    "present → empty list,true",
    &[("foo", "NoSchedule")],
    ("foo", "NoSchedule"),
    r#"test /spec/taints/0/key "foo"; test /spec/taints/0/effect "NoSchedule"; remove /spec/taints/0"#
)]
#[case("no taints → empty,false", &[], ("foo", "NoSchedule"), "")]
// upstream: TestDeleteTaint
#[case("other name → unchanged,false", &[("foo", "NoSchedule")], ("foo_1", "NoSchedule"), "")]
#[case("other effect → unchanged,false", &[("foo", "NoSchedule")], ("foo", "NoExecute"), "")]
#[case(
    "match → empty,true",
    &[("foo", "NoSchedule")],
    ("foo", "NoSchedule"),
    r#"test /spec/taints/0/key "foo"; test /spec/taints/0/effect "NoSchedule"; remove /spec/taints/0"#
)]
#[case("empty list → empty,false", &[], ("foo", "NoSchedule"), "")]
fn removes_a_taint(
    #[case] name: &str,
    #[case] taints: &[(&str, &str)],
    #[case] (key, effect): (&str, &str),
    #[case] expected: &str,
) {
    let node = tainted(taints);
    let positions = taints::positions(taints::of(&node), &taint(key, effect));
    assert_eq!(words(&Spec::of(&node).without_taints(&positions)), expected, "{name}");
}

#[test]
fn removes_several_taints_from_the_last_to_the_first() {
    let node = tainted(&[("x", "NoSchedule"), ("other", "NoSchedule"), ("x", "NoExecute")]);
    let positions = taints::positions_of_key(taints::of(&node), "x");
    assert_eq!(
        words(&Spec::of(&node).without_taints(&positions)),
        r#"test /spec/taints/2/key "x"; test /spec/taints/2/effect "NoExecute"; remove /spec/taints/2; test /spec/taints/0/key "x"; test /spec/taints/0/effect "NoSchedule"; remove /spec/taints/0"#
    );
}

#[rstest]
#[case::first("", r#"test /spec/taints null; add /spec/taints [{"effect":"NoSchedule","key":"node.cloudprovider.kubernetes.io/shutdown"}]"#)]
#[case::further(
    "taint:a",
    r#"add /spec/taints/- {"effect":"NoSchedule","key":"node.cloudprovider.kubernetes.io/shutdown"}"#
)]
fn adds_a_taint(#[case] there: &str, #[case] expected: &str) {
    assert_eq!(
        words(&Spec::of(&node("n", there)).with_taint(&taints::shutdown())),
        expected
    );
}

#[rstest]
#[case::none("", &[], "")]
#[case::first("", &[("a.b/c", Some("d"))], r#"test /metadata/labels null; add /metadata/labels {}; add /metadata/labels/a.b~1c "d""#)]
#[case::further("x=y", &[("a~b", Some("d"))], r#"add /metadata/labels/a~0b "d""#)]
#[case::gone("x=y", &[("x", None)], "remove /metadata/labels/x")]
fn labels(#[case] there: &str, #[case] changes: &[(&str, Option<&str>)], #[case] expected: &str) {
    let changes = changes
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned)))
        .collect();
    assert_eq!(words(&Spec::of(&node("n", there)).labels(&changes)), expected);
}

#[test]
fn builds_a_json_patch() {
    let node = node("n", "x=y");
    let patch = Spec::of(&node).provider_id("a://b").build();
    let Patch::Json(operations) = patch else {
        panic!("{patch:?} is no JSON patch")
    };
    assert_eq!(
        serde_json::to_value(operations).unwrap(),
        json!([
            { "op": "test", "path": "/metadata/uid", "value": "uid-n" },
            { "op": "add", "path": "/spec/providerID", "value": "a://b" },
        ])
    );
}

#[test]
fn replaces_all_addresses() {
    let node = node("n", "InternalIP=10.0.0.1 InternalIP=::1");
    let patch = Status::of(&node)
        .addresses(addresses::of(&node))
        .without_condition(conditions::CLOUD_PROVIDER_INITIALIZED);
    assert_eq!(
        patch.0,
        json!({
            "metadata": { "uid": "uid-n" },
            "status": {
                "addresses": [
                    { "type": "InternalIP", "address": "10.0.0.1" },
                    { "type": "InternalIP", "address": "::1" },
                    { "$patch": "replace" },
                ],
                "conditions": [{ "$patch": "delete", "type": "CloudProviderInitialized" }],
            },
        })
    );
}

#[test]
fn sets_one_condition() {
    let patch = Status::of(&node("n", "")).condition(&condition("A", "True"));
    assert_eq!(patch.0["status"]["conditions"][0]["type"], "A");
    assert_eq!(patch.0["status"]["conditions"].as_array().map(Vec::len), Some(1));
}
