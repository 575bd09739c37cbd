use super::*;
use rstest::rstest;
use testkit::node::{machine, node};

const H: &str = "Hostname=hostname.zone.region.aws.test";

fn list(words: &str) -> Vec<NodeAddress> {
    of(&node("n", words)).to_vec()
}

// upstream: TestAddToNodeAddresses
#[rstest]
#[case("none+none → none", "", "", "")]
#[case(
    "empty + (ext, host) → both",
    "",
    "ExternalIP=1.1.1.1 Hostname=localhost",
    "ExternalIP=1.1.1.1 Hostname=localhost"
)]
#[case(
    "duplicate inside additions → one",
    "",
    "ExternalIP=1.1.1.1 ExternalIP=1.1.1.1",
    "ExternalIP=1.1.1.1"
)]
#[case(
    "existing (ext,int) + (same ext, host) → ext,int,host",
    "ExternalIP=1.1.1.1 InternalIP=10.1.1.1",
    "ExternalIP=1.1.1.1 Hostname=localhost",
    "ExternalIP=1.1.1.1 InternalIP=10.1.1.1 Hostname=localhost"
)]
fn adds(#[case] name: &str, #[case] there: &str, #[case] more: &str, #[case] expected: &str) {
    let mut addresses = list(there);
    add(&mut addresses, list(more));
    assert_eq!(addresses, list(expected), "{name}");
}

// upstream: TestGetNodeAddressesFromNodeIP
#[rstest]
#[case(
    "single internal 10.1.1.1 → same",
    "10.1.1.1",
    "InternalIP=10.1.1.1",
    Some("InternalIP=10.1.1.1")
)]
#[case(
    "nodeIP external 55.55.55.55 → External, Internal, H",
    "55.55.55.55",
    "InternalIP=10.1.1.1 ExternalIP=55.55.55.55 H",
    Some("ExternalIP=55.55.55.55 InternalIP=10.1.1.1 H")
)]
#[case(
    "internal and external equal, two pairs → only 55 pair + H",
    "55.55.55.55",
    "InternalIP=44.44.44.44 ExternalIP=44.44.44.44 InternalIP=55.55.55.55 ExternalIP=55.55.55.55 H",
    Some("InternalIP=55.55.55.55 ExternalIP=55.55.55.55 H")
)]
#[case(
    "internal/external IP + internal/external DNS, nodeIP internal → all kept in order",
    "10.1.1.1",
    "InternalIP=10.1.1.1 ExternalIP=55.55.55.55 InternalDNS=ip-10-1-1-1.internal ExternalDNS=ec2-55.example H",
    Some("InternalIP=10.1.1.1 ExternalIP=55.55.55.55 InternalDNS=ip-10-1-1-1.internal ExternalDNS=ec2-55.example H")
)]
#[case(
    "multiple internal IPs → only matching internal + external + H",
    "10.1.1.1",
    "InternalIP=10.1.1.1 InternalIP=10.2.2.2 InternalIP=10.3.3.3 ExternalIP=55.55.55.55 H",
    Some("InternalIP=10.1.1.1 ExternalIP=55.55.55.55 H")
)]
#[case(
    "IP not present → error",
    "10.2.2.2",
    "InternalIP=10.1.1.1 ExternalIP=55.55.55.55 H",
    None
)]
#[case(
    "dual-stack cloud, nodeIP v6 in compressed form → matching v6 in its original long text + H (v4 internal dropped)",
    "2600:1f14:1d4:d101::ba3d",
    "InternalIP=10.1.1.1 InternalIP=2600:1f14:1d4:d101:0:0:0:ba3d H",
    Some("InternalIP=2600:1f14:1d4:d101:0:0:0:ba3d H")
)]
#[case(
    "single-stack cloud, dual request → error",
    "10.1.1.1,fc01:1234::5678",
    "InternalIP=10.1.1.1 H",
    None
)]
#[case(
    "dual, v4 first, v4-primary request → v4, v6, H",
    "10.1.1.1,fc01:1234::5678",
    "InternalIP=10.1.1.1 InternalIP=fc01:1234::5678 H",
    Some("InternalIP=10.1.1.1 InternalIP=fc01:1234::5678 H")
)]
#[case(
    "dual, v6 first in cloud, v4-primary request → v4, v6, H (request order)",
    "10.1.1.1,fc01:1234::5678",
    "InternalIP=fc01:1234::5678 InternalIP=10.1.1.1 H",
    Some("InternalIP=10.1.1.1 InternalIP=fc01:1234::5678 H")
)]
#[case(
    "dual with multiple IPs → only the two requested + H",
    "10.1.1.1,fc01:1234::5678",
    "InternalIP=10.1.1.1 InternalIP=10.1.1.2 InternalIP=fc01:1234::1234 InternalIP=fc01:1234::5678 H",
    Some("InternalIP=10.1.1.1 InternalIP=fc01:1234::5678 H")
)]
#[case(
    "extra ExternalIP → two internal, external, H",
    "10.1.1.1,fc01:1234::5678",
    "InternalIP=10.1.1.1 InternalIP=10.1.1.2 InternalIP=fc01:1234::1234 InternalIP=fc01:1234::5678 ExternalIP=55.55.55.55 H",
    Some("InternalIP=10.1.1.1 InternalIP=fc01:1234::5678 ExternalIP=55.55.55.55 H")
)]
#[case(
    "multiple ExternalIPs, v6-primary request → v6, v4, both externals, H",
    "fc01:1234::5678,10.1.1.1",
    "InternalIP=10.1.1.1 InternalIP=fc01:1234::5678 ExternalIP=55.55.55.55 ExternalIP=2001:db1::1 H",
    Some("InternalIP=fc01:1234::5678 InternalIP=10.1.1.1 ExternalIP=55.55.55.55 ExternalIP=2001:db1::1 H")
)]
#[case(
    "request external v4 + internal v6 → those two + H (other ext/int dropped)",
    "55.55.55.55,fc01:1234::5678",
    "InternalIP=10.1.1.1 InternalIP=fc01:1234::5678 ExternalIP=55.55.55.55 ExternalIP=2001:db1::1 H",
    Some("ExternalIP=55.55.55.55 InternalIP=fc01:1234::5678 H")
)]
fn prefers(#[case] name: &str, #[case] ip: &str, #[case] cloud: &str, #[case] expected: Option<&str>) {
    let with_host = |words: &str| list(&words.replace(" H", &format!(" {H}")));
    assert_eq!(prefer(ip, &with_host(cloud)).ok(), expected.map(with_host), "{name}");
}

#[rstest]
#[case::empty("", r#"the provided node IP "" is not valid: could not parse """#)]
#[case::a_name(
    "invalid-ip",
    r#"the provided node IP "invalid-ip" is not valid: could not parse "invalid-ip""#
)]
#[case::blanks(
    "10.0.0.1, ::1",
    r#"the provided node IP "10.0.0.1, ::1" is not valid: could not parse " ::1""#
)]
#[case::one_family(
    "10.0.0.1,10.0.0.2",
    r#"the provided node IP "10.0.0.1,10.0.0.2" is not valid: two IPs must be of different families"#
)]
#[case::unspecified(
    "10.0.0.1,::",
    r#"the provided node IP "10.0.0.1,::" is not valid: a pair of IPs cannot include '0.0.0.0' or '::'"#
)]
#[case::three(
    "10.0.0.1,::1,::2",
    r#"the provided node IP "10.0.0.1,::1,::2" is not valid: must be a single IP or a dual-stack pair of IPs"#
)]
#[case::elsewhere(
    "10.0.0.9",
    "the provided node IP 10.0.0.9 is not an address of the machine; the cloud reports 10.0.0.1, ::1"
)]
fn rejects(#[case] ip: &str, #[case] message: &str) {
    let there = list("InternalIP=10.0.0.1 InternalIP=::1 Hostname=h");
    assert_eq!(prefer(ip, &there).unwrap_err().to_string(), message);
}

#[rstest]
#[case::leading_zeros("010.000.0.01", Some("10.0.0.1"))]
#[case::mapped("::ffff:10.0.0.1", Some("10.0.0.1"))]
#[case::long("2001:0db8:0000::0001", Some("2001:db8::1"))]
#[case::missing_octet("10..0.1", None)]
#[case::zone("fe80::1%eth0", None)]
fn parses_an_ip(#[case] text: &str, #[case] ip: Option<&str>) {
    assert_eq!(parse_ip(text), ip.map(|ip| ip.parse().unwrap()));
}

const IN_OUT: &str = "InternalIP=132.143.154.164 ExternalIP=132.143.154.163";

// upstream: TestNodeAddressesChangeDetected
#[rstest]
#[case("equal sets → false", IN_OUT, IN_OUT, false)]
#[case(
    "external IP differs → true",
    IN_OUT,
    "InternalIP=132.143.154.164 ExternalIP=132.143.154.165",
    true
)]
#[case("first has extra Hostname → true", &format!("{IN_OUT} {H}"), IN_OUT, true)]
#[case("second has extra Hostname → true", IN_OUT, &format!("{IN_OUT} {H}"), true)]
#[case(
    "types swapped → true",
    IN_OUT,
    "ExternalIP=132.143.154.164 InternalIP=132.143.154.163",
    true
)]
#[case(
    "dual-stack same order → false",
    "InternalIP=10.0.0.1 InternalIP=fc01::1",
    "InternalIP=10.0.0.1 InternalIP=fc01::1",
    false
)]
#[case(
    "non-last same-type change → true",
    "InternalIP=10.0.0.1 InternalIP=fc01::1",
    "InternalIP=10.0.0.2 InternalIP=fc01::1",
    true
)]
#[case(
    "reorder",
    "InternalIP=10.0.0.1 InternalIP=fc01::1",
    "InternalIP=fc01::1 InternalIP=10.0.0.1",
    true
)]
#[case(
    "types in another order → false",
    IN_OUT,
    "ExternalIP=132.143.154.163 InternalIP=132.143.154.164",
    false
)]
#[case(
    "dual-stack types in another order → false",
    "InternalIP=10.0.0.1 Hostname=h InternalIP=fc01::1",
    "Hostname=h InternalIP=10.0.0.1 InternalIP=fc01::1",
    false
)]
fn detects_a_change(#[case] name: &str, #[case] current: &str, #[case] desired: &str, #[case] expected: bool) {
    assert_eq!(differ(&list(current), &list(desired)), expected, "{name}");
}

#[rstest]
#[case::no_addresses("Hostname=h InternalIP=10.0.0.1", "", None)]
#[case::duplicates("", "InternalIP=10.0.0.1 InternalIP=10.0.0.1", Some("InternalIP=10.0.0.1"))]
#[case::kubelet_host_name(
    "Hostname=h InternalIP=10.0.0.1",
    "InternalIP=10.0.0.2",
    Some("InternalIP=10.0.0.2 Hostname=h")
)]
#[case::cloud_host_name(
    "Hostname=h",
    "Hostname=c InternalIP=10.0.0.2",
    Some("Hostname=c InternalIP=10.0.0.2")
)]
fn desired_addresses(#[case] there: &str, #[case] cloud: &str, #[case] expected: Option<&str>) {
    assert_eq!(
        desired(&node("n", there), &machine(cloud).addresses),
        Ok(expected.map(list))
    );
}

#[test]
fn a_host_name_of_the_kubelet_does_not_confirm_a_node_ip() {
    let node = node("n", "node-ip:10.0.0.1 Hostname=10.0.0.1");
    assert!(desired(&node, &machine("InternalIP=10.0.0.2").addresses).is_err());
    assert!(desired(&node, &[]).is_err());
}
