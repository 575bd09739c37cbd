//! Services of many kinds.

use crate::fixture::Fixture;
use k8s_openapi::api::core::v1::ServicePort;
use serde_json::{Map, Value, json};
use testkit::service::{Builder, load_balancer, port};

/// The Service whose load balancer another one shares.
pub const HOST: &str = "plain";
/// A Service whose floating IP is kept.
pub const KEPT: &str = "kept";

const FLAVOR: &str = "6f2c2f0e-5b0c-4a53-9a3e-0d4b5c0e7a11";
const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";
const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// One Service for each common setting.
pub fn common() -> Vec<Builder> {
    vec![
        load_balancer(HOST),
        load_balancer("internal").annotation(INTERNAL, "true"),
        load_balancer("ports").ports(["TCP", "UDP"].map(|protocol| named(protocol, 53))),
        load_balancer("ranges").source_ranges(["10.1.0.0/16", "192.0.2.0/24"]),
        load_balancer("local").traffic_policy("Local"),
        noted("proxy", &[("proxy-protocol", "true")]),
        noted("forwarded", &[("x-forwarded-for", "true")]),
        noted(KEPT, &[("keep-floatingip", "true"), ("connection-limit", "77")]),
        noted("unwatched", &[("enable-health-monitor", "false")]),
        noted(
            "watched",
            &[("health-monitor-delay", "9"), ("health-monitor-max-retries", "4")],
        ),
        noted(
            "timely",
            &[
                ("timeout-client-data", "61000"),
                ("timeout-member-connect", "4000"),
                ("timeout-tcp-inspect", "10"),
            ],
        ),
        noted("named", &[("hostname", "named.example.com")]),
    ]
}

/// Rare settings, and invalid ones.
pub fn rare(fixture: &Fixture) -> Vec<Builder> {
    let text = ToString::to_string;
    let public = fixture.cloud.public_network().unwrap();
    let second = fixture.cloud.create_subnet(public, "198.51.100.0/24");
    fixture.cloud.label_subnet(second, "public-second", &["fast", "far"]);
    fixture.cloud.configure(|settings| {
        settings.octavia_flavors.insert(FLAVOR.to_owned());
        settings.octavia_zones.insert("east".to_owned());
    });
    let (subnet, network) = (text(&fixture.net.subnet), text(&fixture.net.network));
    let port_id = text(&fixture.cloud.create_port(fixture.net.network, "chosen", None).unwrap());
    let free = fixture.cloud.create_floating_ip(public, None, "mine").unwrap().address;
    let secret = fixture.cloud.add_secret("certificate");
    let secret = format!("http://barbican.lab/v1/secrets/{secret}");
    vec![
        noted("proxied-again", &[("proxy-protocol", "v2")]),
        noted("proxied-not", &[("proxy-protocol", "yes")]),
        noted("methodical", &[("lb-method", "LEAST_CONNECTIONS")]),
        noted("unlimited", &[("connection-limit", "many")]),
        noted("undecided", &[("enable-health-monitor", "perhaps")]),
        noted(
            "patient",
            &[("timeout-member-data", "9000"), ("timeout-tcp-inspect", "x")],
        ),
        noted(
            "watched-closely",
            &[
                ("health-monitor-timeout", "3"),
                ("health-monitor-max-retries-down", "5"),
            ],
        ),
        noted("flavored", &[("flavor-id", FLAVOR)]),
        noted("eastern", &[("availability-zone", "east")]),
        noted("selected", &[("node-selector", "kubernetes.io/os=linux,lab/first")]),
        noted("on-subnet", &[("subnet-id", &subnet)]),
        noted("on-network", &[("network-id", &network)]),
        noted("on-port", &[("port-id", &port_id)]),
        noted("members-on-subnet", &[("member-subnet-id", &subnet)]),
        noted("from-subnet", &[("floating-subnet-id", &text(&second))]),
        noted("from-name", &[("floating-subnet", "public-s*")]),
        noted("from-expression", &[("floating-subnet", "~public-.*nd")]),
        noted("from-tags", &[("floating-subnet-tags", "fast,slow")]),
        noted("from-all-tags", &[("floating-subnet-tags", "&fast,far")]),
        noted("classy", &[("class", "side")]),
        noted("classy-too", &[("class", "side"), ("floating-subnet", "public-subnet")]),
        noted("encrypted", &[("default-tls-container-ref", &secret)]),
        noted(
            "named-and-proxied",
            &[("hostname", "a.example.com"), ("proxy-protocol", "v1")],
        ),
        noted("unnamed", &[("hostname", "")]),
        noted("kept-and-internal", &[("keep-floatingip", "true")]).annotation(INTERNAL, "true"),
        load_balancer("not-internal").annotation(INTERNAL, "no"),
        load_balancer("internal-here")
            .annotation(INTERNAL, "true")
            .spec(|spec| spec.load_balancer_ip = Some("10.0.77.7".into())),
        load_balancer("here").spec(|spec| spec.load_balancer_ip = Some(free.to_string())),
        load_balancer("ranges-noted").annotation(RANGES, "10.1.0.0/16, 192.0.2.0/24"),
        load_balancer("ranges-local")
            .source_ranges(["10.1.0.0/16"])
            .traffic_policy("Local"),
        load_balancer("faithful").spec(|spec| spec.session_affinity = Some("ClientIP".into())),
        load_balancer("portless").spec(|spec| spec.allocate_load_balancer_node_ports = Some(false)),
        load_balancer("datagrams")
            .ports([port("UDP", 514)])
            .traffic_policy("Local"),
        load_balancer("streams").ports([port("SCTP", 3868)]),
        load_balancer("many").ports([80, 443, 8080, 8443, 9000].map(|number| named("TCP", number))),
        load_balancer("a-name-that-is-as-long-as-a-name-of-a-service-can-be-and-ends-here"[..63].trim_end_matches('-')),
    ]
}

/// What users change later: a patch for each of these Services, of the two lists.
pub fn changes() -> Vec<(&'static str, Value)> {
    let noted = |notes: &[(&str, Value)]| {
        let keyed = notes
            .iter()
            .map(|(key, value)| (format!("loadbalancer.openstack.org/{key}"), value.clone()));
        json!({"metadata": {"annotations": keyed.collect::<Map<_, _>>()}})
    };
    let ports = |first: usize, numbers: &[(&str, i32)]| {
        let all = numbers.iter().enumerate().map(|(n, (protocol, number))| {
            json!({"name": format!("p{n}"), "protocol": protocol, "port": number, "nodePort": first + n})
        });
        json!({"spec": {"ports": all.collect::<Vec<_>>()}})
    };
    vec![
        (HOST, ports(31010, &[("TCP", 80), ("TCP", 443)])),
        ("internal", json!({"metadata": {"annotations": {INTERNAL: "false"}}})),
        ("ports", ports(31020, &[("TCP", 53)])),
        ("ranges", json!({"spec": {"loadBalancerSourceRanges": ["10.2.0.0/16"]}})),
        ("local", json!({"spec": {"externalTrafficPolicy": "Cluster"}})),
        ("proxy", noted(&[("proxy-protocol", Value::Null)])),
        (KEPT, noted(&[("connection-limit", json!("78"))])),
        ("unwatched", noted(&[("enable-health-monitor", json!("true"))])),
        ("watched", noted(&[("enable-health-monitor", json!("false"))])),
        (
            "timely",
            noted(&[
                ("timeout-client-data", json!("62000")),
                ("timeout-tcp-inspect", Value::Null),
            ]),
        ),
        ("named", noted(&[("hostname", Value::Null)])),
        ("proxied-again", noted(&[("proxy-protocol", json!("v1"))])),
        ("methodical", noted(&[("lb-method", json!("SOURCE_IP"))])),
        ("watched-closely", noted(&[("health-monitor-timeout", json!("4"))])),
        ("selected", noted(&[("node-selector", Value::Null)])),
        ("many", ports(31030, &[("TCP", 8443), ("TCP", 80), ("TCP", 81)])),
        ("streams", ports(31040, &[("SCTP", 3869)])),
        ("not-internal", json!({"metadata": {"annotations": {INTERNAL: "true"}}})),
        (
            "kept-and-internal",
            json!({"metadata": {"annotations": {INTERNAL: "false"}}}),
        ),
        ("here", json!({"spec": {"loadBalancerIP": null}})),
        ("eastern", json!({"spec": {"type": "ClusterIP"}})),
        ("flavored", noted(&[("flavor-id", Value::Null)])),
        ("classy", noted(&[("class", Value::Null)])),
        ("unlimited", noted(&[("connection-limit", json!("5"))])),
        ("unnamed", noted(&[("hostname", json!("now.example.com"))])),
        ("ranges-noted", json!({"metadata": {"annotations": {RANGES: null}}})),
        ("ranges-local", json!({"spec": {"loadBalancerSourceRanges": null}})),
        ("members-on-subnet", noted(&[("member-subnet-id", Value::Null)])),
        ("from-name", noted(&[("floating-subnet", Value::Null)])),
        ("on-network", noted(&[("keep-floatingip", json!("true"))])),
        ("datagrams", json!({"spec": {"externalTrafficPolicy": "Cluster"}})),
    ]
}

/// What users delete.
pub const DELETED: [&str; 5] = ["on-port", "from-tags", "on-subnet", "encrypted", "internal-here"];

/// The configuration that [`rare`] ones need.
pub fn classes(fixture: &Fixture) -> String {
    let (public, subnet) = (fixture.cloud.public_network().unwrap(), fixture.net.subnet);
    format!(
        "[LoadBalancerClass \"side\"]\nfloating-network-id={public}\nfloating-subnet=public-s*\nsubnet-id={subnet}\n"
    )
}

fn noted(name: &str, notes: &[(&str, &str)]) -> Builder {
    notes.iter().fold(load_balancer(name), |service, (key, value)| {
        service.annotation(&format!("loadbalancer.openstack.org/{key}"), value)
    })
}

fn named(protocol: &str, number: i32) -> ServicePort {
    let mut port = port(protocol, number);
    port.name = Some(format!("{}-{number}", protocol.to_lowercase()));
    port
}
