use super::*;
use crate::service::{
    spec::predicates::FINALIZER,
    status::conditions::{self, Readiness},
    write,
};
use cloud::{Ingress, Status};
use k8s_openapi::jiff::Timestamp;
use rstest::rstest;
use testkit::service::{Builder, load_balancer};

fn lb() -> Builder {
    load_balancer("test-patch-bytes")
}

// upstream: Test_getPatchBytes
#[rstest]
#[case(
    "the patch",
    lb().finalizer("foo"),
    lb().finalizer("foo").finalizer("bar"),
    r#"{"metadata":{"$setElementOrder/finalizers":["foo","bar"],"finalizers":["bar"]}}"#
)]
fn adds_a_finalizer(#[case] name: &str, #[case] old: Builder, #[case] new: Builder, #[case] expected: &str) {
    assert_eq!(
        between(&old.build(), &new.build()).unwrap().to_string(),
        expected,
        "{name}"
    );
}

#[rstest]
#[case::nothing(lb(), lb(), None)]
#[case::spec_is_not_ours(lb(), lb().spec(|spec| spec.cluster_ip = Some("10.0.0.2".into())), None)]
#[case::annotation(lb().annotation("a", "b"), lb().annotation("a", "b").annotation("c", "d"), Some(r#"{"metadata":{"annotations":{"c":"d"}}}"#))]
#[case::another_value(lb().annotation("a", "b"), lb().annotation("a", "c"), Some(r#"{"metadata":{"annotations":{"a":"c"}}}"#))]
#[case::no_annotation(lb().annotation("a", "b").annotation("c", "d"), lb().annotation("c", "d"), Some(r#"{"metadata":{"annotations":{"a":null}}}"#))]
#[case::one_of_two_finalizers(
    lb().finalizer("foo").finalizer("bar"), lb().finalizer("foo"),
    Some(r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["bar"],"$setElementOrder/finalizers":["foo"]}}"#)
)]
#[case::the_last_finalizer(lb().finalizer("foo"), lb(), Some(r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["foo"]}}"#))]
#[case::ingress(lb(), lb().ingress_ip("8.8.8.8"), Some(r#"{"status":{"loadBalancer":{"ingress":[{"ip":"8.8.8.8"}]}}}"#))]
#[case::no_ingress(lb().ingress_ip("8.8.8.8"), lb(), Some(r#"{"status":{"loadBalancer":{"ingress":null}}}"#))]
fn contains_only_differences(#[case] old: Builder, #[case] new: Builder, #[case] expected: Option<&str>) {
    assert_eq!(
        between(&old.build(), &new.build())
            .map(|patch| patch.to_string())
            .as_deref(),
        expected
    );
}

#[test]
fn removes_a_condition_by_its_type() {
    let old = write::with_status(
        &lb().build(),
        &Status::default(),
        &Readiness::provisioning("x"),
        Timestamp::UNIX_EPOCH,
    )
    .unwrap();
    let new = write::without_status(&old, Timestamp::UNIX_EPOCH).unwrap();
    let expected = json!({"status": {"conditions": [{"$patch": "delete", "type": conditions::READY}]}});
    assert_eq!(between(&old, &new), Some(expected));
}

#[test]
fn status_and_condition_are_one_patch() {
    let ingress = vec![Ingress {
        ip: Some("8.8.8.8".into()),
        ..Ingress::default()
    }];
    let old = lb().finalizer(FINALIZER).build();
    let new = write::with_status(&old, &Status { ingress }, &Readiness::ready(), Timestamp::UNIX_EPOCH).unwrap();
    let patch = between(&old, &new).unwrap();
    assert_eq!(patch["status"]["loadBalancer"], json!({"ingress": [{"ip": "8.8.8.8"}]}));
    assert_eq!(patch["status"]["conditions"][0]["type"], conditions::READY);
    assert_eq!(patch.get("metadata"), None);
}
