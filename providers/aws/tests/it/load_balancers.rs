//! Load balancers from their creation to their deletion.

use crate::fixture::{Lab, TYPE, balancers, delete, ensure, host, open};
use cloud::{Error, Progress, Spec, TrafficPolicy};
use rstest::rstest;
use std::sync::Arc;

const PREFIX: &str = "service.beta.kubernetes.io/aws-load-balancer-";

/// The lines that begin with one of these words.
async fn lines(lab: &Lab, words: &[&str]) -> Vec<String> {
    let mut lines = lab.snapshot().await;
    lines.retain(|line| words.iter().any(|word| line.starts_with(word)));
    lines
}

#[rstest]
#[case::network("nlb", &["DescribeLoadBalancers", "DescribeTargetGroups"])]
#[case::classic("", &["DescribeLoadBalancers"])]
#[tokio::test]
async fn matching_objects_are_not_written_and_rarely_read_after_a_restart(#[case] kind: &str, #[case] own: &[&str]) {
    let lab = Lab::start().await;
    let provider = lab.provider();
    let mut specs: Vec<Spec> = (0..6)
        .map(|number| lab.service(&format!("s{number}"), kind, &[80 + number]))
        .collect();
    for spec in &mut specs {
        ensure(&provider, spec).await.unwrap();
    }
    let before = lab.snapshot().await;
    let (restarted, mark) = (lab.provider(), lab.mark());
    for spec in &mut specs {
        let annotations = spec.annotations.clone();
        ensure(&restarted, spec).await.unwrap();
        assert_eq!(spec.annotations, annotations);
    }
    let (writes, mut reads) = lab.actions(mark);
    assert_eq!((writes, lab.snapshot().await), (vec![], before));
    reads.sort();
    let shared = [
        "DescribeAvailabilityZones",
        "DescribeInstances",
        "DescribeRouteTables",
        "DescribeSecurityGroups",
        "DescribeSubnets",
    ];
    let mut expected: Vec<&str> = shared.iter().chain(own).copied().collect();
    expected.sort_unstable();
    assert_eq!(reads, expected, "one call for all Services, whatever their number");

    // As the Go program leaves them: without a record.
    let (third, mark) = (lab.provider(), lab.mark());
    for spec in &mut specs {
        spec.annotations.retain(|key, _| key == TYPE);
        ensure(&third, spec).await.unwrap();
    }
    assert_eq!(
        lab.actions(mark).0,
        [""; 0],
        "what was created by another program is not written"
    );
    lab.check_calls().await;
}

#[tokio::test]
async fn a_network_load_balancer_follows_its_service() {
    let lab = Lab::start().await;
    let provider = lab.provider();
    let mut spec = lab.service("web", "nlb", &[80]);
    ensure(&provider, &mut spec).await.unwrap();
    let name = cloud::default_name(&spec.service.uid);
    assert!(
        spec.status.ingress[0]
            .hostname
            .as_deref()
            .is_some_and(|host| host.contains(&name)),
        "{:?}",
        spec.status
    );
    assert_eq!(
        lines(&lab, &["listener", "group", "nodes"]).await,
        [
            "group k8s-default-web-ac11a8a80f TCP:30080 check TCP:traffic-port targets n0 n1",
            "listener TCP 80 -> k8s-default-web-ac11a8a80f",
            "nodes:",
            "nodes: icmp 3-4 from 0.0.0.0/0 kubernetes.io/rule/nlb/mtu",
            &format!("nodes: tcp 30080-30080 from 0.0.0.0/0 kubernetes.io/rule/nlb/client={name}"),
        ]
    );
    // The health check needs rules of its own, and then not any more.
    spec.traffic = TrafficPolicy::Local {
        health_check_port: Some(32000),
    };
    ensure(&provider, &mut spec).await.unwrap();
    let health = lines(&lab, &["nodes: tcp 32000"]).await;
    assert_eq!(health.len(), 3, "one for each subnet: {health:?}");
    assert!(lines(&lab, &["group"]).await[0].contains("check HTTP:32000"));
    spec.traffic = TrafficPolicy::Cluster;
    ensure(&provider, &mut spec).await.unwrap();
    assert_eq!(lines(&lab, &["nodes: tcp 32000"]).await, [""; 0]);
    // TLS and IPv6.
    spec.annotations
        .insert(format!("{PREFIX}ssl-cert"), lab.aws.certificate.clone());
    spec.source_ranges.push("2001:db8::/32".parse().unwrap());
    ensure(&provider, &mut spec).await.unwrap();
    assert_eq!(
        lines(&lab, &["listener"]).await,
        ["listener TLS 80 -> k8s-default-web-ac11a8a80f"]
    );
    let v6 = format!("nodes: tcp 30080-30080 from 2001:db8::/32 kubernetes.io/rule/nlb/client={name}");
    assert!(lab.rules().await.contains(&v6));
    // Tags reach the listener, too.
    spec.annotations
        .insert(format!("{PREFIX}additional-resource-tags"), "team=a".into());
    ensure(&provider, &mut spec).await.unwrap();
    assert_eq!(lab.tagged("team").await, ["listener", "loadbalancer", "targetgroup"]);
    // A node leaves.
    spec.hosts = [Arc::new(host(&lab.nodes[1]))].into();
    ensure(&provider, &mut spec).await.unwrap();
    assert!(lines(&lab, &["group"]).await[0].ends_with("targets n1"));
    lab.check_calls().await;
}

#[rstest]
#[case::to_network("", "nlb", "classic")]
#[case::to_classic("nlb", "", "network")]
#[tokio::test]
async fn another_kind_is_refused_and_both_are_looked_for_at_deletion(
    #[case] before: &str,
    #[case] after: &str,
    #[case] present: &str,
) {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    let provider = lab.provider();
    let mut spec = lab.service("web", before, &[80]);
    ensure(&provider, &mut spec).await.unwrap();
    spec.annotations.insert(TYPE.into(), after.into());
    let error = ensure(&provider, &mut spec).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    assert!(
        error.to_string().contains(&format!("has a {present} load balancer")),
        "{error}"
    );
    delete(&provider, &mut spec).await.unwrap();
    assert_eq!(lab.snapshot().await, nothing);
}

#[rstest]
#[case::external("external")]
#[case::ip("nlb-ip")]
#[tokio::test]
async fn services_of_another_controller_are_left_alone(#[case] kind: &str) {
    let lab = Lab::start().await;
    let provider = lab.provider();
    let spec = lab.service("web", kind, &[80]);
    let mark = lab.mark();
    for result in [
        balancers(&provider).ensure(&spec).await,
        balancers(&provider).update_hosts(&spec).await,
    ] {
        assert!(matches!(result, Err(Error::ImplementedElsewhere)), "{result:?}");
    }
    assert_eq!(balancers(&provider).find(&spec).await.unwrap(), None);
    assert_eq!(
        balancers(&provider).delete(&spec).await.unwrap().answer,
        Progress::Done(())
    );
    assert_eq!(lab.actions(mark), (vec![], vec![]));
}

#[tokio::test]
async fn a_classic_load_balancer_follows_its_service() {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    let provider = lab.provider();
    let mut spec = lab.service("web", "", &[80, 443]);
    let annotations = [
        ("ssl-cert", lab.aws.certificate.as_str()),
        ("ssl-ports", "443"),
        ("ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01"),
        ("proxy-protocol", "*"),
        ("connection-idle-timeout", "90"),
        ("cross-zone-load-balancing-enabled", "true"),
        ("additional-resource-tags", "team=a"),
        ("healthcheck-interval", "7"),
    ];
    spec.annotations
        .extend(annotations.map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned())));
    ensure(&provider, &mut spec).await.unwrap();
    let name = cloud::default_name(&spec.service.uid);
    assert_eq!(
        lab.snapshot().await,
        [
            format!("classic {name} internet-facing TCP:80->30080 SSL:443->30443 check TCP:30080 nodes n0 n1"),
            format!("k8s-elb-{name}:"),
            format!("k8s-elb-{name}: icmp 3-4 from 0.0.0.0/0"),
            format!("k8s-elb-{name}: tcp 443-443 from 0.0.0.0/0"),
            format!("k8s-elb-{name}: tcp 80-80 from 0.0.0.0/0"),
            "nodes:".to_owned(),
            format!("nodes: -1 null-null from k8s-elb-{name}"),
        ]
    );
    let (restarted, mark) = (lab.provider(), lab.mark());
    spec.annotations.remove("outrigger.dev/load-balancer");
    ensure(&restarted, &mut spec).await.unwrap();
    assert_eq!(lab.actions(mark).0, [""; 0]);
    spec.annotations.remove(&format!("{PREFIX}proxy-protocol"));
    spec.source_ranges = vec!["192.0.2.0/24".parse().unwrap()];
    ensure(&restarted, &mut spec).await.unwrap();
    assert!(
        lab.rules()
            .await
            .contains(&format!("k8s-elb-{name}: tcp 80-80 from 192.0.2.0/24"))
    );
    let owned = balancers(&restarted).owned("kubernetes").await.unwrap();
    let owned: Vec<&str> = owned.iter().map(|owned| owned.kind.as_str()).collect();
    assert_eq!(owned, ["classic load balancer", "security group"]);
    delete(&restarted, &mut spec).await.unwrap();
    assert_eq!(lab.snapshot().await, nothing);
    lab.check_calls().await;
}

#[tokio::test]
async fn managed_security_groups_let_clients_in_by_tcp_also_with_tls() {
    let lab = Lab::start().await;
    let provider = lab.provider_with("NLBSecurityGroupMode=Managed", &open());
    let mut spec = lab.service("web", "nlb", &[443]);
    spec.annotations
        .insert(format!("{PREFIX}ssl-cert"), lab.aws.certificate.clone());
    ensure(&provider, &mut spec).await.unwrap();
    let rules = lines(&lab, &["k8s-default-web-"]).await;
    let ends: Vec<&str> = rules
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(_, rule)| rule)
        .collect();
    assert_eq!(ends, ["icmp 3-4 from 0.0.0.0/0", "tcp 443-443 from 0.0.0.0/0"]);
    lab.check_calls().await;
}

#[tokio::test]
async fn immutable_settings_are_reported() {
    let lab = Lab::start().await;
    let provider = lab.provider();
    let mut spec = lab.service("web", "nlb", &[80]);
    spec.annotations.insert(format!("{PREFIX}internal"), "true".into());
    ensure(&provider, &mut spec).await.unwrap();
    spec.annotations.insert(format!("{PREFIX}internal"), "false".into());
    let notes = ensure(&provider, &mut spec).await.unwrap();
    let events: Vec<&str> = notes.events.iter().map(|event| event.reason).collect();
    assert_eq!(events, ["LoadBalancerSettingIgnored"]);
}
