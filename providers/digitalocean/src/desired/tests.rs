use super::*;
use cloud::{Address, AddressKind, Host, ServiceRef};
use rstest::rstest;
use std::{collections::BTreeMap, sync::Arc};

const PREFIX: &str = "service.beta.kubernetes.io/do-loadbalancer-";

fn config() -> Config {
    Config::new(&[("DO_ACCESS_TOKEN", "t")].into_iter().collect()).unwrap()
}

/// `http-ports=80 tls-passthrough=true`: annotations without their prefix.
fn annotations(text: &str) -> BTreeMap<String, String> {
    let pairs = text
        .split_whitespace()
        .map(|pair| pair.split_once('=').expect("name=value"));
    pairs
        .map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned()))
        .collect()
}

/// `80 53/udp`: ports of the Service; node ports are 30000 above.
fn ports(text: &str) -> Vec<Port> {
    let port = |text: &str| {
        let (number, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
        let port = number.parse().unwrap();
        Port {
            name: text.to_owned(),
            protocol: match protocol {
                "udp" => Protocol::Udp,
                "sctp" => Protocol::Sctp,
                _ => Protocol::Tcp,
            },
            port,
            node_port: Some(30_000 + port),
            app_protocol: None,
        }
    };
    text.split_whitespace().map(port).collect()
}

/// `a:int4,ext4,ext6 b:`: nodes with kinds of addresses.
fn hosts(text: &str) -> Arc<[Arc<Host>]> {
    let host = |text: &str| {
        let (name, kinds) = text.split_once(':').expect("name:kinds");
        let address = |kind: &str| match kind {
            "int4" => Address::new(AddressKind::InternalIP, "10.0.0.1"),
            "int6" => Address::new(AddressKind::InternalIP, "fd00::1"),
            "ext4" => Address::new(AddressKind::ExternalIP, "192.0.2.1"),
            _ => Address::new(AddressKind::ExternalIP, "2001:db8::1"),
        };
        Arc::new(Host {
            name: name.to_owned(),
            addresses: kinds.split(',').filter(|kind| !kind.is_empty()).map(address).collect(),
            ..Host::default()
        })
    };
    text.split_whitespace().map(host).collect()
}

fn spec(ports_: &str, annotations_: &str) -> Spec {
    Spec {
        service: ServiceRef {
            uid: "8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e".into(),
            ..ServiceRef::default()
        },
        ports: ports(ports_),
        annotations: annotations(annotations_),
        hosts: hosts("n:int4,ext4,ext6"),
        source_ranges: vec!["0.0.0.0/0".parse().unwrap()],
        ..Spec::default()
    }
}

fn api() -> Api {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let metrics = cloud_http::Metrics::register(&prometheus::Registry::new()).unwrap();
    Api::new(config(), &(Arc::new(|| Ok(())) as cloud::Gate), &metrics).unwrap()
}

fn ask(spec: &Spec, certificate: Option<&str>, existing: Option<&LoadBalancer>) -> Result<Value> {
    let kind = kind(spec, &config(), existing)?;
    body(spec, &api(), kind, certificate, &[1, 2], existing).map(Value::Object)
}

/// An existing load balancer with this setting.
fn existing(field: &str, value: &str) -> LoadBalancer {
    let settings = json!({"type": NETWORK, field: value});
    LoadBalancer {
        id: "1".into(),
        status: "active".into(),
        settings: json::object(settings),
    }
}

/// The rules, or why there are none. The certificate is resolved before.
fn rules(ports: &str, annotations: &str) -> String {
    let mut spec = spec(ports, annotations);
    spec.annotations
        .entry(key::TYPE.key.to_owned())
        .or_insert_with(|| "REGIONAL".to_owned());
    let certificate = key::CERTIFICATE_ID.non_empty(&spec).map(str::to_owned);
    match ask(&spec, certificate.as_deref(), None) {
        Ok(request) => {
            let text = |rule: &Value| {
                let field = |name: &str| rule[name].as_str().unwrap_or_default();
                let certificate = match field("certificate_id") {
                    "" => String::new(),
                    id => format!(" by {id}"),
                };
                let through = if rule["tls_passthrough"] == true {
                    " through"
                } else {
                    ""
                };
                let (entry, target) = (field("entry_protocol"), field("target_protocol"));
                format!(
                    "{entry} {} > {target} {}{certificate}{through}",
                    rule["entry_port"], rule["target_port"]
                )
            };
            let rules = request["forwarding_rules"].as_array().unwrap();
            rules.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        Err(error) => error.to_string().replace(PREFIX, ""),
    }
}

#[rstest]
#[case::default_protocol("80", "", "tcp 80 > tcp 30080")]
#[case::tcp("80", "protocol=tcp", "tcp 80 > tcp 30080")]
#[case::http("80", "protocol=http", "http 80 > http 30080")]
#[case::unknown_protocol(
    "80",
    "protocol=ftp",
    "invalid annotation protocol: \"ftp\" is not one of tcp, http, https, http2, http3"
)]
#[case::udp("53/udp", "", "udp 53 > udp 30053")]
#[case::udp_whatever_the_default("53/udp", "protocol=http", "udp 53 > udp 30053")]
#[case::udp_whatever_the_list("53/udp", "http-ports=53", "udp 53 > udp 30053")]
#[case::tcp_and_udp("53 53/udp", "", "tcp 53 > tcp 30053, udp 53 > udp 30053")]
#[case::sctp("80/sctp", "", "invalid spec.ports: port 80: only TCP and UDP are supported")]
#[case::http_port("80 81", "http-ports=80", "http 80 > http 30080, tcp 81 > tcp 30081")]
#[case::http_ports("80 81", "http-ports=80,81", "http 80 > http 30080, http 81 > http 30081")]
#[case::http_port_beside_https(
    "80 443",
    "protocol=https http-ports=80 certificate-id=c",
    "http 80 > http 30080, https 443 > http 30443 by c"
)]
#[case::ports_that_are_none(
    "80",
    "http-ports=eighty",
    "invalid annotation http-ports: \"eighty\" is not a comma-separated list of port numbers"
)]
#[case::ports_of_no_service("80", "http-ports=90", "tcp 80 > tcp 30080")]
#[case::tls_with_certificate("443", "tls-ports=443 certificate-id=c", "https 443 > http 30443 by c")]
#[case::tls_through("443", "tls-ports=443 tls-passthrough=true", "https 443 > https 30443 through")]
#[case::tls_with_neither(
    "443",
    "tls-ports=443",
    "invalid annotation certificate-id: port 443 uses https: set this, or tls-passthrough"
)]
#[case::tls_with_both(
    "443",
    "tls-ports=443 tls-passthrough=true certificate-id=c",
    "invalid annotation tls-passthrough: it cannot be used together with a certificate"
)]
#[case::tls_on_many(
    "443 8443",
    "tls-ports=443,8443 certificate-id=c",
    "https 443 > http 30443 by c, https 8443 > http 38443 by c"
)]
#[case::tls_on_another(
    "443 8443",
    "tls-ports=8443 certificate-id=c",
    "tcp 443 > tcp 30443, https 8443 > http 38443 by c"
)]
#[case::https_by_default("80 443", "certificate-id=c", "tcp 80 > tcp 30080, https 443 > http 30443 by c")]
#[case::https_by_default_through("443", "tls-passthrough=true", "https 443 > https 30443 through")]
#[case::https_by_default_only_on_443("80", "certificate-id=c", "tcp 80 > tcp 30080")]
#[case::no_https_by_default_beside_http2("443", "http2-ports=443 certificate-id=c", "http2 443 > http 30443 by c")]
#[case::https_by_default_beside_other_http2(
    "443 444",
    "http2-ports=444 certificate-id=c",
    "https 443 > http 30443 by c, http2 444 > http 30444 by c"
)]
#[case::https_everywhere("80", "protocol=https certificate-id=c", "https 80 > http 30080 by c")]
#[case::https_everywhere_through("80", "protocol=https tls-passthrough=true", "https 80 > https 30080 through")]
#[case::https_everywhere_with_neither(
    "80",
    "protocol=https",
    "invalid annotation certificate-id: port 80 uses https: set this, or tls-passthrough"
)]
#[case::http2_with_certificate("80", "http2-ports=80 certificate-id=c", "http2 80 > http 30080 by c")]
#[case::http2_through("80", "http2-ports=80 tls-passthrough=true", "http2 80 > http2 30080 through")]
#[case::http2_with_neither(
    "80",
    "http2-ports=80",
    "invalid annotation certificate-id: port 80 uses http2: set this, or tls-passthrough"
)]
#[case::http2_everywhere("80", "protocol=http2 certificate-id=c", "http2 80 > http 30080 by c")]
#[case::http2_everywhere_through("80", "protocol=http2 tls-passthrough=true", "http2 80 > http2 30080 through")]
#[case::http2_and_https(
    "443 444",
    "http2-ports=444 tls-ports=443 certificate-id=c",
    "https 443 > http 30443 by c, http2 444 > http 30444 by c"
)]
#[case::passthrough_that_is_no_truth_is_ignored("443", "tls-passthrough=maybe", "tcp 443 > tcp 30443")]
#[case::twice_in_tls_and_http2(
    "443",
    "tls-ports=443 http2-ports=443 certificate-id=c",
    "invalid annotation tls-ports: port 443 is named twice in http-ports, tls-ports and http2-ports"
)]
#[case::twice_in_http_and_tls(
    "443",
    "tls-ports=443 http-ports=443 certificate-id=c",
    "invalid annotation tls-ports: port 443 is named twice in http-ports, tls-ports and http2-ports"
)]
#[case::twice_in_one(
    "443",
    "tls-ports=443,443 certificate-id=c",
    "invalid annotation tls-ports: port 443 is named twice in http-ports, tls-ports and http2-ports"
)]
#[case::http3(
    "443",
    "http3-port=443 certificate-id=c",
    "https 443 > http 30443 by c, http3 443 > http 30443 by c"
)]
#[case::http3_beside_http2(
    "443",
    "http3-port=443 http2-ports=443 certificate-id=c",
    "http2 443 > http 30443 by c, http3 443 > http 30443 by c"
)]
#[case::http3_without_certificate(
    "443",
    "http3-port=443",
    "invalid annotation http3-port: HTTP/3 needs a certificate, and no tls-passthrough"
)]
#[case::http3_through(
    "443",
    "http3-port=443 tls-passthrough=true",
    "invalid annotation http3-port: HTTP/3 needs a certificate, and no tls-passthrough"
)]
#[case::http3_on_no_port(
    "443",
    "http3-port=444 certificate-id=c",
    "invalid annotation http3-port: 444 is not a port of the Service"
)]
#[case::network_tcp("80 443", "type=REGIONAL_NETWORK", "tcp 80 > tcp 80, tcp 443 > tcp 443")]
#[case::network_udp("53/udp", "type=REGIONAL_NETWORK", "udp 53 > udp 53")]
#[case::network_ignores_protocols("443", "type=REGIONAL_NETWORK protocol=https tls-ports=443", "tcp 443 > tcp 443")]
#[case::network_sctp(
    "80/sctp",
    "type=REGIONAL_NETWORK",
    "invalid spec.ports: port 80: only TCP and UDP are supported"
)]
fn forwards(#[case] ports: &str, #[case] annotations: &str, #[case] expected: &str) {
    assert_eq!(rules(ports, annotations), expected);
}

#[test]
fn a_proxy_needs_node_ports_and_a_network_load_balancer_does_not() {
    let mut spec = spec("80", "type=REGIONAL");
    spec.ports[0].node_port = None;
    let error = ask(&spec, None, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "invalid spec.ports: port 80 has no node port: set spec.allocateLoadBalancerNodePorts"
    );
    spec.annotations.clear();
    let request = ask(&spec, None, None).unwrap();
    assert_eq!(request["forwarding_rules"][0]["target_port"], 80);
}

fn check(ports: &str, annotations: &str, traffic: TrafficPolicy) -> String {
    let spec = Spec {
        traffic,
        ..spec(ports, annotations)
    };
    match ask(&spec, None, None) {
        Ok(request) => {
            let check = &request["health_check"];
            let text = |name: &str| check[name].as_str().unwrap_or_default();
            let number = |name: &str| check[name].as_i64().unwrap();
            format!(
                "{} {} {} {}/{} {}/{} {:?}",
                text("protocol"),
                number("port"),
                text("path"),
                number("check_interval_seconds"),
                number("response_timeout_seconds"),
                number("unhealthy_threshold"),
                number("healthy_threshold"),
                check["proxy_protocol"].as_bool(),
            )
        }
        Err(error) => error.to_string().replace(PREFIX, ""),
    }
}

const CLUSTER: TrafficPolicy = TrafficPolicy::Cluster;
const LOCAL: TrafficPolicy = TrafficPolicy::Local {
    health_check_port: Some(31_000),
};

#[rstest]
#[case::kube_proxy("80", "", CLUSTER, "http 10256 /healthz 3/5 3/5 Some(false)")]
#[case::local("80", "", LOCAL, "http 31000 /healthz 3/5 3/5 Some(false)")]
#[case::ignored_without_override(
    "80",
    "healthcheck-path=/x healthcheck-protocol=tcp healthcheck-port=80",
    CLUSTER,
    "http 10256 /healthz 3/5 3/5 Some(false)"
)]
#[case::numbers(
    "80",
    "healthcheck-check-interval-seconds=10 healthcheck-response-timeout-seconds=11 healthcheck-unhealthy-threshold=2 healthcheck-healthy-threshold=4",
    CLUSTER,
    "http 10256 /healthz 10/11 2/4 Some(false)"
)]
#[case::no_number(
    "80",
    "healthcheck-healthy-threshold=x",
    CLUSTER,
    "invalid annotation healthcheck-healthy-threshold: \"x\" is not a whole number of at least 0"
)]
#[case::override_alone("80", "override-health-check=false", CLUSTER, "tcp 30080  3/5 3/5 None")]
#[case::override_local("80", "override-health-check=", LOCAL, "tcp 30080  3/5 3/5 None")]
#[case::override_path(
    "80",
    "override-health-check=1 healthcheck-path=/x",
    CLUSTER,
    "http 30080 /x 3/5 3/5 None"
)]
#[case::override_protocol(
    "80",
    "override-health-check=1 healthcheck-protocol=https healthcheck-path=/x",
    CLUSTER,
    "https 30080 /x 3/5 3/5 None"
)]
#[case::override_empty_protocol(
    "80",
    "override-health-check=1 healthcheck-protocol=",
    CLUSTER,
    "tcp 30080  3/5 3/5 None"
)]
#[case::override_bad_protocol(
    "80",
    "override-health-check=1 healthcheck-protocol=udp",
    CLUSTER,
    "invalid annotation healthcheck-protocol: \"udp\" is not one of tcp, http, https"
)]
#[case::override_port(
    "80 81",
    "override-health-check=1 healthcheck-port=81",
    CLUSTER,
    "tcp 30081  3/5 3/5 None"
)]
#[case::override_unknown_port(
    "80",
    "override-health-check=1 healthcheck-port=81",
    CLUSTER,
    "invalid annotation healthcheck-port: 81 is not a port of the Service"
)]
#[case::override_several_ports(
    "80 81",
    "override-health-check=1 healthcheck-port=80,81",
    CLUSTER,
    "invalid annotation healthcheck-port: only one port can be checked"
)]
#[case::override_udp_port(
    "80 53/udp",
    "override-health-check=1 healthcheck-port=53",
    CLUSTER,
    "invalid annotation healthcheck-port: port 53 is not a TCP port"
)]
#[case::override_first_tcp_port("53/udp 80", "override-health-check=1", CLUSTER, "tcp 30080  3/5 3/5 None")]
#[case::override_no_tcp_port(
    "53/udp",
    "override-health-check=1",
    CLUSTER,
    "invalid annotation healthcheck-port: the Service has no TCP port to check"
)]
fn checks_health(
    #[case] ports: &str,
    #[case] annotations: &str,
    #[case] traffic: TrafficPolicy,
    #[case] expected: &str,
) {
    assert_eq!(check(ports, annotations, traffic), expected);
}

#[rstest]
#[case::both("type=REGIONAL", "a:int4,ext4 b:int4,ext4", "a b")]
#[case::regional_by_internal("type=REGIONAL", "a:int4", "a")]
#[case::regional_v6_only("type=REGIONAL", "a:int6,ext6 b:int4", "b")]
#[case::regional_none("type=REGIONAL", "a: b:int6", "invalid nodes: no ready nodes available")]
#[case::regional_no_nodes("type=REGIONAL", "", "invalid nodes: no ready nodes available")]
#[case::network_external("", "a:int4,ext4 b:int4 c:ext6", "a")]
#[case::network_both_families("", "a:int4,ext4,ext6", "a")]
#[case::network_waiting(
    "",
    "a:int4",
    "invalid nodes: an EXTERNAL REGIONAL_NETWORK load balancer needs nodes with an ExternalIP, and a has none"
)]
#[case::network_many_waiting(
    "",
    "a:int4 b:int4 c:int4 d:int4 e:int4",
    "invalid nodes: an EXTERNAL REGIONAL_NETWORK load balancer needs nodes with an ExternalIP, and a, b, c and 2 more have none"
)]
#[case::network_none("", "a: b:int6", "invalid nodes: no ready nodes available")]
#[case::internal_all("network=INTERNAL", "a: b:int6 c:int4", "a b c")]
#[case::internal_none("network=INTERNAL", "", "invalid nodes: no ready nodes available")]
fn usable_nodes(#[case] annotations: &str, #[case] nodes: &str, #[case] expected: &str) {
    let spec = Spec {
        hosts: hosts(nodes),
        ..spec("80", annotations)
    };
    let kind = kind(&spec, &config(), None).unwrap();
    let result = match usable(&spec, kind, network(&spec, None).unwrap()) {
        Ok(hosts) => hosts
            .iter()
            .map(|host| host.name.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        Err(error) => error.to_string(),
    };
    assert_eq!(result, expected);
}

#[rstest]
#[case::regional("type=REGIONAL", "a:int4", None, "DUALSTACK")]
#[case::regional_v4("type=REGIONAL network-stack=IPV4", "a:int4", None, "IPV4")]
#[case::regional_both("type=REGIONAL network-stack=DUALSTACK", "a:int4", None, "DUALSTACK")]
#[case::internal("type=REGIONAL network=INTERNAL", "a:int4", None, "IPV4")]
#[case::internal_network("network=INTERNAL", "a:int4,ext4,ext6", None, "IPV4")]
#[case::internal_v4("network=INTERNAL network-stack=IPV4", "a:int4", None, "IPV4")]
#[case::internal_both(
    "network=INTERNAL network-stack=DUALSTACK",
    "a:int4",
    None,
    "invalid annotation network-stack: an INTERNAL load balancer cannot be DUALSTACK"
)]
#[case::network_both("", "a:ext4,ext6 b:ext4,ext6", None, "DUALSTACK")]
#[case::network_v4("", "a:ext4 b:ext4", None, "IPV4")]
#[case::network_mixed("", "a:ext4,ext6 b:ext4", None, "IPV4")]
#[case::network_unusable_do_not_count("", "a:ext4,ext6 b:int4", None, "DUALSTACK")]
#[case::network_asked_v4("network-stack=IPV4", "a:ext4,ext6", None, "IPV4")]
#[case::network_asked_both("network-stack=DUALSTACK", "a:ext4,ext6", None, "DUALSTACK")]
#[case::network_asked_both_of_one(
    "network-stack=DUALSTACK",
    "a:ext4,ext6 b:ext4",
    None,
    "invalid annotation network-stack: a REGIONAL_NETWORK load balancer can be DUALSTACK only if every node has an IPv6 ExternalIP, and b has none"
)]
#[case::network_asked_both_of_many(
    "network-stack=DUALSTACK",
    "a:ext4 b:ext4 c:ext4 d:ext4",
    None,
    "invalid annotation network-stack: a REGIONAL_NETWORK load balancer can be DUALSTACK only if every node has an IPv6 ExternalIP, and a, b, c and 1 more have none"
)]
#[case::existing_keeps_its_own("", "a:ext4 b:ext4", Some("DUALSTACK"), "DUALSTACK")]
#[case::existing_that_shows_none("", "a:ext4", Some(""), "none")]
#[case::existing_v4("", "a:ext4,ext6", Some("IPV4"), "IPV4")]
#[case::existing_asked_for_another("network-stack=IPV4", "a:ext4,ext6", Some("DUALSTACK"), "DUALSTACK")]
#[case::unknown(
    "network-stack=IPV6",
    "a:ext4",
    None,
    "invalid annotation network-stack: \"IPV6\" is not one of IPV4, DUALSTACK"
)]
fn network_stacks(
    #[case] annotations: &str,
    #[case] nodes: &str,
    #[case] existing_stack: Option<&str>,
    #[case] expected: &str,
) {
    let spec = Spec {
        hosts: hosts(nodes),
        ..spec("80", annotations)
    };
    let existing = existing_stack.map(|stack| existing("network_stack", stack));
    let result = match ask(&spec, None, existing.as_ref()) {
        Ok(request) => request["network_stack"].as_str().unwrap_or("none").to_owned(),
        Err(error) => error.to_string().replace(PREFIX, ""),
    };
    assert_eq!(result, expected);
}

#[rstest]
#[case::default_type("", None, "REGIONAL_NETWORK")]
#[case::empty("type=", None, "REGIONAL_NETWORK")]
#[case::asked("type=REGIONAL", None, "REGIONAL")]
#[case::unknown(
    "type=GLOBAL",
    None,
    "invalid annotation type: \"GLOBAL\" is not one of REGIONAL, REGIONAL_NETWORK"
)]
#[case::existing_keeps_its_own("", Some("REGIONAL"), "REGIONAL")]
#[case::existing_from_before_there_were_types("", Some(""), "REGIONAL")]
#[case::existing_asked_for_another(
    "type=REGIONAL",
    Some("REGIONAL_NETWORK"),
    "invalid annotation type: the load balancer exists with type REGIONAL_NETWORK, which cannot change; delete the Service and create it again"
)]
fn types(#[case] annotations: &str, #[case] existing_type: Option<&str>, #[case] expected: &str) {
    let existing = existing_type.map(|kind| existing("type", kind));
    let result = kind(&spec("80", annotations), &config(), existing.as_ref()).map(str::to_owned);
    assert_eq!(
        result.unwrap_or_else(|error| error.to_string().replace(PREFIX, "")),
        expected
    );
}

/// A part of the body, as JSON.
fn part(pointer: &str, spec: &Spec) -> String {
    match ask(spec, None, None) {
        Ok(body) => body
            .pointer(pointer)
            .map_or_else(|| "absent".to_owned(), ToString::to_string),
        Err(error) => error.to_string().replace(PREFIX, ""),
    }
}

#[rstest]
#[case("", "/name", "\"a8c4d4a2e0b0c4f5e9a5d2d9a6f1b7c3\"")]
#[case("name=mine", "/name", "\"mine\"")]
#[case("", "/size", "absent")]
#[case("", "/size_unit", "absent")]
#[case("size-slug=lb-small", "/size", "\"lb-small\"")]
#[case(
    "size-slug=huge",
    "/size",
    "invalid annotation size-slug: \"huge\" is not one of lb-small, lb-medium, lb-large"
)]
#[case("size-unit=3", "/size_unit", "3")]
#[case("size-unit=", "/size_unit", "absent")]
#[case(
    "size-unit=-1",
    "/size_unit",
    "invalid annotation size-unit: \"-1\" is not a whole number from 0 to 200"
)]
#[case(
    "size-unit=3 size-slug=lb-small",
    "/size",
    "invalid annotation size-unit: it cannot be used together with size-slug"
)]
#[case("", "/algorithm", "\"round_robin\"")]
#[case("algorithm=least_connections", "/algorithm", "\"least_connections\"")]
#[case("algorithm=other", "/algorithm", "\"round_robin\"")]
#[case("", "/sticky_sessions", r#"{"type":"none"}"#)]
#[case("sticky-sessions-type=other", "/sticky_sessions", r#"{"type":"none"}"#)]
#[case(
    "sticky-sessions-type=cookies sticky-sessions-cookie-name=c sticky-sessions-cookie-ttl=300",
    "/sticky_sessions",
    r#"{"cookie_name":"c","cookie_ttl_seconds":300,"type":"cookies"}"#
)]
#[case(
    "sticky-sessions-type=cookies sticky-sessions-cookie-ttl=300",
    "/sticky_sessions",
    "invalid annotation sticky-sessions-cookie-name: sticky sessions with cookies need it"
)]
#[case(
    "sticky-sessions-type=cookies sticky-sessions-cookie-name=c",
    "/sticky_sessions",
    "invalid annotation sticky-sessions-cookie-ttl: sticky sessions with cookies need it"
)]
#[case("", "/redirect_http_to_https", "false")]
#[case("redirect-http-to-https=T", "/redirect_http_to_https", "true")]
#[case(
    "redirect-http-to-https=yes",
    "/redirect_http_to_https",
    "invalid annotation redirect-http-to-https: \"yes\" is not \"true\" or \"false\""
)]
#[case("enable-proxy-protocol=1", "/enable_proxy_protocol", "true")]
#[case("enable-backend-keepalive=true", "/enable_backend_keepalive", "true")]
#[case("", "/disable_lets_encrypt_dns_records", "false")]
#[case("disable-lets-encrypt-dns-records=true", "/disable_lets_encrypt_dns_records", "true")]
#[case("", "/http_idle_timeout_seconds", "absent")]
#[case("http-idle-timeout-seconds=90", "/http_idle_timeout_seconds", "90")]
#[case(
    "http-idle-timeout-seconds=-1",
    "/http_idle_timeout_seconds",
    "invalid annotation http-idle-timeout-seconds: \"-1\" is not a whole number of at least 0"
)]
#[case("", "/network", "\"EXTERNAL\"")]
#[case("network=INTERNAL", "/network", "\"INTERNAL\"")]
#[case(
    "network=PRIVATE",
    "/network",
    "invalid annotation network: \"PRIVATE\" is not one of EXTERNAL, INTERNAL"
)]
#[case("", "/subnet_uuid", "absent")]
#[case("subnet-uuid=s", "/subnet_uuid", "\"s\"")]
#[case("", "/firewall", r#"{"allow":[],"deny":[]}"#)]
#[case(
    "allow-rules=ip:1.2.3.4,cidr:10.0.0.0/8 deny-rules=ip:5.6.7.8",
    "/firewall",
    r#"{"allow":["ip:1.2.3.4","cidr:10.0.0.0/8"],"deny":["ip:5.6.7.8"]}"#
)]
#[case("", "/droplet_ids", "[1,2]")]
#[case("", "/type", "\"REGIONAL_NETWORK\"")]
fn bodies(#[case] annotations: &str, #[case] pointer: &str, #[case] expected: &str) {
    assert_eq!(part(pointer, &spec("80", annotations)), expected);
}

#[test]
fn the_ranges_of_the_service_win_over_the_annotation() {
    let ranges = vec!["192.0.2.0/24".parse().unwrap(), "2001:db8::/32".parse().unwrap()];
    let spec = Spec {
        source_ranges: ranges,
        ranges_from: RangesFrom::Spec,
        ..spec("80", "allow-rules=ip:1.2.3.4")
    };
    assert_eq!(
        part("/firewall", &spec),
        r#"{"allow":["cidr:192.0.2.0/24","cidr:2001:db8::/32"],"deny":[]}"#
    );
}
