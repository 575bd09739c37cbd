use super::*;
use crate::load_balancers::fixture::{annotated, port, spec};
use cloud::TrafficPolicy;
use rstest::rstest;

#[rstest]
#[case::absent(None, Some(Kind::Classic))]
#[case::nlb(Some("nlb"), Some(Kind::Network))]
#[case::typo(Some("NLB"), Some(Kind::Classic))]
#[case::external(Some("external"), None)]
#[case::nlb_ip(Some("nlb-ip"), None)]
fn kinds(#[case] text: Option<&str>, #[case] expected: Option<Kind>) {
    let mut spec = spec(&[80]);
    if let Some(text) = text {
        spec.annotations.insert(key::TYPE.key.into(), text.into());
    }
    assert_eq!(kind(&spec), expected);
}

#[rstest]
#[case::absent(None, Scheme::Public)]
#[case::empty(Some(""), Scheme::Public)]
#[case::no(Some("false"), Scheme::Public)]
#[case::yes(Some("true"), Scheme::Internal)]
#[case::an_address(Some("0.0.0.0/0"), Scheme::Internal)]
fn schemes(#[case] text: Option<&str>, #[case] expected: Scheme) {
    let mut spec = spec(&[80]);
    if let Some(text) = text {
        spec.annotations.insert(key::INTERNAL.key.into(), text.into());
    }
    assert_eq!(scheme(&spec), expected);
}

type Change = fn(&mut Spec);

#[rstest]
#[case::fine(Kind::Classic, |_: &mut Spec| {}, "")]
#[case::udp(Kind::Network, |spec: &mut Spec| spec.ports[0].protocol = Protocol::Udp, "")]
#[case::classic_udp(Kind::Classic, |spec: &mut Spec| spec.ports[0].protocol = Protocol::Udp, "spec.ports: a classic load balancer has TCP ports, not UDP")]
#[case::sctp(Kind::Network, |spec: &mut Spec| spec.ports[0].protocol = Protocol::Sctp, "spec.ports: a network load balancer has TCP or UDP ports, not SCTP")]
#[case::mixed(Kind::Network, |spec: &mut Spec| spec.ports.push(Port { protocol: Protocol::Udp, ..port(53) }), "spec.ports: all ports must have the same protocol")]
#[case::no_ports(Kind::Network, |spec: &mut Spec| spec.ports.clear(), "spec.ports: there are no ports")]
#[case::affinity(Kind::Network, |spec: &mut Spec| spec.affinity = Affinity::ClientIp { timeout_seconds: 1 }, "spec.sessionAffinity: AWS's load balancers have none")]
#[case::ip(Kind::Classic, |spec: &mut Spec| spec.ip = Some("192.0.2.1".into()), "spec.loadBalancerIP: it cannot be chosen on AWS")]
#[case::extra_groups(Kind::Network, |spec: &mut Spec| { spec.annotations.insert(key::EXTRA_SECURITY_GROUPS.key.into(), String::new()); }, "annotation service.beta.kubernetes.io/aws-load-balancer-extra-security-groups: a network load balancer cannot have it")]
#[case::attributes(Kind::Classic, |spec: &mut Spec| { spec.annotations.insert(key::TARGET_GROUP_ATTRIBUTES.key.into(), String::new()); }, "annotation service.beta.kubernetes.io/aws-load-balancer-target-group-attributes: only a network load balancer has target groups")]
fn checks(#[case] kind: Kind, #[case] change: Change, #[case] expected: &str) {
    let mut spec = spec(&[80]);
    change(&mut spec);
    let error = check(&spec, kind).err().map(|error| error.to_string());
    let expected = Some(format!("invalid {expected}")).filter(|_| !expected.is_empty());
    assert_eq!(error, expected);
}

#[rstest]
#[case::both("preserve_client_ip.enabled=true,proxy_protocol_v2.enabled=false", "ok 2")]
#[case::spaces_around(" proxy_protocol_v2.enabled=true , ", "ok 1")]
#[case::empty("", "ok 0")]
#[case::the_last_wins("proxy_protocol_v2.enabled=x,proxy_protocol_v2.enabled=true", "ok 1")]
#[case::unknown("deregistration_delay.timeout_seconds=5", "is not one of")]
#[case::capital("proxy_protocol_v2.enabled=True", "is neither")]
#[case::space("proxy_protocol_v2.enabled= true", "is neither")]
#[case::no_value("proxy_protocol_v2.enabled=", "is neither")]
#[case::udp("preserve_client_ip.enabled=false", "cannot be false for UDP")]
fn attributes(#[case] text: &str, #[case] expected: &str) {
    let mut spec = annotated(&[80], key::TARGET_GROUP_ATTRIBUTES, text);
    spec.ports[0].protocol = Protocol::Udp;
    let result = match group_attributes(&spec, Kind::Network) {
        Ok(attributes) => format!("ok {}", attributes.len()),
        Err(error) => error.to_string(),
    };
    assert!(result.contains(expected), "{result}");
}

#[rstest]
#[case::empty("", "[]")]
#[case::key("Key", "[Key=]")]
#[case::empty_value("Key=,K2=v", "[K2=v, Key=]")]
#[case::commas(",,", "[]")]
#[case::trimmed(" Key=Val , Key2=Val2 ", "[Key=Val, Key2=Val2]")]
#[case::equals_sign("Key=a=b", "[Key=a=b]")]
fn tags(#[case] text: &str, #[case] expected: &str) {
    let tags = additional_tags(&annotated(&[80], key::ADDITIONAL_RESOURCE_TAGS, text));
    let tags: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(format!("[{}]", tags.join(", ")), expected);
}

#[rstest]
#[case::all("", "a b c")]
#[case::key("zone", "a b")]
#[case::key_with_equals_sign("zone=", "a b")]
#[case::value("zone=1", "a")]
#[case::both("zone,gpu=yes", "b")]
#[case::none("zone=3", "")]
fn selects(#[case] text: &str, #[case] expected: &str) {
    let mut spec = annotated(&[80], key::TARGET_NODE_LABELS, text);
    let host = |name: &str, labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        Arc::new(Host {
            name: name.into(),
            labels: labels.collect(),
            ..Host::default()
        })
    };
    spec.hosts = [
        host("a", &[("zone", "1")]),
        host("b", &[("zone", "2"), ("gpu", "yes")]),
        host("c", &[]),
    ]
    .into();
    let names: Vec<&str> = targets(&spec).iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names.join(" "), expected);
}

#[rstest]
#[case::all("", Kind::Classic, "80 443")]
#[case::star("*", Kind::Network, "80 443")]
#[case::number("443", Kind::Network, "443")]
#[case::name("HTTPS", Kind::Network, "443")]
#[case::name_in_lower_case("https", Kind::Classic, "443")]
#[case::other_case("https", Kind::Network, "")]
#[case::not_trimmed(" 443", Kind::Classic, "")]
fn certificates(#[case] ports: &str, #[case] kind: Kind, #[case] expected: &str) {
    let mut spec = annotated(&[80, 443], key::SSL_CERT, "arn:cert");
    spec.annotations.insert(key::SSL_PORTS.key.into(), ports.into());
    spec.ports[1].name = "HTTPS".into();
    spec.traffic = TrafficPolicy::Cluster;
    let with = spec
        .ports
        .iter()
        .filter(|port| certificate(&spec, port, kind).is_some());
    let with: Vec<String> = with.map(|port| port.port.to_string()).collect();
    assert_eq!(with.join(" "), expected);
}
