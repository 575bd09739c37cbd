//! Load balancers on the simulation: the warnings for the user.

use crate::fixture::Fixture;
use cloud::{Event, IpFamily, Noted, Port, Progress, Protocol, Provider as _, ServiceRef, Spec, TrafficPolicy};
use openstack_sim::Cloud;
use rstest::rstest;
use std::time::Duration;

const MISSING: &str = "LoadBalancerHealthMonitorMissing";

/// An internal Service `default/web` with this port.
fn service(protocol: Protocol) -> Spec {
    let port = Port {
        name: "web".into(),
        protocol,
        port: 80,
        node_port: Some(30_080),
        app_protocol: None,
    };
    Spec {
        cluster: "kubernetes".into(),
        service: ServiceRef {
            namespace: "default".into(),
            name: "web".into(),
            uid: "0b6c4ae6-21a5-4b8b-bd2e-8c3c2f1d5e11".into(),
        },
        annotations: [(
            "service.beta.kubernetes.io/openstack-internal-load-balancer".into(),
            "true".into(),
        )]
        .into(),
        ports: vec![port],
        source_ranges: vec!["0.0.0.0/0".parse().expect("a range")],
        families: vec![IpFamily::V4],
        ..Spec::default()
    }
}

/// Ensures until it is ready.
async fn warnings_when_ready(fixture: &Fixture, spec: &Spec) -> Vec<Event> {
    let balancers = fixture.provider.load_balancers().expect("load balancers");
    let ready = async {
        loop {
            let Noted { answer, notes } = balancers.ensure(spec).await.expect("an outcome");
            match answer {
                Progress::Done(_) => return notes.events,
                Progress::Pending { poll_after, .. } => tokio::time::sleep(poll_after).await,
            }
        }
    };
    let ready = tokio::time::timeout(Duration::from_mins(4), ready).await;
    ready.expect("a load balancer that becomes ready")
}

// With externalTrafficPolicy Local, traffic to nodes without Pods is lost, unless a monitor removes these nodes.
#[rstest]
#[case::local("local", Protocol::Tcp, "octavia", &[MISSING])]
#[case::local_without_port("local without port", Protocol::Tcp, "octavia", &[MISSING])]
#[case::local_udp("local", Protocol::Udp, "octavia", &[MISSING])]
#[case::local_with_monitor("local monitor", Protocol::Tcp, "octavia", &[])]
#[case::local_where_no_monitor_could_ask("local", Protocol::Tcp, "ovn", &[])]
#[case::cluster("cluster", Protocol::Tcp, "octavia", &[])]
#[tokio::test]
async fn lost_traffic_is_reported(
    #[case] policy: &str,
    #[case] protocol: Protocol,
    #[case] by: &str,
    #[case] expected: &[&str],
) {
    let cloud = Cloud::new();
    let net = cloud.create_network("private", "10.77.0.0/16");
    let fixture = Fixture::on(cloud, |config| {
        by.clone_into(&mut config.load_balancer.lb_provider);
        if by == "ovn" {
            "SOURCE_IP_PORT".clone_into(&mut config.load_balancer.lb_method);
        }
        config.load_balancer.networks.subnet_id = net.subnet.to_string();
    })
    .await;
    let mut spec = service(protocol);
    if policy.starts_with("local") {
        let health_check_port = (!policy.contains("without port")).then_some(32_000);
        spec.traffic = TrafficPolicy::Local { health_check_port };
    }
    if policy.contains("monitor") {
        let monitor = "loadbalancer.openstack.org/enable-health-monitor";
        spec.annotations.insert(monitor.into(), "true".into());
    }
    let warnings = warnings_when_ready(&fixture, &spec).await;
    let reasons: Vec<&str> = warnings.iter().map(|warning| warning.reason).collect();
    assert_eq!(reasons, expected);
    if let Some(warning) = warnings.first() {
        let parts = [
            "default/web",
            "traffic to nodes without one is lost",
            "enable-health-monitor",
        ];
        assert!(
            parts.iter().all(|part| warning.message.contains(part)),
            "{}",
            warning.message
        );
    }
    assert_eq!(fixture.cloud.unknown(), Vec::<String>::new());
    assert_eq!(fixture.cloud.unrecorded(), Vec::<String>::new());
}
