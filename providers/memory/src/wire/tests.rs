use super::{Written, balancers, instances, routes};
use cloud::{
    AddressKind, Affinity, Error, Host, Ingress, IngressPort, IpFamily, IpMode, Port, Power, Protocol, RangesFrom,
    ServiceRef, Spec, Status, TrafficPolicy,
};
use rstest::rstest;
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, time::Duration};

/// What came out at the other end.
fn sent<W: From<T> + Into<T> + Serialize + DeserializeOwned, T>(thing: T) -> T {
    let text = serde_json::to_string(&W::from(thing)).expect("JSON");
    serde_json::from_str::<W>(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}"))
        .into()
}

fn addresses() -> Vec<cloud::Address> {
    ["Hostname", "InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS"]
        .into_iter()
        .map(|kind| cloud::Address::new(AddressKind::parse(kind).expect("a kind"), "x"))
        .collect()
}

fn port(protocol: Protocol) -> Port {
    Port {
        name: "http".into(),
        protocol,
        port: 80,
        node_port: Some(30080),
        app_protocol: Some("h2c".into()),
    }
}

/// Nothing in it is a default, so that nothing can be lost unnoticed.
fn full_spec() -> Spec {
    let labels = [("k".to_owned(), "v".to_owned())];
    let error = Some("no".to_owned());
    let ports = vec![IngressPort {
        port: 80,
        protocol: Protocol::Udp,
        error,
    }];
    let proxy = Ingress {
        ip: Some("1.1.1.1".into()),
        hostname: None,
        ip_mode: Some(IpMode::Proxy),
        ports,
    };
    let vip = Ingress {
        ip: None,
        hostname: Some("x.example".into()),
        ip_mode: Some(IpMode::Vip),
        ports: Vec::new(),
    };
    Spec {
        cluster: "c".into(),
        service: ServiceRef {
            namespace: "n".into(),
            name: "s".into(),
            uid: "u".into(),
        },
        annotations: labels.into(),
        class: Some("x/y".into()),
        ip: Some("2.2.2.2".into()),
        ports: [Protocol::Tcp, Protocol::Udp, Protocol::Sctp].map(port).into(),
        source_ranges: vec![
            "10.0.0.0/8".parse().expect("a range"),
            "fd00::/8".parse().expect("a range"),
        ],
        ranges_from: RangesFrom::Annotation,
        bad_ranges: vec!["x".into()],
        affinity: Affinity::ClientIp { timeout_seconds: 60 },
        traffic: TrafficPolicy::Local {
            health_check_port: Some(32000),
        },
        families: vec![IpFamily::V6, IpFamily::V4],
        external_ips: vec!["3.3.3.3".parse().expect("an address")],
        hosts: [Host {
            name: "h".into(),
            provider_id: cloud::ProviderId::parse("memory://h"),
            addresses: addresses(),
            labels: BTreeMap::new(),
        }
        .into()]
        .into(),
        status: Status {
            ingress: vec![proxy, vip],
        },
    }
}

#[rstest]
#[case::full(full_spec())]
#[case::empty(Spec::default())]
#[case::local_without_port(Spec { traffic: TrafficPolicy::Local { health_check_port: None }, ..Spec::default() })]
fn a_spec_arrives_whole(#[case] spec: Spec) {
    assert_eq!(sent::<balancers::Spec, _>(spec.clone()), spec);
}

#[test]
fn labels_of_hosts_are_read_but_not_sent() {
    let host = Host {
        name: "h".into(),
        labels: [("k".to_owned(), "v".to_owned())].into(),
        ..Host::default()
    };
    let spec = Spec {
        hosts: [host.into()].into(),
        ..Spec::default()
    };
    assert_eq!(sent::<balancers::Spec, _>(spec).hosts[0].labels, BTreeMap::new());
    let service = r#"{"namespace": "n", "name": "s", "uid": "u"}"#;
    let text =
        format!(r#"{{"cluster": "c", "service": {service}, "hosts": [{{"name": "h", "labels": {{"k": "v"}}}}]}}"#);
    let read: Spec = serde_json::from_str::<balancers::Spec>(&text).expect("a spec").into();
    assert_eq!(read.hosts[0].labels["k"], "v");
}

#[rstest]
#[case(Power::On)]
#[case(Power::Off)]
#[case(Power::Unknown)]
fn a_machine_arrives_whole(#[case] power: Power) {
    let instance = cloud::Instance {
        provider_id: cloud::ProviderId::parse("memory://x"),
        instance_type: Some("t".into()),
        addresses: addresses(),
        zone: Some("z".into()),
        region: Some("r".into()),
        labels: [("k".to_owned(), "v".to_owned())].into(),
        power,
    };
    assert_eq!(sent::<instances::Described, _>(instance.clone()), instance);
}

#[test]
fn a_node_arrives_whole() {
    let node = cloud::NodeRef {
        name: "n".into(),
        provider_id: cloud::ProviderId::parse("memory://x"),
        system_uuid: Some("s".into()),
        addresses: addresses(),
        labels: [("k".to_owned(), "v".to_owned())].into(),
        annotations: [("a".to_owned(), "b".to_owned())].into(),
    };
    assert_eq!(sent::<instances::Node, _>(node.clone()), node);
}

#[rstest]
#[case::node(cloud::RouteTarget::Node("n".into()), Some(addresses()))]
#[case::no_addresses(cloud::RouteTarget::Node("n".into()), Some(Vec::new()))]
#[case::untracked(cloud::RouteTarget::Node("n".into()), None)]
#[case::blackhole(cloud::RouteTarget::Blackhole, None)]
#[case::unknown(cloud::RouteTarget::Unknown, None)]
fn a_route_arrives_whole(#[case] target: cloud::RouteTarget, #[case] addresses: Option<Vec<cloud::Address>>) {
    let destination = "10.0.0.0/24".parse().expect("a destination");
    let route = cloud::Route {
        name: "r".into(),
        destination,
        target,
        addresses,
    };
    assert_eq!(sent::<routes::Route, _>(route.clone()), route);
}

#[test]
fn a_new_route_arrives_whole() {
    let route = cloud::NewRoute {
        hint: "uid".into(),
        node: "n".into(),
        provider_id: cloud::ProviderId::parse("memory://x"),
        addresses: addresses(),
        destination: "fd00::/64".parse().expect("a destination"),
    };
    assert_eq!(sent::<routes::NewRoute, _>(route.clone()), route);
}

#[rstest]
#[case(Error::NotFound { what: "x".into() })]
#[case(Error::invalid("x", "y"))]
#[case(Error::unusable("x", "y"))]
#[case(Error::Throttled { call: "x".into(), retry_after: Some(Duration::from_millis(1500)) })]
#[case(Error::Throttled { call: "x".into(), retry_after: None })]
#[case(Error::unavailable("x", "y"))]
#[case(Error::denied("x", "y"))]
#[case(Error::quota("x", "y"))]
#[case(Error::NotSupported { what: "x".into() })]
#[case(Error::ImplementedElsewhere)]
#[case(Error::NotLeader)]
fn an_error_arrives_with_its_words(#[case] error: Error) {
    let (words, retry) = (error.report(), error.retry());
    let arrived = sent::<Written, _>(Err(error)).expect_err("an error");
    assert_eq!((arrived.report(), arrived.retry()), (words, retry));
}
