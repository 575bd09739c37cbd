use super::*;
use rstest::rstest;
use testkit::node::{machine, node};

fn text(changes: &Changes) -> String {
    let one = |(key, value): (&String, &Option<String>)| match value {
        Some(value) => format!("+{key}={value}"),
        None => format!("-{key}"),
    };
    changes.iter().map(one).collect::<Vec<_>>().join(" ")
}

// upstream: Test_reconcileNodeLabels
#[rstest]
#[case(
    "requires reconcile",
    "failure-domain.beta.kubernetes.io/zone=foo failure-domain.beta.kubernetes.io/region=bar beta.kubernetes.io/instance-type=the-best-type",
    "+node.kubernetes.io/instance-type=the-best-type +topology.kubernetes.io/region=bar +topology.kubernetes.io/zone=foo"
)]
#[case(
    "doesn't require reconcile",
    "failure-domain.beta.kubernetes.io/zone=foo failure-domain.beta.kubernetes.io/region=bar beta.kubernetes.io/instance-type=the-best-type \
     topology.kubernetes.io/zone=foo topology.kubernetes.io/region=bar node.kubernetes.io/instance-type=the-best-type",
    ""
)]
#[case(
    "secondary labels are different from primary",
    "failure-domain.beta.kubernetes.io/zone=foo failure-domain.beta.kubernetes.io/region=bar beta.kubernetes.io/instance-type=the-best-type \
     topology.kubernetes.io/zone=wrongfoo topology.kubernetes.io/region=wrongbar node.kubernetes.io/instance-type=the-wrong-type",
    "+node.kubernetes.io/instance-type=the-best-type +topology.kubernetes.io/region=bar +topology.kubernetes.io/zone=foo"
)]
fn reconciles(#[case] name: &str, #[case] labels: &str, #[case] expected: &str) {
    assert_eq!(text(&aliases(&node("n", labels))), expected, "{name}");
}

#[rstest]
#[case::no_labels("", "")]
#[case::new_name_only("topology.kubernetes.io/zone=a", "")]
#[case::unrelated("a=b", "")]
fn leaves_alone(#[case] labels: &str, #[case] expected: &str) {
    assert_eq!(text(&aliases(&node("n", labels))), expected);
}

#[rstest]
#[case::both_names(
    "",
    "zone:z",
    "",
    "+failure-domain.beta.kubernetes.io/zone=z +topology.kubernetes.io/zone=z",
    ""
)]
#[case::overwritten(
    "topology.kubernetes.io/region=old failure-domain.beta.kubernetes.io/region=new",
    "region:new",
    "",
    "+topology.kubernetes.io/region=new",
    ""
)]
#[case::right_already(
    "beta.kubernetes.io/instance-type=t node.kubernetes.io/instance-type=t",
    "type:t",
    "",
    "",
    ""
)]
#[case::new("", "a.b/c=d", "", "+a.b/c=d", "")]
#[case::taken("a=user", "a=cloud", "", "", "a has another value already")]
#[case::moved_on("a=1", "a=2", "a=1", "+a=2", "")]
#[case::moved_on_but_taken("a=user", "a=2", "a=1", "", "a has another value already")]
#[case::withdrawn("a=1", "", "a=1", "-a", "")]
#[case::withdrawn_but_taken("a=user", "", "a=1", "", "")]
#[case::reserved(
    "",
    "kubernetes.io/a=1 x.k8s.io/a=1",
    "",
    "",
    "kubernetes.io/a is reserved, x.k8s.io/a is reserved"
)]
#[case::looks_reserved("", "notkubernetes.io/a=1 k8snio/a=1", "", "+k8snio/a=1 +notkubernetes.io/a=1", "")]
#[case::bad_value("", "a=b@c b=-", "", "", "a is not a valid label, b is not a valid label")]
#[case::bad_key(
    "",
    "A.b/c=1 a/b/c=1",
    "",
    "",
    "A.b/c is not a valid label, a/b/c is not a valid label"
)]
#[case::bad_zone(
    "",
    "zone:a/b",
    "",
    "",
    "failure-domain.beta.kubernetes.io/zone is not a valid label, topology.kubernetes.io/zone is not a valid label"
)]
fn follows_the_cloud(
    #[case] labels: &str,
    #[case] cloud: &str,
    #[case] before: &str,
    #[case] expected: &str,
    #[case] ignored: &str,
) {
    let before = machine(before).labels;
    let (changes, left_out) = changes(&node("n", labels), &machine(cloud), Some(&before));
    assert_eq!(text(&changes), expected);
    assert_eq!(
        left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        ignored
    );
}

#[rstest]
#[case::empty_value("a", "", true)]
#[case::long_value("a", &"v".repeat(63), true)]
#[case::too_long_value("a", &"v".repeat(64), false)]
#[case::too_long_name(&"n".repeat(64), "", false)]
#[case::too_long_domain(&format!("{}/a", "d".repeat(254)), "", false)]
#[case::empty_name("a/", "", false)]
#[case::empty_domain("/a", "", false)]
#[case::not_ascii("a", "zürich", false)]
fn validates(#[case] key: &str, #[case] value: &str, #[case] valid: bool) {
    assert_eq!(is_valid(key, value), valid);
}
