//! Answers that AWS gives besides those that were asked for: a Service is served in the end, and nothing is left behind.

use crate::fixture::{Lab, delete, ensure, open};
use aws::Aws;
use cloud::{Error, Spec};
use lab::aws::Fault;
use rstest::rstest;
use serde_json::json;

const PREFIX: &str = "service.beta.kubernetes.io/aws-load-balancer-";
const MANAGED: &str = "NLBSecurityGroupMode=Managed";

/// How often a call is made before a test gives up.
const ATTEMPTS: usize = 5;

fn variant(error: &Error) -> &'static str {
    match error {
        Error::Unavailable { .. } => "unavailable",
        Error::Quota { .. } => "quota",
        Error::Unusable { .. } => "unusable",
        Error::Invalid { .. } => "invalid",
        _ => "other",
    }
}

/// Creates or updates until it succeeds, as the controller does, and returns the errors on the way.
async fn served(provider: &Aws, spec: &mut Spec) -> Vec<Error> {
    let mut errors = Vec::new();
    while errors.len() < ATTEMPTS {
        match ensure(provider, spec).await {
            Ok(_) => break,
            Err(error) => errors.push(error),
        }
    }
    errors
}

async fn deleted(provider: &Aws, spec: &mut Spec) -> Vec<Error> {
    let mut errors = Vec::new();
    while errors.len() < ATTEMPTS {
        match delete(provider, spec).await {
            Ok(()) => break,
            Err(error) => errors.push(error),
        }
    }
    errors
}

fn variants(errors: &[Error]) -> String {
    errors.iter().map(variant).collect::<Vec<_>>().join(" ")
}

#[rustfmt::skip]
const NETWORK: &[(&str, &str, &str)] = &[
    // A load balancer of an earlier process that is not listed yet.
    ("CreateLoadBalancer", "DuplicateLoadBalancerName", ""),
    ("CreateTargetGroup", "DuplicateTargetGroupName", ""),
    ("CreateListener", "DuplicateListener", ""),
    ("CreateSecurityGroup", "InvalidGroup.Duplicate", ""),
    ("AuthorizeSecurityGroupIngress", "InvalidPermission.Duplicate", ""),
    // Deletions that have to wait.
    ("DeleteTargetGroup", "ResourceInUse", ""),
    ("DeleteSecurityGroup", "DependencyViolation", ""),
    ("DeleteSecurityGroup", "InvalidGroup.InUse", ""),
    ("CreateLoadBalancer", "TooManyLoadBalancers", "quota"),
    ("CreateLoadBalancer", "InsufficientFreeAddressesInSubnet", "quota"),
    ("CreateLoadBalancer", "InvalidSubnet", "unusable"),
    ("CreateLoadBalancer", "SubnetNotFound", "unusable"),
    ("CreateLoadBalancer", "InvalidSecurityGroup", "unusable"),
    ("CreateTargetGroup", "TooManyTargetGroups", "quota"),
    ("CreateListener", "TooManyListeners", "quota"),
    ("CreateListener", "CertificateNotFound", "unusable"),
    ("RegisterTargets", "TooManyTargets", "quota"),
    ("RegisterTargets", "TooManyRegistrationsForTargetId", "quota"),
    ("RegisterTargets", "InvalidTarget", "unavailable"),
    ("CreateSecurityGroup", "SecurityGroupLimitExceeded", "quota"),
    ("AuthorizeSecurityGroupIngress", "RulesPerSecurityGroupLimitExceeded", "quota"),
];

#[rustfmt::skip]
const CLASSIC: &[(&str, &str, &str)] = &[
    ("CreateLoadBalancer", "DuplicateLoadBalancerName", ""),
    ("CreateLoadBalancerPolicy", "DuplicatePolicyName", ""),
    ("DeleteSecurityGroup", "DependencyViolation", ""),
    ("CreateLoadBalancer", "TooManyLoadBalancers", "quota"),
    ("CreateLoadBalancer", "InvalidSubnet", "unusable"),
    ("CreateLoadBalancer", "CertificateNotFound", "unusable"),
    ("RegisterInstancesWithLoadBalancer", "InvalidInstance", "unavailable"),
    ("ModifyLoadBalancerAttributes", "InvalidConfigurationRequest", "unusable"),
];

/// A Service that needs every call of its kind.
fn service(lab: &Lab, kind: &str) -> Spec {
    let mut spec = lab.service("web", kind, &[80, 443]);
    spec.annotations
        .insert(format!("{PREFIX}cross-zone-load-balancing-enabled"), "true".into());
    if kind.is_empty() {
        spec.annotations.insert(format!("{PREFIX}proxy-protocol"), "*".into());
    }
    spec
}

#[rstest]
#[case::network("nlb", NETWORK)]
#[case::classic("", CLASSIC)]
#[tokio::test]
async fn refusals_are_recovered_from(#[case] kind: &str, #[case] rows: &[(&str, &'static str, &str)]) {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    let undisturbed = lab.provider_with(MANAGED, &open());
    let mut spec = service(&lab, kind);
    ensure(&undisturbed, &mut spec).await.unwrap();
    let everything = lab.snapshot().await;
    delete(&undisturbed, &mut spec).await.unwrap();
    for (action, code, expected) in rows {
        let (provider, mut spec) = (lab.provider_with(MANAGED, &open()), service(&lab, kind));
        let mark = lab.mark();
        lab.aws
            .account
            .inject(&Fault::Refuse(400, code), action, 1)
            .await
            .unwrap();
        // Its eventual success is what counts; a policy that was not created cannot be set.
        let mut errors = served(&provider, &mut spec).await;
        if *code != "DuplicatePolicyName" {
            assert_eq!(lab.snapshot().await, everything, "{action} {code}");
        }
        errors.extend(deleted(&provider, &mut spec).await);
        let refused = lab.aws.account.calls_since(mark).unwrap();
        assert!(
            refused.iter().any(|call| call.status == 400 && call.action == *action),
            "{action} {code}"
        );
        assert_eq!(lab.snapshot().await, nothing, "{action} {code}");
        if *code != "DuplicatePolicyName" {
            assert_eq!(variants(&errors), *expected, "{action} {code}: {errors:?}");
        }
        if *expected == "quota" && *action == "AuthorizeSecurityGroupIngress" {
            assert!(
                errors[0].to_string().contains("sg-"),
                "it names no group: {}",
                errors[0]
            );
        }
    }
    lab.check_calls().await;
}

#[rstest]
#[case::network_lost("nlb", Fault::LoseAnswer)]
#[case::network_truncated("nlb", Fault::Truncate)]
#[case::classic_lost("", Fault::LoseAnswer)]
#[case::classic_truncated("", Fault::Truncate)]
#[tokio::test]
async fn a_lost_answer_of_a_write_has_no_effect(#[case] kind: &str, #[case] fault: Fault) {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    let mark = lab.mark();
    let undisturbed = lab.provider_with(MANAGED, &open());
    let mut spec = service(&lab, kind);
    ensure(&undisturbed, &mut spec).await.unwrap();
    let everything = lab.snapshot().await;
    delete(&undisturbed, &mut spec).await.unwrap();
    let (mut actions, _) = lab.actions(mark);
    actions.sort();
    actions.dedup();
    assert!(actions.len() > 8, "{actions:?}");
    for action in actions {
        let (provider, mut spec) = (lab.provider_with(MANAGED, &open()), service(&lab, kind));
        lab.aws.account.inject(&fault, &action, 1).await.unwrap();
        let errors = served(&provider, &mut spec).await;
        assert!(errors.len() < ATTEMPTS, "{action}: {errors:?}");
        assert_eq!(lab.snapshot().await, everything, "{action}");
        let errors = deleted(&provider, &mut spec).await;
        assert!(errors.len() < ATTEMPTS, "{action}: {errors:?}");
        assert_eq!(lab.snapshot().await, nothing, "{action}");
    }
}

/// What the IAM policy of the Go program does not allow.
async fn deny(lab: &Lab) {
    for action in ["DescribeTags", "DescribeTargetGroupAttributes"] {
        let denied = Fault::Refuse(403, "AccessDenied");
        lab.aws.account.inject(&denied, action, 10_000).await.unwrap();
    }
}

#[rstest]
#[case::network("nlb")]
#[case::classic("")]
#[tokio::test]
async fn the_permissions_of_the_go_program_are_enough(#[case] kind: &str) {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    deny(&lab).await;
    let mut spec = service(&lab, kind);
    ensure(&lab.provider(), &mut spec).await.unwrap();
    // As the Go program leaves it: without a record, so that everything is read.
    spec.annotations.retain(|key, _| key.starts_with(PREFIX));
    spec.ports[0].node_port = Some(31000);
    ensure(&lab.provider(), &mut spec).await.unwrap();
    delete(&lab.provider(), &mut spec).await.unwrap();
    assert_eq!(lab.snapshot().await, nothing);
}

#[rstest]
#[case::recorded(true)]
#[case::by_their_names(false)]
#[tokio::test]
async fn target_groups_are_deleted_without_reading_tags(#[case] recorded: bool) {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    deny(&lab).await;
    let mut spec = lab.service("web", "nlb", &[80]);
    ensure(&lab.provider(), &mut spec).await.unwrap();
    let found = lab
        .aws
        .account
        .call("elbv2", "DescribeLoadBalancers", json!({}))
        .await
        .unwrap();
    let arn = json!({"LoadBalancerArn": found["LoadBalancers"][0]["LoadBalancerArn"]});
    lab.aws.account.call("elbv2", "DeleteLoadBalancer", arn).await.unwrap();
    if recorded {
        // The name of the target group would be another one now.
        spec.ports[0].node_port = Some(31000);
    } else {
        spec.annotations.remove("outrigger.dev/load-balancer");
    }
    delete(&lab.provider(), &mut spec).await.unwrap();
    assert_eq!(lab.snapshot().await, nothing);
}
