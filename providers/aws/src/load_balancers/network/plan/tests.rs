use super::*;
use crate::{
    api::{
        List,
        elbv2::listeners::{Action, Certificate},
    },
    load_balancers::{
        annotations as key,
        fixture::{cluster, config, spec},
    },
};
use cloud::{Spec, TrafficPolicy};
use rstest::rstest;

fn asked(spec: &Spec) -> Asked {
    Asked::of(spec, &config(&[]), &cluster()).unwrap()
}

fn targets(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// What is there once everything matches.
fn matching(spec: &Spec, ids: &[&str]) -> Observed {
    let asked = asked(spec);
    let arn = |mapping: &Mapping| format!("arn:targetgroup/{}/1", mapping.group_name);
    let listener = |mapping: &Mapping| Listener {
        listener_arn: format!("arn:listener/{}", mapping.port),
        port: mapping.port,
        protocol: mapping.protocol.into(),
        ssl_policy: mapping
            .tls
            .as_ref()
            .map(|tls| tls.policy.clone().unwrap_or("default".into())),
        certificates: mapping
            .tls
            .iter()
            .map(|tls| Certificate {
                certificate_arn: tls.certificate.clone(),
            })
            .collect(),
        default_actions: List(vec![Action::forward(&arn(mapping))]),
    };
    let group = |mapping: &Mapping| Group {
        group: TargetGroup {
            target_group_arn: arn(mapping),
            target_group_name: mapping.group_name.clone(),
            protocol: mapping.target_protocol.into(),
            port: mapping.node_port,
            health_check_protocol: mapping.check.protocol.clone(),
            health_check_port: mapping.check.port.clone(),
            health_check_path: mapping.check.path.clone(),
            health_check_interval_seconds: mapping.check.interval,
            health_check_timeout_seconds: 10,
            healthy_threshold_count: mapping.check.healthy,
            unhealthy_threshold_count: mapping.check.unhealthy,
            load_balancer_arns: List(vec!["lb".into()]),
        },
        targets: ids.iter().map(|id| ((*id).to_owned(), mapping.node_port)).collect(),
        attributes: Some([("proxy_protocol_v2.enabled".to_owned(), "false".to_owned())].into()),
    };
    let groups: Vec<Group> = asked.mappings.iter().map(group).collect();
    let arns = ["lb".to_owned()]
        .into_iter()
        .chain(groups.iter().map(|group| group.group.target_group_arn.clone()))
        .chain(asked.mappings.iter().map(|mapping| listener(mapping).listener_arn));
    Observed {
        arn: "lb".into(),
        listeners: asked.mappings.iter().map(listener).collect(),
        tags: Some(arns.map(|arn| (arn, asked.tags.clone())).collect()),
        attributes: asked.attributes.clone(),
        groups,
        loose: Vec::new(),
    }
}

fn planned(observed: &Observed, spec: &Spec, ids: &[&str], scope: Scope) -> String {
    let steps = plan(observed, &asked(spec), &targets(ids), scope);
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

type Change = fn(&mut Spec);

fn annotate(spec: &mut Spec, row: provider_kit::annotations::Annotation, value: &str) {
    spec.annotations.insert(row.key.into(), value.into());
}

#[rstest]
#[case::as_asked(|_: &mut Spec| {}, "")]
#[case::port_added(|spec: &mut Spec| spec.ports.push(crate::load_balancers::fixture::port(81)), "+port TCP 81 -> TCP:30081")]
#[case::port_removed(|spec: &mut Spec| drop(spec.ports.pop()), "-port 443, -target group k8s-default-web-0aa3cd81ba")]
#[case::node_port_moved(|spec: &mut Spec| spec.ports[0].node_port = Some(31000), "replace target group of port TCP 80 -> TCP:31000, -target group k8s-default-web-ac11a8a80f")]
#[case::tls(|spec: &mut Spec| { annotate(spec, key::SSL_CERT, "arn"); annotate(spec, key::SSL_PORTS, "443"); }, "update port TLS 443 -> TCP:30443")]
#[case::threshold(|spec: &mut Spec| annotate(spec, key::HEALTHCHECK_UNHEALTHY_THRESHOLD, "5"), "update check of k8s-default-web-ac11a8a80f, update check of k8s-default-web-0aa3cd81ba")]
#[case::interval(|spec: &mut Spec| { spec.ports.pop(); annotate(spec, key::HEALTHCHECK_INTERVAL, "15"); }, "replace target group of port TCP 80 -> TCP:30080, -target group k8s-default-web-ac11a8a80f, -port 443, -target group k8s-default-web-0aa3cd81ba")]
#[case::local(|spec: &mut Spec| { spec.ports.pop(); spec.traffic = TrafficPolicy::Local { health_check_port: Some(32000) }; }, "replace target group of port TCP 80 -> TCP:30080, -target group k8s-default-web-ac11a8a80f, -port 443, -target group k8s-default-web-0aa3cd81ba")]
#[case::timeout(|spec: &mut Spec| annotate(spec, key::HEALTHCHECK_TIMEOUT, "10"), "")]
#[case::group_attribute(|spec: &mut Spec| annotate(spec, key::TARGET_GROUP_ATTRIBUTES, "proxy_protocol_v2.enabled=true,preserve_client_ip.enabled=true"), "set proxy_protocol_v2.enabled=true of k8s-default-web-ac11a8a80f, set proxy_protocol_v2.enabled=true of k8s-default-web-0aa3cd81ba")]
#[case::cross_zone(|spec: &mut Spec| annotate(spec, key::CROSS_ZONE, "true"), "set load_balancing.cross_zone.enabled=true")]
#[case::tag(|spec: &mut Spec| annotate(spec, key::ADDITIONAL_RESOURCE_TAGS, "team=a"), "tag 5 objects")]
fn plans(#[case] change: Change, #[case] expected: &str) {
    let before = spec(&[80, 443]);
    let mut after = before.clone();
    change(&mut after);
    assert_eq!(
        planned(&matching(&before, &["i-1"]), &after, &["i-1"], Scope::All),
        expected
    );
}

#[rstest]
#[case::same(&["i-1", "i-2"], "")]
#[case::joined(&["i-1", "i-2", "i-3"], "targets +i-3:30080 of k8s-default-web-ac11a8a80f")]
#[case::replaced(&["i-1", "i-3"], "targets -i-2:30080 +i-3:30080 of k8s-default-web-ac11a8a80f")]
fn targets_are_replaced(#[case] ids: &[&str], #[case] expected: &str) {
    let spec = spec(&[80]);
    let observed = matching(&spec, &["i-1", "i-2"]);
    for scope in [Scope::All, Scope::Hosts] {
        assert_eq!(planned(&observed, &spec, ids, scope), expected);
    }
}

#[test]
fn leftovers_of_a_crash_are_deleted_first() {
    let spec = spec(&[80]);
    let mut observed = matching(&spec, &[]);
    observed.loose.push(observed.groups[0].group.clone());
    observed.listeners.clear();
    observed.groups.clear();
    assert_eq!(
        planned(&observed, &spec, &[], Scope::All),
        "-target group k8s-default-web-ac11a8a80f, +port TCP 80 -> TCP:30080"
    );
}

#[test]
fn tags_that_may_not_be_read_are_not_written() {
    let mut spec = spec(&[80]);
    let mut observed = matching(&spec, &[]);
    observed.tags = None;
    annotate(&mut spec, key::ADDITIONAL_RESOURCE_TAGS, "team=a");
    assert_eq!(planned(&observed, &spec, &[], Scope::All), "");
}

#[test]
fn group_attributes_that_may_not_be_read_are_written_only_if_they_are_asked_for() {
    let mut spec = spec(&[80]);
    let mut observed = matching(&spec, &[]);
    observed.groups[0].attributes = None;
    assert_eq!(planned(&observed, &spec, &[], Scope::All), "");
    annotate(
        &mut spec,
        key::TARGET_GROUP_ATTRIBUTES,
        "proxy_protocol_v2.enabled=true",
    );
    assert_eq!(
        planned(&observed, &spec, &[], Scope::All),
        "set proxy_protocol_v2.enabled=true of k8s-default-web-ac11a8a80f"
    );
}

#[test]
fn the_bucket_prefix_is_reset_when_its_annotation_is_removed() {
    let mut spec = spec(&[80]);
    annotate(&mut spec, key::ACCESS_LOG_ENABLED, "true");
    annotate(&mut spec, key::ACCESS_LOG_S3_BUCKET_NAME, "b");
    annotate(&mut spec, key::ACCESS_LOG_S3_BUCKET_PREFIX, "p");
    let observed = matching(&spec, &[]);
    assert_eq!(planned(&observed, &spec, &[], Scope::All), "");
    spec.annotations.remove(key::ACCESS_LOG_S3_BUCKET_PREFIX.key);
    assert_eq!(planned(&observed, &spec, &[], Scope::All), "set access_logs.s3.prefix=");
    // A load balancer that never had one does not show it.
    let mut observed = matching(&spec, &[]);
    observed.attributes.remove("access_logs.s3.prefix");
    assert_eq!(planned(&observed, &spec, &[], Scope::All), "");
}

#[test]
fn an_object_whose_tags_are_not_shown_gets_none() {
    let mut spec = spec(&[80]);
    let mut observed = matching(&spec, &[]);
    annotate(&mut spec, key::ADDITIONAL_RESOURCE_TAGS, "team=a");
    if let Some(tags) = &mut observed.tags {
        tags.remove("lb");
    }
    assert_eq!(planned(&observed, &spec, &[], Scope::All), "tag 2 objects");
}

#[test]
fn tls_policy_counts_only_if_it_is_given() {
    let mut spec = spec(&[443]);
    annotate(&mut spec, key::SSL_CERT, "arn");
    let observed = matching(&spec, &[]);
    assert_eq!(planned(&observed, &spec, &[], Scope::All), "");
    annotate(&mut spec, key::SSL_NEGOTIATION_POLICY, "other");
    assert_eq!(
        planned(&observed, &spec, &[], Scope::All),
        "update port TLS 443 -> TCP:30443"
    );
}

#[test]
fn a_change_of_hosts_reports_a_missing_port() {
    let spec = spec(&[80, 443]);
    let mut observed = matching(&spec, &[]);
    assert_eq!(completeness(&observed, &asked(&spec)), Completeness::Complete);
    observed.listeners.pop();
    assert_eq!(
        completeness(&observed, &asked(&spec)),
        Completeness::Missing("port 443".into())
    );
}
