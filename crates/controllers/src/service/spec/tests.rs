use super::*;
use cloud::{Ingress, RangesFrom, Status};
use k8s_openapi::api::core::v1::{ClientIPConfig, Node, SessionAffinityConfig};
use rstest::rstest;
use testkit::service::{Builder, load_balancer, node_port, port};

fn no_hosts() -> HostSet {
    HostSet::of([], |_: &Node| true)
}

fn parse(service: Builder) -> Result<Spec, Invalid> {
    of(&service.build(), &no_hosts(), "kubernetes", BadRanges::Refuse)
}

#[test]
fn parses_everything() {
    let mut node = Node::default();
    node.metadata.name = Some("node-1".into());
    let mut https = port("TCP", 443);
    https.name = Some("https".into());
    https.node_port = Some(30443);
    https.app_protocol = Some("tls".into());
    let service = load_balancer("web")
        .namespace("shop")
        .uid("1-2")
        .annotation("a", "b")
        .class("x")
        .ports([https, port("SCTP", 9)])
        .source_ranges(["10.0.0.0/8"])
        .families(["IPv6", "IPv4"])
        .external_ips(["192.0.2.9", "2001:db8::9"])
        .ingress_ip("192.0.2.1")
        .spec(|spec| spec.load_balancer_ip = Some("192.0.2.1".into()))
        .build();
    let spec = of(&service, &HostSet::of([&node], |_| true), "blue", BadRanges::Refuse).unwrap();
    let named = |name: &str, protocol, port| Port {
        name: name.into(),
        protocol,
        port,
        node_port: None,
        app_protocol: None,
    };
    let https = Port {
        node_port: Some(30443),
        app_protocol: Some("tls".into()),
        ..named("https", Protocol::Tcp, 443)
    };
    let expected = Spec {
        cluster: "blue".into(),
        service: ServiceRef {
            namespace: "shop".into(),
            name: "web".into(),
            uid: "1-2".into(),
        },
        annotations: [("a".into(), "b".into())].into(),
        class: Some("x".into()),
        ip: Some("192.0.2.1".into()),
        ports: vec![https, named("", Protocol::Sctp, 9)],
        source_ranges: vec!["10.0.0.0/8".parse().unwrap()],
        ranges_from: RangesFrom::Spec,
        bad_ranges: Vec::new(),
        affinity: Affinity::None,
        traffic: TrafficPolicy::Cluster,
        families: vec![IpFamily::V6, IpFamily::V4],
        external_ips: vec!["192.0.2.9".parse().unwrap(), "2001:db8::9".parse().unwrap()],
        hosts: [cloud::Host {
            name: "node-1".into(),
            ..cloud::Host::default()
        }
        .into()]
        .into(),
        status: Status {
            ingress: vec![Ingress {
                ip: Some("192.0.2.1".into()),
                ..Ingress::default()
            }],
        },
    };
    assert_eq!(spec, expected);
}

fn sticky(seconds: Option<i32>) -> Builder {
    load_balancer("a").spec(|spec| {
        spec.session_affinity = Some("ClientIP".into());
        let client_ip = Some(ClientIPConfig {
            timeout_seconds: seconds,
        });
        spec.session_affinity_config = seconds.map(|_| SessionAffinityConfig { client_ip });
    })
}

#[rstest]
#[case::none(load_balancer("a"), Affinity::None)]
#[case::default(sticky(None), Affinity::ClientIp { timeout_seconds: 10800 })]
#[case::given(sticky(Some(60)), Affinity::ClientIp { timeout_seconds: 60 })]
fn affinity(#[case] service: Builder, #[case] expected: Affinity) {
    assert_eq!(parse(service).unwrap().affinity, expected);
}

fn health_port(service: Builder, port: i32) -> Builder {
    service
        .traffic_policy("Local")
        .spec(|spec| spec.health_check_node_port = Some(port))
}

#[rstest]
#[case::cluster(load_balancer("a").traffic_policy("Cluster"), TrafficPolicy::Cluster)]
#[case::local(health_port(load_balancer("a"), 32000), TrafficPolicy::Local { health_check_port: Some(32000) })]
#[case::local_without_a_port(health_port(load_balancer("a"), 0), TrafficPolicy::Local { health_check_port: None })]
#[case::node_port_needs_none(health_port(node_port("a"), 32000), TrafficPolicy::Local { health_check_port: None })]
fn traffic(#[case] service: Builder, #[case] expected: TrafficPolicy) {
    assert_eq!(parse(service).unwrap().traffic, expected);
}

fn node_port_of(number: i32) -> Builder {
    let mut port = port("TCP", 80);
    port.node_port = Some(number);
    load_balancer("a").ports([port])
}

#[rstest]
#[case::port(load_balancer("a").ports([port("TCP", 70000)]), "invalid spec.ports[0].port: 70000 is not between 1 and 65535")]
#[case::no_port(load_balancer("a").ports([port("TCP", 1), port("TCP", 0)]), "invalid spec.ports[1].port: 0 is not between 1 and 65535")]
#[case::protocol(load_balancer("a").ports([port("IPIP", 1)]), r#"invalid spec.ports[0].protocol: "IPIP" is not one of TCP, UDP and SCTP"#)]
#[case::node_port(node_port_of(-1), "invalid spec.ports[0].nodePort: -1 is not between 1 and 65535")]
#[case::family(load_balancer("a").families(["IPX"]), r#"invalid spec.ipFamilies: "IPX" is not one of IPv4 and IPv6"#)]
#[case::external_ip(load_balancer("a").external_ips(["x"]), r#"invalid spec.externalIPs: "x" is not an IP address"#)]
#[case::health_check(
    health_port(load_balancer("a"), 70000),
    "invalid spec.healthCheckNodePort: 70000 is not between 1 and 65535"
)]
#[case::source_range(
    load_balancer("a").source_ranges(["10.0.0.1"]),
    r#"invalid spec.loadBalancerSourceRanges: "10.0.0.1" is not an IP range; write ranges like 10.0.0.0/24 or 2001:db8::/64"#
)]
fn rejects_but_can_be_deleted(#[case] service: Builder, #[case] message: &str) {
    assert_eq!(parse(service.clone()).unwrap_err().to_string(), message);
    let spec = for_deletion(&service.build(), "kubernetes");
    assert_eq!(
        (spec.service.name.as_str(), spec.source_ranges.is_empty()),
        ("a", false)
    );
}

#[test]
fn a_provider_can_ask_for_invalid_source_ranges() {
    let service = load_balancer("a").source_ranges(["10.0.0.1", "10.0.0.0/8"]).build();
    let spec = of(&service, &no_hosts(), "kubernetes", BadRanges::Report).unwrap();
    assert_eq!(format!("{:?}", spec.source_ranges), "[10.0.0.0/8]");
    assert_eq!(
        (spec.ranges_from, spec.bad_ranges),
        (RangesFrom::Spec, vec!["10.0.0.1".to_owned()])
    );
}
