//! Services of all kinds.

use k8s_openapi::api::core::v1::ServicePort;
use lab::aws::Fixture;
use serde_json::{Map, Value, json};
use testkit::service::{Builder, load_balancer, port};

const PREFIX: &str = "service.beta.kubernetes.io/aws-load-balancer-";
const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// Services with a classic load balancer.
pub fn classic(aws: &Fixture<'_>) -> Vec<Builder> {
    let certificate = aws.certificate.as_str();
    let subnet = aws.public[1].id.as_str();
    vec![
        load_balancer("c-plain"),
        annotated("c-internal", &[("internal", "true")]),
        annotated("c-public", &[("internal", "false")]),
        annotated("c-proxied", &[("proxy-protocol", "*")]),
        annotated(
            "c-drained",
            &[
                ("connection-draining-enabled", "true"),
                ("connection-draining-timeout", "42"),
            ],
        ),
        annotated(
            "c-idle",
            &[
                ("connection-idle-timeout", "90"),
                ("cross-zone-load-balancing-enabled", "true"),
            ],
        ),
        annotated("c-tagged", &[("additional-resource-tags", "team=a,empty=,alone")]),
        annotated(
            "c-checked",
            &[
                ("healthcheck-interval", "20"),
                ("healthcheck-timeout", "7"),
                ("healthcheck-healthy-threshold", "3"),
            ],
        ),
        annotated(
            "c-checked-http",
            &[
                ("healthcheck-protocol", "HTTP"),
                ("healthcheck-path", "/ready"),
                ("healthcheck-port", "8080"),
            ],
        ),
        annotated(
            "c-secure",
            &[
                ("ssl-cert", certificate),
                ("backend-protocol", "http"),
                ("ssl-ports", "443"),
            ],
        )
        .ports([named("http", 80), named("https", 443)]),
        annotated(
            "c-secure-all",
            &[
                ("ssl-cert", certificate),
                ("ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01"),
            ],
        )
        .ports([named("https", 443)]),
        annotated("c-subnet", &[("subnets", subnet)]),
        annotated(
            "c-chosen",
            &[("target-node-labels", "topology.kubernetes.io/zone=us-east-1a")],
        ),
        load_balancer("c-local").traffic_policy("Local"),
        load_balancer("c-ranges").source_ranges(["10.1.0.0/16", "192.0.2.0/24"]),
        load_balancer("c-ranges-annotated").annotation(RANGES, "10.1.0.0/16, 192.0.2.0/24"),
        load_balancer("c-many").ports([80, 443, 8080].map(|number| named(&format!("p{number}"), number))),
        annotated(
            "c-logged",
            &[
                ("access-log-enabled", "true"),
                ("access-log-emit-interval", "5"),
                ("access-log-s3-bucket-name", "logs"),
                ("access-log-s3-bucket-prefix", "lb"),
            ],
        ),
    ]
}

/// Services with a network load balancer.
pub fn network(aws: &Fixture<'_>) -> Vec<Builder> {
    let certificate = aws.certificate.as_str();
    let subnets = format!("{}, {}", aws.private[0].id, aws.private[2].id);
    vec![
        nlb("n-plain", &[]),
        nlb("n-internal", &[("internal", "true")]),
        nlb("n-cross", &[("cross-zone-load-balancing-enabled", "true")]),
        nlb("n-tagged", &[("additional-resource-tags", "team=a,empty=")]),
        nlb(
            "n-secure",
            &[
                ("ssl-cert", certificate),
                ("ssl-ports", "https"),
                ("ssl-negotiation-policy", "ELBSecurityPolicy-TLS13-1-2-2021-06"),
            ],
        )
        .ports([named("http", 80), named("https", 443)]),
        nlb(
            "n-secure-behind",
            &[("ssl-cert", certificate), ("backend-protocol", "ssl")],
        )
        .ports([named("https", 443)]),
        nlb(
            "n-checked",
            &[
                ("healthcheck-protocol", "HTTP"),
                ("healthcheck-path", "/ready"),
                ("healthcheck-port", "8080"),
                ("healthcheck-interval", "10"),
            ],
        ),
        nlb(
            "n-thresholds",
            &[
                ("healthcheck-healthy-threshold", "4"),
                ("healthcheck-unhealthy-threshold", "4"),
            ],
        ),
        nlb(
            "n-attributes",
            &[(
                "target-group-attributes",
                "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true",
            )],
        ),
        nlb("n-subnets", &[("internal", "true"), ("subnets", &subnets)]),
        nlb(
            "n-chosen",
            &[("target-node-labels", "topology.kubernetes.io/zone=us-east-1b")],
        ),
        nlb("n-local", &[]).traffic_policy("Local"),
        nlb("n-ranges", &[]).source_ranges(["10.1.0.0/16", "192.0.2.0/24"]),
        nlb("n-datagrams", &[]).ports([port("UDP", 514)]),
        nlb("n-many", &[]).ports([80, 443, 8080].map(|number| named(&format!("p{number}"), number))),
    ]
}

/// Services that neither program serves.
pub fn foreign() -> Vec<Builder> {
    vec![
        annotated("f-external", &[("type", "external")]),
        annotated("f-nlb-ip", &[("type", "nlb-ip")]),
        load_balancer("f-class").class("example.com/other"),
    ]
}

/// What users change later: a patch for each of these Services.
pub fn changes() -> Vec<(&'static str, Value)> {
    let annotate = |pairs: &[(&str, Value)]| {
        let keyed = pairs
            .iter()
            .map(|(key, value)| (format!("{PREFIX}{key}"), value.clone()));
        json!({"metadata": {"annotations": keyed.collect::<Map<_, _>>()}})
    };
    let ports = |first: usize, numbers: &[i32]| {
        let all = numbers.iter().enumerate().map(|(n, number)| {
            json!({"name": format!("p{number}"), "protocol": "TCP", "port": number, "nodePort": first + n})
        });
        json!({"spec": {"ports": all.collect::<Vec<_>>()}})
    };
    vec![
        ("c-plain", ports(31_000, &[80, 81])),
        ("c-proxied", annotate(&[("proxy-protocol", Value::Null)])),
        ("c-drained", annotate(&[("connection-draining-timeout", json!("50"))])),
        ("c-idle", annotate(&[("connection-idle-timeout", json!("100"))])),
        ("c-checked", annotate(&[("healthcheck-interval", json!("25"))])),
        (
            "c-ranges",
            json!({"spec": {"loadBalancerSourceRanges": ["10.2.0.0/16"]}}),
        ),
        ("c-many", ports(31_010, &[443, 8081])),
        ("c-local", json!({"spec": {"externalTrafficPolicy": "Cluster"}})),
        ("n-plain", ports(31_020, &[80, 81])),
        (
            "n-cross",
            annotate(&[("cross-zone-load-balancing-enabled", json!("false"))]),
        ),
        ("n-checked", annotate(&[("healthcheck-interval", json!("30"))])),
        ("n-many", ports(31_030, &[443, 8081])),
        (
            "n-chosen",
            annotate(&[("target-node-labels", json!("topology.kubernetes.io/zone=us-east-1c"))]),
        ),
    ]
}

/// What users delete.
pub const DELETED: [&str; 4] = ["c-internal", "c-secure", "n-internal", "n-secure"];

/// With the same node ports in both clusters, which are random otherwise.
pub fn numbered(services: Vec<Builder>) -> Vec<Builder> {
    let number = |(first, service): (i32, Builder)| {
        service.spec(|spec| {
            for (port, number) in spec.ports.iter_mut().flatten().zip(first..) {
                port.node_port = Some(number);
            }
            if spec.external_traffic_policy.as_deref() == Some("Local") {
                spec.health_check_node_port = Some(first + 9);
            }
        })
    };
    (30_000..).step_by(10).zip(services).map(number).collect()
}

fn nlb(name: &str, annotations: &[(&str, &str)]) -> Builder {
    annotated(name, annotations).annotation(&format!("{PREFIX}type"), "nlb")
}

fn annotated(name: &str, annotations: &[(&str, &str)]) -> Builder {
    annotations.iter().fold(load_balancer(name), |service, (key, value)| {
        service.annotation(&format!("{PREFIX}{key}"), value)
    })
}

fn named(name: &str, number: i32) -> ServicePort {
    ServicePort {
        name: Some(name.to_owned()),
        ..port("TCP", number)
    }
}
