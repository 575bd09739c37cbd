use super::*;
use rstest::rstest;
use testkit::service::load_balancer;

fn at(ip: &str) -> Ingress {
    Ingress {
        ip: Some(ip.into()),
        ..Ingress::default()
    }
}

fn mode(ip_mode: Option<IpMode>) -> Status {
    Status {
        ingress: vec![Ingress {
            ip_mode,
            ..at("192.168.0.1")
        }],
    }
}

fn ports(protocols: &[Protocol]) -> Status {
    let port = |protocol: &Protocol| IngressPort {
        port: 80,
        protocol: *protocol,
        error: None,
    };
    Status {
        ingress: vec![Ingress {
            ports: protocols.iter().map(port).collect(),
            ..at("192.168.0.1")
        }],
    }
}

fn ip(ip: &str) -> Status {
    Status { ingress: vec![at(ip)] }
}

// upstream: TestLoadBalancerStatusEqual
#[rstest]
#[case("empty", Status::default(), Status::default(), true)]
#[case("same ip", ip("192.168.0.1"), ip("192.168.0.1"), true)]
#[case("different ip", ip("192.168.0.2"), ip("192.168.0.1"), false)]
#[case("same ipMode", mode(Some(IpMode::Vip)), mode(Some(IpMode::Vip)), true)]
#[case("only one ipMode set", mode(None), mode(Some(IpMode::Proxy)), false)]
#[case("different ipMode", mode(Some(IpMode::Proxy)), mode(Some(IpMode::Vip)), false)]
#[case("same ports", ports(&[Protocol::Tcp]), ports(&[Protocol::Tcp]), true)]
#[case("same port other protocol", ports(&[Protocol::Tcp]), ports(&[Protocol::Udp]), false)]
#[case("one side without ports", ports(&[Protocol::Tcp]), ports(&[]), false)]
#[case("one side without ports (twice)", ports(&[]), ports(&[Protocol::Tcp]), false)]
fn compares(#[case] name: &str, #[case] left: Status, #[case] right: Status, #[case] expected: bool) {
    assert_eq!(same(&left, &right), expected, "{name}");
    assert_eq!(same(&right, &left), expected, "{name}");
}

#[test]
fn order_counts() {
    let both = |first, second| Status {
        ingress: vec![at(first), at(second)],
    };
    assert!(!same(&both("192.0.2.1", "192.0.2.2"), &both("192.0.2.2", "192.0.2.1")));
}

#[test]
fn round_trip() {
    let error = Some("PortRefused".into());
    let port = IngressPort {
        port: 53,
        protocol: Protocol::Sctp,
        error,
    };
    let named = Ingress {
        hostname: Some("lb.example.com".into()),
        ..Ingress::default()
    };
    let full = Ingress {
        ip_mode: Some(IpMode::Proxy),
        ports: vec![port],
        ..at("192.0.2.1")
    };
    let status = Status {
        ingress: vec![full, named],
    };
    let service = load_balancer("a").with(|service| {
        service.status.get_or_insert_default().load_balancer = Some(wire(&status));
    });
    assert_eq!(of(&service.build()), status);
}

/// The API server stores both alike; the Go framework would write them again and again.
#[test]
fn vip_is_the_default() {
    assert!(same(&mode(None), &mode(Some(IpMode::Vip))));
    let named = |ip_mode| Status {
        ingress: vec![Ingress {
            hostname: Some("a".into()),
            ip_mode,
            ..Ingress::default()
        }],
    };
    assert!(!same(&named(None), &named(Some(IpMode::Vip))), "names have no mode");
}
