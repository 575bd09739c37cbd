//! What AWS may answer besides what was asked for.

use super::fixture::{Fixture, id, node, words};
use crate::api::errors;
use cloud::{Detail, Error, NodeRef, Provider as _};
use fakecloud::Fault;
use rstest::rstest;
use std::time::Duration;

fn variant(error: &Error) -> &'static str {
    match error {
        Error::NotFound { .. } => "NotFound",
        Error::Invalid { .. } => "Invalid",
        Error::Throttled { .. } => "Throttled",
        Error::Denied { .. } => "Denied",
        Error::Quota { .. } => "Quota",
        Error::Unusable { .. } => "Unusable",
        Error::Unavailable { .. } => "Unavailable",
        _ => "other",
    }
}

#[rustfmt::skip]
const TABLE: &[(u16, &str, &str)] = &[
    (503, "RequestLimitExceeded", "Throttled"), (400, "Throttling", "Throttled"), (400, "ThrottlingException", "Throttled"),
    (400, "TooManyRequestsException", "Throttled"), (400, "RequestThrottled", "Throttled"), (400, "EC2ThrottledException", "Throttled"),
    (503, "SlowDown", "Throttled"), (429, "Whatever", "Throttled"),
    (400, "ExpiredToken", "Denied"), (403, "ExpiredTokenException", "Denied"), (400, "RequestExpired", "Denied"),
    (403, "InvalidClientTokenId", "Denied"), (401, "AuthFailure", "Denied"), (403, "UnauthorizedOperation", "Denied"),
    (403, "AccessDenied", "Denied"), (400, "AccessDeniedException", "Denied"), (403, "SignatureDoesNotMatch", "Denied"),
    (403, "RequestTimeTooSkewed", "Denied"), (403, "SomethingNew", "Denied"),
    (400, "InvalidInstanceID.NotFound", "Unavailable"), (400, "InvalidInstanceID.Malformed", "Unavailable"), (400, "InvalidID", "Unavailable"),
    (400, "LoadBalancerNotFound", "NotFound"), (400, "TargetGroupNotFound", "NotFound"), (400, "ListenerNotFound", "NotFound"),
    (400, "PolicyNotFound", "NotFound"), (400, "InvalidGroup.NotFound", "NotFound"), (400, "InvalidPermission.NotFound", "NotFound"),
    (400, "InvalidRoute.NotFound", "NotFound"),
    (400, "ResourceInUse", "Unavailable"), (400, "DependencyViolation", "Unavailable"), (400, "InvalidGroup.Duplicate", "Unavailable"),
    (400, "InvalidPermission.Duplicate", "Unavailable"), (400, "RouteAlreadyExists", "Unavailable"),
    (400, "DuplicateLoadBalancerName", "Unavailable"), (400, "DuplicateTargetGroupName", "Unavailable"), (400, "SomethingNew", "Unavailable"),
    (400, "TooManyTargets", "Quota"), (400, "TooManyRegistrationsForTargetId", "Quota"), (400, "RulesPerSecurityGroupLimitExceeded", "Quota"),
    (400, "TooManyLoadBalancers", "Quota"), (400, "SecurityGroupLimitExceeded", "Quota"), (400, "RouteLimitExceeded", "Quota"),
    (400, "SubnetNotFound", "Unusable"), (400, "CertificateNotFound", "Unusable"), (400, "InvalidConfigurationRequest", "Unusable"),
    (400, "UnsupportedCertificate", "Unusable"), (400, "AllocationIdNotFound", "Unusable"), (400, "InvalidSecurityGroup", "Unusable"),
    (400, "InvalidSubnet", "Unusable"), (400, "SSLPolicyNotFound", "Invalid"),
    (400, "InvalidTarget", "Unavailable"), (400, "InvalidInstance", "Unavailable"), (400, "DuplicateListener", "Unavailable"),
    (400, "DuplicatePolicyName", "Unavailable"), (400, "InvalidGroup.InUse", "Unavailable"), (400, "UnsupportedOperation", "Unavailable"),
    (400, "InvalidAction", "Unavailable"), (400, "InvalidNetworkInterface.InUse", "Unavailable"), (400, "InvalidState", "Unavailable"),
    (400, "TooManyTargetGroups", "Quota"), (400, "TooManyListeners", "Quota"), (400, "TooManyTags", "Quota"),
    (400, "InsufficientFreeAddressesInSubnet", "Quota"), (400, "TagLimitExceeded", "Quota"),
    (400, "InvalidParameterValue", "Invalid"), (400, "ValidationError", "Invalid"),
];

#[tokio::test]
async fn codes_are_mapped_to_reasons() {
    let fixture = Fixture::start(0).await;
    for (status, code, expected) in TABLE {
        fixture.cloud.write(|fake, _| fake.refusals.clear());
        // As often as a call is sent at most.
        (0..4).for_each(|_| fixture.refuse("DescribeAvailabilityZones", *status, code, "says why"));
        // A client of its own: what throttles one call must not delay the next row.
        let error = fixture.aws().api.list_zones().await.unwrap_err();
        assert_eq!(variant(&error), *expected, "{status} {code}: {error:?}");
        if !matches!(error, Error::NotFound { .. } | Error::Throttled { .. }) {
            assert!(error.report().contains("says why"), "{}", error.report());
        }
        if *expected == "Unavailable" {
            assert_eq!(errors::code(&error), Some(*code));
        }
    }
}

#[rstest]
#[case::of_s3(403, "RequestTimeTooSkewed", "The difference is too large")]
#[case::of_ec2(400, "RequestExpired", "Request has expired. Timestamp date is 2026-11-19T06:00:00Z")]
#[case::slow(
    403,
    "SignatureDoesNotMatch",
    "Signature expired: 20261119T060000Z is now earlier than 20261119T061000Z"
)]
#[case::fast(
    403,
    "SignatureDoesNotMatch",
    "Signature not yet current: 20261119T070000Z is still later than 20261119T061000Z"
)]
#[tokio::test]
async fn a_wrong_clock_is_named(#[case] status: u16, #[case] code: &str, #[case] message: &str) {
    let fixture = Fixture::start(0).await;
    // A request that expired is signed once more.
    (0..2).for_each(|_| fixture.refuse("DescribeAvailabilityZones", status, code, message));
    let text = fixture.aws().api.list_zones().await.unwrap_err().report();
    assert!(
        text.contains("clock of this machine") && text.contains(message),
        "{text}"
    );
}

#[tokio::test]
async fn a_wrong_region_is_denied_with_the_reason() {
    let fixture = Fixture::start(0).await;
    let message = "Credential should be scoped to a valid region.";
    fixture.refuse("DescribeAvailabilityZones", 403, "SignatureDoesNotMatch", message);
    let error = fixture.aws().api.list_zones().await.unwrap_err();
    assert!(
        matches!(error, Error::Denied { .. }) && error.report().contains(message),
        "{error:?}"
    );
}

#[tokio::test]
async fn throttling_of_one_action_does_not_stop_others() {
    let fixture = Fixture::start(1).await;
    let throttled = Fault::answer(
        503,
        "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>m</Message></Error></Errors></Response>",
    );
    fixture.cloud.inject(throttled.retry_after("30").times(1));
    let aws = fixture.aws();
    let nodes = [node(&id(1))];
    let answers = aws.instances().describe(&nodes, Detail::Liveness).await;
    let wait = Some(Duration::from_secs(30));
    assert!(
        matches!(&answers[0], Err(Error::Throttled { retry_after, .. }) if *retry_after == wait),
        "{answers:?}"
    );
    assert!(aws.api.list_zones().await.is_ok());
    let calls = fixture.count("DescribeInstances");
    let again = aws.instances().describe(&nodes, Detail::Liveness).await;
    assert!(matches!(again[0], Err(Error::Throttled { .. })), "{again:?}");
    assert_eq!(
        fixture.count("DescribeInstances"),
        calls,
        "it was called although it is throttled"
    );
}

#[rstest]
#[case::truncated(Fault::truncate())]
#[case::lost(Fault::lose_answer())]
#[case::reset(Fault::reset())]
#[case::cut_between_elements(Fault::replace_body("<DescribeInstancesResponse><reservationSet>"))]
#[case::empty(Fault::replace_body(""))]
#[tokio::test]
async fn an_invalid_answer_is_requested_again(#[case] fault: Fault) {
    let fixture = Fixture::start(1).await;
    fixture.cloud.inject(fault.times(1));
    let answers = fixture
        .aws()
        .instances()
        .describe(&[node(&id(1))], Detail::Liveness)
        .await;
    assert_eq!(words(&answers), "found");
}

#[rstest]
#[case::a_page_of_a_proxy(Fault::replace_body("<html>Sign in</html>"))]
#[case::without_the_list(Fault::replace_body(
    "<DescribeInstancesResponse><requestId>1</requestId></DescribeInstancesResponse>"
))]
#[case::not_found_of_a_proxy(Fault::answer(404, "<html>no such page</html>"))]
#[case::down(Fault::answer(
    500,
    "<Response><Errors><Error><Code>InternalError</Code><Message>m</Message></Error></Errors></Response>"
))]
#[tokio::test]
async fn only_not_found_makes_an_instance_missing(#[case] fault: Fault) {
    let fixture = Fixture::start(1).await;
    fixture.cloud.inject(fault);
    let nodes = [node(&id(1)), NodeRef::named("ip-10-0-0-1.ec2.internal")];
    for detail in [Detail::Liveness, Detail::Full] {
        let answers = fixture.aws().instances().describe(&nodes, detail).await;
        assert_eq!(words(&answers), "error error");
    }
}

#[tokio::test]
async fn pages_are_read_to_their_end_or_not_at_all() {
    let fixture = Fixture::start(5).await;
    fixture.cloud.write(|fake, _| fake.page = 2);
    let names = (1..=5).map(|number| NodeRef::named(format!("ip-10-0-0-{number}.ec2.internal")));
    let nodes: Vec<NodeRef> = names.collect();
    let describe = || async { fixture.aws().instances().describe(&nodes, Detail::Liveness).await };
    assert_eq!(words(&describe().await), "found found found found found");
    assert_eq!(fixture.count("DescribeInstances"), 3);
    // What vanishes between two pages is not what the list is about.
    for code in [
        "InvalidInstanceID.NotFound",
        "InvalidNextToken",
        "InvalidRoute.NotFound",
    ] {
        let body =
            format!("<Response><Errors><Error><Code>{code}</Code><Message>m</Message></Error></Errors></Response>");
        fixture.cloud.inject(Fault::answer(400, body).skip(1).times(1));
        assert_eq!(words(&describe().await), "error error error error error", "{code}");
    }
}

#[tokio::test]
async fn a_repeated_page_is_an_error() {
    let fixture = Fixture::start(2).await;
    let looping = "<DescribeInstancesResponse><reservationSet/><nextToken>same</nextToken></DescribeInstancesResponse>";
    fixture.cloud.inject(Fault::replace_body(looping));
    let answers = fixture
        .aws()
        .instances()
        .describe(&[NodeRef::named("a")], Detail::Liveness)
        .await;
    assert_eq!(words(&answers), "error");
}
