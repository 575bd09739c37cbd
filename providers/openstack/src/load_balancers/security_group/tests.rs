mod scenarios;

use super::*;
use rstest::rstest;

const LONG: &str = "security-group-longer-test-service-name-with-more-than-255-byte-this-test-should-be-longer-than-255-i-need-that-ijiojohoo-afhwefkbfk-jwebfwbifwbewifobiu-efbiobfoiqwebi-the-end-e-end-pardon-the-long-string-i-really-apologize-if-this-is-a-bad-thing-to-do";

// upstream: openstack 32
#[rstest]
#[case(
    "regular test security group name and length",
    ("12345", "security-group-namespace", "security-group-name"),
    "lb-sg-12345-security-group-namespace-security-group-name"
)]
#[case(
    "security group name longer than 255 byte",
    ("12345678-90ab-cdef-0123-456789abcdef", "security-group-longer-test-namespace", LONG),
    "lb-sg-12345678-90ab-cdef-0123-456789abcdef-security-group-longer-test-namespace-security-group-longer-test-service-name-with-more-than-255-byte-this-test-should-be-longer-than-255-i-need-that-ijiojohoo-afhwefkbfk-jwebfwbifwbewifobiu-efbiobfoiqwebi-the-end"
)]
#[case("test the security group name with all empty param", ("", "", ""), "lb-sg---")]
fn names(#[case] row: &str, #[case] (uid, namespace, service): (&str, &str, &str), #[case] expected: &str) {
    let service = ServiceRef {
        uid: uid.to_owned(),
        namespace: namespace.to_owned(),
        name: service.to_owned(),
    };
    assert_eq!(name(&service), expected, "{row}");
}
