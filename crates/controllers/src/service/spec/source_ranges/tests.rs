use super::*;
use proptest::prelude::*;
use rstest::rstest;
use testkit::service::load_balancer;

/// As an annotation and as the field; both must agree.
fn both(ranges: &str) -> [Result<Vec<IpNet>, Invalid>; 2] {
    given(ranges).map(|given| given.checked().map(|given| given.nets))
}

fn given(ranges: &str) -> [SourceRanges; 2] {
    let annotated = load_balancer("a").annotation(ANNOTATION, ranges).build();
    let specified = load_balancer("a").source_ranges(ranges.split(',')).build();
    [of(&annotated), of(&specified)]
}

fn nets(ranges: &[&str]) -> Vec<IpNet> {
    ranges.iter().map(|range| range.parse().unwrap()).collect()
}

// upstream: TestGetLoadBalancerSourceRanges
#[rstest]
#[case("10.0.0.1/33")]
#[case("foo.bar")]
#[case("10.0.0.1/32,*")]
#[case("10.0.0.1/32,")]
#[case("10.0.0.1/32, ")]
#[case("10.0.0.1")]
fn rejects(#[case] ranges: &str) {
    let [annotated, specified] = both(ranges).map(|answer| answer.unwrap_err().field);
    assert_eq!(annotated, format!("annotation {ANNOTATION}"));
    assert_eq!(specified, "spec.loadBalancerSourceRanges");
}

// upstream: TestGetLoadBalancerSourceRanges
#[rstest]
#[case("one CIDR", "192.168.0.1/32", &["192.168.0.1/32"])]
#[case("duplicate", "192.168.0.1/32,192.168.0.1/32", &["192.168.0.1/32"])]
#[case("two", "192.168.0.1/32,192.168.0.2/32", &["192.168.0.1/32", "192.168.0.2/32"])]
#[case("with blanks around", "  192.168.0.1/32 , 192.168.0.2/32   ", &["192.168.0.1/32", "192.168.0.2/32"])]
fn parses(#[case] name: &str, #[case] ranges: &str, #[case] expected: &[&str]) {
    for answer in both(ranges) {
        assert_eq!(answer, Ok(nets(expected)), "{name}");
    }
}

// upstream: TestGetLoadBalancerSourceRanges
#[rstest]
#[case("unspecified", load_balancer("a"))]
#[case("empty annotation", load_balancer("a").annotation(ANNOTATION, ""))]
fn everywhere_by_default(#[case] name: &str, #[case] service: testkit::service::Builder) {
    let SourceRanges { nets: ranges, from, .. } = of(&service.build());
    assert_eq!(from, RangesFrom::Default, "{name}");
    assert_eq!(ranges, nets(&["0.0.0.0/0"]), "{name}");
    assert!(allow_all(&ranges), "{name}");
}

#[rstest]
#[case::v4(&["IPv4"], &["0.0.0.0/0"])]
#[case::v6(&["IPv6"], &["::/0"])]
#[case::dual(&["IPv6", "IPv4"], &["0.0.0.0/0", "::/0"])]
fn everywhere_by_each_family(#[case] families: &[&str], #[case] expected: &[&str]) {
    let service = load_balancer("a").families(families.iter().copied()).build();
    let ranges = of(&service).nets;
    assert_eq!(ranges, nets(expected));
    assert!(allow_all(&ranges));
}

// upstream: TestAllowAll
#[rstest]
#[case("10.0.0.1/32", &["10.0.0.1/32"], false)]
#[case("two /32", &["10.0.0.1/32", "10.0.0.2/32"], false)]
#[case("duplicate /32", &["10.0.0.1/32", "10.0.0.1/32"], false)]
#[case("0.0.0.0/0", &["0.0.0.0/0"], true)]
#[case("192.168.0.0/0", &["192.168.0.0/0"], true)]
#[case("/32 plus 0.0.0.0/0", &["192.168.0.1/32", "0.0.0.0/0"], true)]
fn allows_all(#[case] name: &str, #[case] ranges: &[&str], #[case] expected: bool) {
    let service = load_balancer("a").source_ranges(ranges.iter().copied()).build();
    assert_eq!(allow_all(&of(&service).nets), expected, "{name}");
}

#[rstest]
#[case::host_bits("10.1.2.3/8", "10.0.0.0/8")]
#[case::leading_zeros("010.000.0.01/32", "10.0.0.1/32")]
#[case::ipv6("2001:DB8::1/32", "2001:db8::/32")]
fn canonical(#[case] written: &str, #[case] expected: &str) {
    assert_eq!(both(written)[0], Ok(nets(&[expected])));
}

#[test]
fn the_field_takes_precedence_over_the_annotation() {
    let service = load_balancer("a")
        .annotation(ANNOTATION, "bad")
        .source_ranges(["10.0.0.0/8"])
        .build();
    let expected = SourceRanges {
        nets: nets(&["10.0.0.0/8"]),
        from: RangesFrom::Spec,
        bad: Vec::new(),
    };
    assert_eq!(of(&service), expected);
}

#[test]
fn invalid_entries_are_separated() {
    let [annotated, specified] = given("10.0.0.1,10.0.0.0/8, x");
    assert_eq!(
        (annotated.from, specified.from),
        (RangesFrom::Annotation, RangesFrom::Spec)
    );
    for SourceRanges { nets: good, bad, .. } in [annotated, specified] {
        assert_eq!(
            (good, bad),
            (nets(&["10.0.0.0/8"]), vec!["10.0.0.1".to_owned(), " x".to_owned()])
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected(text in ".{0,60}") {
        for answer in both(&text) {
            prop_assert!(answer.is_err() || !answer.unwrap().is_empty());
        }
    }

    #[test]
    fn any_network_survives(address in any::<[u8; 4]>(), prefix in 0_u8..=32) {
        let net: IpNet = format!("{}/{prefix}", Ipv4Addr::from(address)).parse().unwrap();
        prop_assert_eq!(&both(&net.to_string())[0], &Ok(vec![net.trunc()]));
    }
}
