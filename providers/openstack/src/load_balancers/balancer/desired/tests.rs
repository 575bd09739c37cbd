use super::*;
use crate::load_balancers::tests::objects::asked;
use rstest::rstest;
use serde_json::json;

// upstream: openstack 35
#[rstest]
#[case("TLS", "443 -> a; default-tls-container-ref=x/secrets/1", "TERMINATED_HTTPS")]
#[case("XFF", "80 -> a; x-forwarded-for=true", "HTTP")]
#[case(
    "both",
    "443 -> a; default-tls-container-ref=x/secrets/1 x-forwarded-for=true",
    "TERMINATED_HTTPS"
)]
#[case("TCP", "80 -> a", "TCP")]
#[case("UDP", "53/UDP -> a", "UDP")]
#[case("SCTP", "80/SCTP -> a", "SCTP")]
#[case(
    "UDP with TLS and XFF",
    "53/UDP -> a; default-tls-container-ref=x/secrets/1 x-forwarded-for=true",
    "UDP"
)]
fn listener_protocols(#[case] row: &str, #[case] wish: &str, #[case] expected: &str) {
    assert_eq!(asked(wish).desired().ports[0].listener.protocol, expected, "{row}");
}

// upstream: openstack 40
#[rstest]
#[case(
    "PROXY wins over TLS",
    "443 -> a; proxy-protocol=true default-tls-container-ref=x/secrets/1",
    "PROXY ROUND_ROBIN -"
)]
#[case("PROXYV2", "80 -> a; proxy-protocol=v2", "PROXYV2 ROUND_ROBIN -")]
#[case("HTTP listener → HTTP", "80 -> a; x-forwarded-for=true", "HTTP ROUND_ROBIN -")]
#[case(
    "TLS → HTTP",
    "443 -> a; default-tls-container-ref=x/secrets/1",
    "HTTP ROUND_ROBIN -"
)]
#[case(
    "UDP + XFF/TLS → UDP",
    "53/UDP -> a; x-forwarded-for=true default-tls-container-ref=x/secrets/1",
    "UDP ROUND_ROBIN -"
)]
#[case("UDP + PROXY → UDP", "53/UDP -> a; proxy-protocol=v1", "UDP ROUND_ROBIN -")]
#[case("affinity ClientIP → SOURCE_IP", "80 -> a; sticky", "TCP ROUND_ROBIN SOURCE_IP")]
#[case("affinity None → none", "80 -> a", "TCP ROUND_ROBIN -")]
#[case(
    "lb-method annotation overrides config",
    "80 -> a; lb-method=LEAST_CONNECTIONS @method=SOURCE_IP",
    "TCP LEAST_CONNECTIONS -"
)]
#[case("lb-method of the config", "80 -> a; @method=SOURCE_IP_PORT", "TCP SOURCE_IP_PORT -")]
fn pools(#[case] row: &str, #[case] wish: &str, #[case] expected: &str) {
    let pool = &asked(wish).desired().ports[0].pool;
    let persistence = pool
        .session_persistence
        .as_ref()
        .map_or("-", |persistence| persistence.kind.as_str());
    assert_eq!(
        format!("{} {} {persistence}", pool.protocol, pool.lb_algorithm),
        expected,
        "{row}"
    );
}

// upstream: openstack 41
#[rstest]
#[case("nodePort 0 → none", "80 -> a b; no-node-ports", "")]
#[case("two nodes → two", "80 -> a b", "a 10.0.0.97:30080, b 10.0.0.98:30080")]
#[case("node without address → skipped", "80 -> a@ b", "b 10.0.0.98:30080")]
#[case("node of the other family → skipped", "80 -> a@2001:db8::1 b", "b 10.0.0.98:30080")]
#[case("two nodes of one address → one", "80 -> a b@10.0.0.97", "a 10.0.0.97:30080")]
#[case(
    "health port of the monitor",
    "80 -> a; enable-health-monitor=true local=32000",
    "a 10.0.0.97:30080 ?32000"
)]
#[case("health port without monitor", "80 -> a; local=32000", "a 10.0.0.97:30080")]
#[case(
    "health port, ovn",
    "80 -> a; enable-health-monitor=true local=32000 @ovn",
    "a 10.0.0.97:30080"
)]
#[case("serial", "80 -> a; @serial", "member_a_10.0.0.97_30080 10.0.0.97:30080 anywhere")]
fn members(#[case] row: &str, #[case] wish: &str, #[case] expected: &str) {
    let one = |member: &NewMember| {
        let probed = member
            .monitor_port
            .flatten()
            .map_or_else(String::new, |port| format!(" ?{port}"));
        let subnet = match member.subnet_id.as_deref() {
            Some("subnet") => "",
            Some(other) => panic!("{row}: {other}"),
            None => " anywhere",
        };
        format!(
            "{} {}:{}{probed}{subnet}",
            member.name, member.address, member.protocol_port
        )
    };
    let desired = asked(wish).desired();
    let result: Vec<_> = desired.ports[0].members.iter().map(one).collect();
    assert_eq!(result.join(", "), expected, "{row}");
}

// upstream: openstack 44
#[rstest]
#[case("UDP+ovn → UDP-CONNECT", "53/UDP -> a; local=32000 @ovn", "UDP-CONNECT")]
#[case("TCP+ovn with health port → TCP", "80 -> a; local=32000 @ovn", "TCP")]
#[case("health port 0 → TCP", "80 -> a; local=0", "TCP")]
#[case(
    "TCP amphora with health port → HTTP GET /healthz 200",
    "80 -> a; local=32000",
    "HTTP GET /healthz 200"
)]
#[case(
    "UDP amphora with health port → HTTP GET /healthz 200",
    "53/UDP -> a; local=32000",
    "HTTP GET /healthz 200"
)]
#[case(
    "UDP amphora before 2.16 → UDP-CONNECT",
    "53/UDP -> a; local=32000 @version=15",
    "UDP-CONNECT"
)]
#[case("SCTP → SCTP", "80/SCTP -> a", "SCTP")]
#[case("policy Cluster → TCP", "80 -> a", "TCP")]
fn monitors(#[case] row: &str, #[case] wish: &str, #[case] expected: &str) {
    let mut wish = asked(wish);
    crate::load_balancers::tests::objects::annotate(&mut wish.spec, "enable-health-monitor", "true");
    let desired = wish.desired();
    let monitor = desired.ports[0].monitor.as_ref().unwrap();
    let words = [
        Some(monitor.kind),
        monitor.http_method,
        monitor.url_path,
        monitor.expected_codes,
    ];
    assert_eq!(
        words.into_iter().flatten().collect::<Vec<_>>().join(" "),
        expected,
        "{row}"
    );
}

// upstream: openstack 45
#[rstest]
#[case("plain", "80 -> a", json!({
    "name": "listener_0_kube_service_kubernetes_default_web", "protocol": "TCP", "protocol_port": 80, "connection_limit": -1,
    "timeout_client_data": 50000, "timeout_member_connect": 5000, "timeout_member_data": 50000, "timeout_tcp_inspect": 0,
    "tags": ["kube_service_kubernetes_default_web"], "allowed_cidrs": ["0.0.0.0/0"],
}))]
#[case("TLS+XFF → TERMINATED_HTTPS with header and ref", "443 -> a; default-tls-container-ref=x/secrets/1 x-forwarded-for=true @version=0", json!({
    "name": "listener_0_kube_service_kubernetes_default_web", "protocol": "TERMINATED_HTTPS", "protocol_port": 443,
    "connection_limit": -1, "insert_headers": {"X-Forwarded-For": "true"}, "default_tls_container_ref": "x/secrets/1",
}))]
#[case("TLS only", "443 -> a; default-tls-container-ref=x/secrets/1 @version=0", json!({
    "name": "listener_0_kube_service_kubernetes_default_web", "protocol": "TERMINATED_HTTPS", "protocol_port": 443,
    "connection_limit": -1, "default_tls_container_ref": "x/secrets/1",
}))]
#[case("allowed CIDRs passed when supported", "80 -> a; from=192.168.1.0/24,10.0.0.0/8 @version=12", json!({
    "name": "listener_0_kube_service_kubernetes_default_web", "protocol": "TCP", "protocol_port": 80, "connection_limit": -1,
    "timeout_client_data": 50000, "timeout_member_connect": 5000, "timeout_member_data": 50000, "timeout_tcp_inspect": 0,
    "tags": ["kube_service_kubernetes_default_web"], "allowed_cidrs": ["192.168.1.0/24", "10.0.0.0/8"],
}))]
#[case("XFF → HTTP", "80 -> a; x-forwarded-for=true @version=0", json!({
    "name": "listener_0_kube_service_kubernetes_default_web", "protocol": "HTTP", "protocol_port": 80,
    "connection_limit": -1, "insert_headers": {"X-Forwarded-For": "true"},
}))]
#[case("tags only when supported", "80 -> a; @ovn @version=4", json!({
    "name": "listener_0_kube_service_kubernetes_default_web", "protocol": "TCP", "protocol_port": 80, "connection_limit": -1,
}))]
fn listeners(#[case] row: &str, #[case] wish: &str, #[case] expected: serde_json::Value) {
    let listener = serde_json::to_value(&asked(wish).desired().ports[0].listener).unwrap();
    assert_eq!(listener, expected, "{row}");
}

#[test]
fn everything_is_created_in_one_call() {
    let wish = asked("80 53/UDP -> a; enable-health-monitor=true flavor-id=f availability-zone=z load-balancer-tags=x");
    let vip = NewVip {
        subnet: Some("s".into()),
        ..NewVip::default()
    };
    let body = serde_json::to_value(wish.with(|of| of.new_load_balancer(&wish.desired(), vip))).unwrap();
    let listener = &body["listeners"][1];
    assert_eq!(
        json!({
            "name": body["name"], "description": body["description"], "provider": body["provider"], "tags": body["tags"],
            "flavor": body["flavor_id"], "zone": body["availability_zone"], "subnet": body["vip_subnet_id"],
        }),
        json!({
            "name": "kube_service_kubernetes_default_web",
            "description": "Kubernetes external service default/web from cluster kubernetes",
            "provider": "amphora",
            "tags": ["kube_service_kubernetes_default_web", "x", "kubernetes_service_uid_uid"],
            "flavor": "f", "zone": "z", "subnet": "s",
        })
    );
    assert_eq!(
        listener["default_pool"],
        json!({
            "name": "pool_1_kube_service_kubernetes_default_web", "protocol": "UDP", "lb_algorithm": "ROUND_ROBIN",
            "members": [{"name": "a", "address": "10.0.0.97", "protocol_port": 30053, "subnet_id": "subnet"}],
            "healthmonitor": {
                "name": "monitor_1_kube_service_kubernetes_default_web", "type": "UDP-CONNECT",
                "delay": 5, "timeout": 3, "max_retries": 1, "max_retries_down": 3,
            },
        })
    );
}

#[rstest]
#[case::serial("80 -> a; @serial")]
#[case::ovn("80 -> a; @ovn")]
fn some_are_created_step_by_step(#[case] wish: &str) {
    let wish = asked(wish);
    let body = wish.with(|of| of.new_load_balancer(&wish.desired(), NewVip::default()));
    assert!(body.listeners.is_empty());
}

#[rstest]
#[case::own_family("80 -> a; from=10.0.0.0/8,2001:db8::/32", Ok("10.0.0.0/8"))]
#[case::everybody_is_everybody("80 -> a; from=::/0", Ok("0.0.0.0/0"))]
#[case::networks_not_addresses("80 -> a; from=10.1.2.3/8,10.0.0.0/8", Ok("10.0.0.0/8"))]
#[case::no_client("80 -> a; from=2001:db8::/32", Err("no client could connect"))]
#[case::unsupported("80 -> a; from=2001:db8::/32 @ovn", Ok(""))]
fn ranges_are_of_the_family_of_the_address(#[case] wish: &str, #[case] expected: Result<&str, &str>) {
    let wish = asked(wish);
    let result = wish.with(|of| of.desired(&wish.member_network()));
    match (result, expected) {
        (Ok(desired), Ok(ranges)) => assert_eq!(desired.ports[0].listener.allowed_cidrs.join(","), ranges),
        (Err(error), Err(why)) => assert!(error.to_string().contains(why), "{error}"),
        (result, _) => panic!("{result:?}"),
    }
}

/// UDP is not translated, and with ovn no protocol is.
#[rstest]
#[case::amphora("53 53/UDP -> a", &["10.0.0.97 subnet"])]
#[case::ovn("53 53/UDP -> a; @ovn", &["10.0.0.97 subnet", "2001:db8::1 subnet6"])]
fn members_are_of_each_family_that_the_load_balancer_has(#[case] wish: &str, #[case] of_tcp: &[&str]) {
    let mut wish = asked(wish);
    let mut host = (*wish.spec.hosts[0]).clone();
    host.addresses
        .push(cloud::Address::new(cloud::AddressKind::InternalIP, "2001:db8::1"));
    wish.spec.hosts = [Arc::new(host)].into();
    wish.spec.families = vec![IpFamily::V4, IpFamily::V6];
    let desired = wish.desired();
    let addresses = |port: usize| {
        desired.ports[port]
            .members
            .iter()
            .map(|member| format!("{} {}", member.address, member.subnet_id.as_deref().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    assert_eq!(addresses(0), of_tcp);
    assert_eq!(addresses(1), ["10.0.0.97 subnet", "2001:db8::1 subnet6"]);
}

/// Octavia refuses a 0; the Go program leaves it out.
#[test]
fn a_zero_of_a_monitor_is_not_sent() {
    let wish = asked("80 -> a; enable-health-monitor=true health-monitor-max-retries-down=0");
    let body = serde_json::to_value(wish.desired().ports[0].monitor.as_ref().unwrap()).unwrap();
    assert_eq!(
        body,
        json!({
            "name": "monitor_0_kube_service_kubernetes_default_web", "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1,
        })
    );
}

/// Another client gave the load balancer an address of a family that the Service does not have.
#[test]
fn members_are_of_the_families_of_the_service() {
    let mut wish = asked("53/UDP -> a");
    let mut host = (*wish.spec.hosts[0]).clone();
    host.addresses
        .push(cloud::Address::new(cloud::AddressKind::InternalIP, "2001:db8::1"));
    wish.spec.hosts = [Arc::new(host)].into();
    let member_network = MemberNetwork {
        families: vec![IpFamily::V4, IpFamily::V6],
        ..wish.member_network()
    };
    let desired = wish.with(|of| of.desired(&member_network)).unwrap();
    let addresses: Vec<_> = desired.ports[0].members.iter().map(|member| &member.address).collect();
    assert_eq!(addresses, ["10.0.0.97"]);
}

#[test]
fn no_ports_are_no_load_balancer() {
    let wish = asked(" -> a");
    assert!(matches!(
        wish.with(|of| of.desired(&wish.member_network())),
        Err(Error::Invalid { .. })
    ));
}
