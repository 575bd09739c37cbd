use super::*;
use crate::load_balancers::fixture::{config, spec};
use rstest::rstest;

fn with(annotations: &[(Annotation, &str)], traffic: TrafficPolicy) -> Spec {
    let mut spec = spec(&[80]);
    spec.traffic = traffic;
    for (row, value) in annotations {
        spec.annotations.insert(row.key.into(), (*value).into());
    }
    spec
}

const CLUSTER: TrafficPolicy = TrafficPolicy::Cluster;
const LOCAL: TrafficPolicy = TrafficPolicy::Local {
    health_check_port: Some(32000),
};

#[rstest]
#[case::default(&[], CLUSTER, "", "TCP traffic-port - 30 - 3 3")]
#[case::local(&[], LOCAL, "", "HTTP 32000 /healthz 10 - 2 2")]
#[case::shared(&[], CLUSTER, "Shared", "HTTP 10256 /healthz 30 - 3 3")]
#[case::shared_overrides_annotations(&[(key::HEALTHCHECK_PORT, "80"), (key::HEALTHCHECK_PROTOCOL, "tcp")], CLUSTER, "Shared", "HTTP 10256 /healthz 30 - 3 3")]
#[case::shared_leaves_local(&[], LOCAL, "Shared", "HTTP 32000 /healthz 10 - 2 2")]
#[case::tcp_override_on_local(&[(key::HEALTHCHECK_PROTOCOL, "TCP"), (key::HEALTHCHECK_PORT, "80")], LOCAL, "", "TCP 80 - 10 - 2 2")]
#[case::http_default_path(&[(key::HEALTHCHECK_PROTOCOL, "http")], CLUSTER, "", "HTTP traffic-port / 30 - 3 3")]
#[case::path(&[(key::HEALTHCHECK_PROTOCOL, "HTTPS"), (key::HEALTHCHECK_PATH, "/ok")], CLUSTER, "ServiceNodePort", "HTTPS traffic-port /ok 30 - 3 3")]
#[case::interval(&[(key::HEALTHCHECK_INTERVAL, "15")], CLUSTER, "", "TCP traffic-port - 15 - 3 3")]
#[case::timeout(&[(key::HEALTHCHECK_TIMEOUT, "6")], CLUSTER, "", "TCP traffic-port - 30 6 3 3")]
#[case::unequal_thresholds(&[(key::HEALTHCHECK_HEALTHY_THRESHOLD, "2"), (key::HEALTHCHECK_UNHEALTHY_THRESHOLD, "5")], CLUSTER, "", "TCP traffic-port - 30 - 2 5")]
#[case::empty_texts(&[(key::HEALTHCHECK_TIMEOUT, ""), (key::HEALTHCHECK_PROTOCOL, ""), (key::HEALTHCHECK_PORT, ""), (key::HEALTHCHECK_INTERVAL, "")], CLUSTER, "", "TCP traffic-port - 30 - 3 3")]
#[case::empty_path(&[(key::HEALTHCHECK_PATH, "")], LOCAL, "", "HTTP 32000 /healthz 10 - 2 2")]
#[case::bad_timeout(&[(key::HEALTHCHECK_TIMEOUT, "x")], CLUSTER, "", "is not a whole number")]
#[case::bad_port(&[(key::HEALTHCHECK_PORT, "http")], CLUSTER, "", "is neither a port nor")]
#[case::bad_protocol(&[(key::HEALTHCHECK_PROTOCOL, "UDP")], CLUSTER, "", "is not one of TCP, HTTP, HTTPS")]
#[case::bad_mode(&[], CLUSTER, "shared", "is neither ServiceNodePort nor Shared")]
fn groups(
    #[case] annotations: &[(Annotation, &str)],
    #[case] traffic: TrafficPolicy,
    #[case] mode: &str,
    #[case] expected: &str,
) {
    let config = config(&[("ClusterServiceLoadBalancerHealthProbeMode", mode)]);
    let text = match of_groups(&with(annotations, traffic), &config) {
        Ok(check) => {
            let GroupCheck {
                protocol,
                port,
                path,
                interval,
                timeout,
                healthy,
                unhealthy,
            } = check;
            let timeout = timeout.map_or("-".into(), |timeout| timeout.to_string());
            let path = path.unwrap_or("-".into());
            format!("{protocol} {port} {path} {interval} {timeout} {healthy} {unhealthy}")
        }
        Err(error) => error.to_string(),
    };
    assert!(
        text.ends_with(expected) || text.contains(expected) && text.starts_with("invalid"),
        "{text}"
    );
}

#[rstest]
#[case::defaults(&[], CLUSTER, "", "TCP:30080 10 5 2 6")]
#[case::local(&[], LOCAL, "", "HTTP:32000/healthz 10 5 2 6")]
#[case::local_on_the_traffic_port(&[(key::HEALTHCHECK_PORT, "traffic-port")], LOCAL, "", "HTTP:30080/healthz 10 5 2 6")]
#[case::shared(&[], CLUSTER, "Shared", "HTTP:10256/healthz 10 5 2 6")]
#[case::another_mode_is_ignored(&[], CLUSTER, "shared", "TCP:30080 10 5 2 6")]
#[case::https_backend(&[(key::BACKEND_PROTOCOL, "https")], CLUSTER, "", "SSL:30080 10 5 2 6")]
#[case::ssl_has_no_path(&[(key::BACKEND_PROTOCOL, "ssl"), (key::HEALTHCHECK_PATH, "/ok")], CLUSTER, "", "SSL:30080 10 5 2 6")]
#[case::all(&[(key::HEALTHCHECK_PORT, "8080"), (key::HEALTHCHECK_PROTOCOL, "HTTP"), (key::HEALTHCHECK_PATH, "/ok")], CLUSTER, "", "HTTP:8080/ok 10 5 2 6")]
#[case::http_default_path(&[(key::HEALTHCHECK_PROTOCOL, "HTTP")], CLUSTER, "", "HTTP:30080/ 10 5 2 6")]
#[case::numbers(&[(key::HEALTHCHECK_INTERVAL, "7"), (key::HEALTHCHECK_TIMEOUT, "3"), (key::HEALTHCHECK_HEALTHY_THRESHOLD, "4"), (key::HEALTHCHECK_UNHEALTHY_THRESHOLD, "5")], CLUSTER, "", "TCP:30080 7 3 4 5")]
#[case::empty_path(&[(key::HEALTHCHECK_PROTOCOL, "HTTP"), (key::HEALTHCHECK_PATH, "")], CLUSTER, "", "HTTP:30080/ 10 5 2 6")]
#[case::empty_texts(&[(key::HEALTHCHECK_PORT, ""), (key::HEALTHCHECK_PROTOCOL, ""), (key::HEALTHCHECK_INTERVAL, "")], CLUSTER, "", "TCP:30080 10 5 2 6")]
#[case::the_shared_check_has_no_traffic_port(&[(key::HEALTHCHECK_PORT, "traffic-port")], CLUSTER, "Shared", "HTTP:10256/healthz 10 5 2 6")]
#[case::small_interval(&[(key::HEALTHCHECK_INTERVAL, "4")], CLUSTER, "", "4 is less than 5")]
#[case::small_threshold(&[(key::HEALTHCHECK_HEALTHY_THRESHOLD, "1")], CLUSTER, "", "1 is less than 2")]
fn classic(
    #[case] annotations: &[(Annotation, &str)],
    #[case] traffic: TrafficPolicy,
    #[case] mode: &str,
    #[case] expected: &str,
) {
    let config = config(&[("ClusterServiceLoadBalancerHealthProbeMode", mode)]);
    let text = match of_classic(&with(annotations, traffic), &config) {
        Ok(check) => {
            let ClassicCheck {
                target,
                interval,
                timeout,
                healthy,
                unhealthy,
            } = check.unwrap();
            format!("{target} {interval} {timeout} {healthy} {unhealthy}")
        }
        Err(error) => error.to_string(),
    };
    assert!(text.ends_with(expected), "{text}");
}
