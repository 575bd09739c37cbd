use super::*;
use k8s_openapi::api::core::v1::{ClientIPConfig, SessionAffinityConfig};
use rstest::rstest;
use testkit::service::{Builder, cluster_ip, load_balancer, node_port, of_type, port};

fn lb() -> Builder {
    load_balancer("external-balancer")
}

fn named(class: &str, classless: Classless) -> Classes {
    Classes {
        named: [class.to_owned()].into(),
        classless,
    }
}

// upstream: TestNeedsCleanup
#[rstest]
#[case("no finalizer", lb(), false)]
#[case("finalizer, NodePort", node_port("a").finalizer(FINALIZER), true)]
#[case("finalizer, LoadBalancer", lb().finalizer(FINALIZER), false)]
#[case("finalizer + deletionTimestamp", lb().finalizer(FINALIZER).deleted(), true)]
fn cleanup_is_needed(#[case] name: &str, #[case] service: Builder, #[case] needed: bool) {
    assert_eq!(needs_cleanup(&service.build(), &Classes::default()), needed, "{name}");
}

#[rstest]
#[case::class_of_others(lb().class("x").finalizer(FINALIZER).deleted(), Classes::default(), false)]
#[case::our_class(lb().class("x").finalizer(FINALIZER).deleted(), named("x", Classless::Served), true)]
#[case::classless_of_others(lb().finalizer(FINALIZER).deleted(), named("x", Classless::Ignored), false)]
#[case::lost_its_class(cluster_ip("a").finalizer(FINALIZER), named("x", Classless::Ignored), true)]
fn cleanup_asks_for_the_class(#[case] service: Builder, #[case] classes: Classes, #[case] needed: bool) {
    assert_eq!(needs_cleanup(&service.build(), &classes), needed);
}

#[rstest]
#[case::classless(lb(), Classes::default(), true)]
#[case::cluster_ip(cluster_ip("a"), Classes::default(), false)]
#[case::class_of_others(lb().class("x"), Classes::default(), false)]
#[case::our_class(lb().class("x"), named("x", Classless::Ignored), true)]
#[case::another_class(lb().class("y"), named("x", Classless::Served), false)]
#[case::classless_of_others(lb(), named("x", Classless::Ignored), false)]
#[case::both(lb(), named("x", Classless::Served), true)]
fn wants_by_class(#[case] service: Builder, #[case] classes: Classes, #[case] expected: bool) {
    assert_eq!(wants(&service.build(), &classes), expected);
}

// upstream: TestNeedsUpdate
#[rstest]
#[case("type LB→ClusterIP", lb(), lb().spec(|spec| spec.type_ = Some("ClusterIP".into())), true)]
#[case("ports differ", lb().ports([port("TCP", 8000), port("TCP", 9000)]), lb().ports([port("TCP", 8001), port("TCP", 9001)]), true)]
#[case("externalIP count", lb().external_ips(["old.IP.1"]), lb().external_ips(["new.IP.1", "new.IP.2"]), true)]
#[case("externalIPs differ", lb().external_ips(["old.IP.1", "old.IP.2"]), lb().external_ips(["new.IP.1", "new.IP.2"]), true)]
#[case("UID", lb().uid("UID old"), lb().uid("UID new"), true)]
#[case("ETP", lb().traffic_policy("Cluster"), lb().traffic_policy("Local"), true)]
#[case("healthCheckNodePort", lb().spec(|spec| spec.health_check_node_port = Some(30012)), lb().spec(|spec| spec.health_check_node_port = Some(30013)), true)]
#[case("targetPort number 20→21", lb().target_port(20), lb().target_port(21), true)]
#[case("targetPort number→name", lb().target_port(20), lb().target_port("dns"), true)]
#[case("identical/appProtocol same", lb().app_protocol("http"), lb().app_protocol("http"), false)]
#[case("ipFamilies single→dual", lb().families(["IPv4"]), lb().families(["IPv4", "IPv6"]), true)]
#[case("dual→single", lb().families(["IPv4", "IPv6"]), lb().families(["IPv4"]), true)]
#[case("families unchanged", lb().families(["IPv4"]), lb().families(["IPv4"]), false)]
#[case("appProtocol set", lb(), lb().app_protocol("http"), true)]
#[case("appProtocol changed", lb().app_protocol("http"), lb().app_protocol("tcp"), true)]
fn update_is_needed(#[case] name: &str, #[case] old: Builder, #[case] new: Builder, #[case] needed: bool) {
    assert_eq!(
        needs_update(&old.build(), &new.build(), &Classes::default()),
        needed,
        "{name}"
    );
}

fn affinity(seconds: i32) -> Builder {
    let client_ip = Some(ClientIPConfig {
        timeout_seconds: Some(seconds),
    });
    lb().spec(|spec| spec.session_affinity_config = Some(SessionAffinityConfig { client_ip }))
}

#[rstest]
#[case::neither_wants(cluster_ip("a"), cluster_ip("a").annotation("a", "b"), false)]
#[case::annotation(lb(), lb().annotation("a", "b"), true)]
#[case::source_ranges(lb(), lb().source_ranges(["10.0.0.0/8"]), true)]
#[case::affinity(lb(), lb().spec(|spec| spec.session_affinity = Some("ClientIP".into())), true)]
#[case::affinity_config(affinity(1), affinity(2), true)]
#[case::load_balancer_ip(lb(), lb().spec(|spec| spec.load_balancer_ip = Some("192.0.2.1".into())), true)]
#[case::port_name(lb(), lb().spec(|spec| spec.ports.iter_mut().flatten().for_each(|port| port.name = Some("x".into()))), true)]
#[case::port_order(lb().ports([port("TCP", 1), port("TCP", 2)]), lb().ports([port("TCP", 2), port("TCP", 1)]), true)]
#[case::nothing_or_empty(lb(), lb().external_ips([]).source_ranges([]), false)]
#[case::labels(lb(), lb().with(|service| service.metadata.labels = Some([("a".into(), "b".into())].into())), false)]
#[case::selector(lb(), lb().spec(|spec| spec.selector = Some([("a".into(), "b".into())].into())), false)]
#[case::status(lb(), lb().ingress_ip("192.0.2.1"), false)]
#[case::family_order(lb().families(["IPv4", "IPv6"]), lb().families(["IPv6", "IPv4"]), false)]
#[case::node_ports_wanted(lb(), lb().spec(|spec| spec.allocate_load_balancer_node_ports = Some(false)), false)]
fn update_is_needed_only_for_what_counts(#[case] old: Builder, #[case] new: Builder, #[case] needed: bool) {
    assert_eq!(needs_update(&old.build(), &new.build(), &Classes::default()), needed);
}

#[rstest]
#[case::status(lb(), lb().ingress_ip("192.0.2.1"), false)]
#[case::version(lb().version("1"), lb().version("2"), false)]
#[case::annotation(lb(), lb().annotation("a", "b"), true)]
#[case::deleted(lb(), lb().deleted(), true)]
#[case::finalizer(lb(), lb().finalizer(FINALIZER), true)]
#[case::spec(lb(), lb().spec(|spec| spec.ports = None), true)]
fn our_own_status_is_no_change(#[case] old: Builder, #[case] new: Builder, #[case] changed: bool) {
    assert_eq!(is_changed(&old.build(), &new.build()), changed);
}

// upstream: TestRequestsOnlyLocalTraffic
#[rstest]
#[case("empty", Service::default(), false)]
#[case("ClusterIP", of_type("a", "ClusterIP").build(), false)]
#[case("NodePort", of_type("a", "NodePort").build(), false)]
#[case("NodePort Cluster", node_port("a").traffic_policy("Cluster").build(), false)]
#[case("NodePort Local", node_port("a").traffic_policy("Local").build(), true)]
#[case("LB Cluster", lb().traffic_policy("Cluster").build(), false)]
#[case("LB Local", lb().traffic_policy("Local").build(), true)]
fn local_traffic(#[case] name: &str, #[case] service: Service, #[case] local: bool) {
    assert_eq!(requests_only_local_traffic(&service), local, "{name}");
}

// upstream: TestNeedsHealthCheck
#[rstest]
#[case("ClusterIP", cluster_ip("a"), false)]
#[case("NodePort Cluster", node_port("a").traffic_policy("Cluster"), false)]
#[case("NodePort Local", node_port("a").traffic_policy("Local"), false)]
#[case("LB Cluster", lb().traffic_policy("Cluster"), false)]
#[case("LB Local", lb().traffic_policy("Local"), true)]
fn health_check(#[case] name: &str, #[case] service: Builder, #[case] needed: bool) {
    assert_eq!(needs_health_check(&service.build()), needed, "{name}");
}

// upstream: TestHasLBFinalizer
#[rstest]
#[case("none", lb(), false)]
#[case("unrelated", lb().finalizer("unrelated"), false)]
#[case("exact", lb().finalizer(FINALIZER), true)]
#[case("with others", lb().finalizer(FINALIZER).finalizer("unrelated"), true)]
fn finalizer(#[case] name: &str, #[case] service: Builder, #[case] expected: bool) {
    assert_eq!(has_finalizer(&service.build()), expected, "{name}");
}
