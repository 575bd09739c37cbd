use super::*;
use crate::{
    api::{
        List,
        elb::{Backend, ConnectionSettings, InstanceId, ListenerDescription},
    },
    load_balancers::{
        annotations as key,
        fixture::{cluster, config, port, spec},
    },
};
use cloud::Spec;
use provider_kit::annotations::Annotation;
use rstest::rstest;

fn asked(spec: &Spec) -> Asked {
    let asked = Asked::of(spec, &config(&[]), &cluster()).unwrap();
    Asked {
        subnets: vec!["subnet-1".into()],
        ..asked
    }
}

/// What is there once everything matches.
fn matching(spec: &Spec, ids: &[&str]) -> Observed {
    let asked = asked(spec);
    let tls = asked.tls_policy.as_deref().map(names::tls_policy);
    let describe = |listener: &Listener| ListenerDescription {
        listener: Listener {
            // As AWS shows them.
            protocol: listener.protocol.to_uppercase(),
            instance_protocol: listener.instance_protocol.to_uppercase(),
            ..listener.clone()
        },
        policy_names: tls
            .iter()
            .filter(|_| listener.ssl_certificate_id.is_some())
            .cloned()
            .collect(),
    };
    let mut lb = ClassicLoadBalancer {
        load_balancer_name: "a".into(),
        subnets: List(asked.subnets.clone()),
        listener_descriptions: asked.listeners.iter().map(describe).collect(),
        health_check: asked.check.clone(),
        instances: ids
            .iter()
            .map(|id| InstanceId {
                instance_id: (*id).into(),
            })
            .collect(),
        ..ClassicLoadBalancer::default()
    };
    lb.policies.other_policies.0.extend(tls);
    if asked.proxy == Proxy::On {
        lb.policies.other_policies.0.push(names::PROXY_POLICY.into());
        let backend = |listener: &Listener| Backend {
            instance_port: listener.instance_port,
            policy_names: List(vec![names::PROXY_POLICY.into()]),
        };
        lb.backend_server_descriptions = asked.listeners.iter().map(backend).collect();
    }
    let mut attributes = asked.attributes.clone();
    // AWS shows what was not set, too.
    attributes.connection_draining.timeout.get_or_insert(300);
    attributes.access_log.emit_interval.get_or_insert(60);
    Observed {
        lb,
        attributes,
        tags: Some(asked.tags),
    }
}

fn planned(observed: &Observed, spec: &Spec, ids: &[&str], scope: Scope) -> String {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    let steps = plan(observed, &asked(spec), &ids, scope);
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn annotate(spec: &mut Spec, row: Annotation, value: &str) {
    spec.annotations.insert(row.key.into(), value.into());
}

#[rstest]
#[case::as_asked(|_: &mut Spec| {}, "")]
#[case::port_added(|spec: &mut Spec| spec.ports.push(port(81)), "+ports tcp:81->tcp:30081")]
#[case::port_removed(|spec: &mut Spec| drop(spec.ports.pop()), "-ports 443")]
#[case::node_port(|spec: &mut Spec| spec.ports[1].node_port = Some(31000), "-ports 443, +ports tcp:443->tcp:31000")]
#[case::first_node_port(|spec: &mut Spec| spec.ports[0].node_port = Some(31000), "-ports 80, +ports tcp:80->tcp:31000, check TCP:31000")]
#[case::certificate(|spec: &mut Spec| { annotate(spec, key::SSL_CERT, "c"); annotate(spec, key::SSL_PORTS, "443"); }, "-ports 443, +ports ssl:443->tcp:30443")]
#[case::tls_policy(
    |spec: &mut Spec| { annotate(spec, key::SSL_CERT, "c"); annotate(spec, key::SSL_PORTS, "443"); annotate(spec, key::SSL_NEGOTIATION_POLICY, "p"); },
    "-ports 443, +ports ssl:443->tcp:30443, +policy k8s-SSLNegotiationPolicy-p, policy k8s-SSLNegotiationPolicy-p on 443")]
#[case::proxy(|spec: &mut Spec| annotate(spec, key::PROXY_PROTOCOL, "*"), "+policy k8s-proxyprotocol-enabled, PROXY protocol on 30080, PROXY protocol on 30443")]
#[case::idle_timeout(|spec: &mut Spec| annotate(spec, key::CONNECTION_IDLE_TIMEOUT, "90"), "update attributes")]
#[case::draining(|spec: &mut Spec| annotate(spec, key::CONNECTION_DRAINING_TIMEOUT, "30"), "update attributes")]
#[case::default_draining(|spec: &mut Spec| annotate(spec, key::CONNECTION_DRAINING_TIMEOUT, "300"), "")]
#[case::cross_zone(|spec: &mut Spec| annotate(spec, key::CROSS_ZONE, "true"), "update attributes")]
#[case::logs(|spec: &mut Spec| annotate(spec, key::ACCESS_LOG_ENABLED, "true"), "update attributes")]
#[case::bucket(|spec: &mut Spec| annotate(spec, key::ACCESS_LOG_S3_BUCKET_NAME, "b"), "update attributes")]
#[case::check(|spec: &mut Spec| annotate(spec, key::HEALTHCHECK_INTERVAL, "7"), "check TCP:30080")]
#[case::tag(|spec: &mut Spec| annotate(spec, key::ADDITIONAL_RESOURCE_TAGS, "team=a"), "add 1 tags")]
fn plans(#[case] change: fn(&mut Spec), #[case] expected: &str) {
    let before = spec(&[80, 443]);
    let mut after = before.clone();
    change(&mut after);
    assert_eq!(
        planned(&matching(&before, &["i-1"]), &after, &["i-1"], Scope::All),
        expected
    );
    let again = planned(&matching(&after, &["i-1"]), &after, &["i-1"], Scope::All);
    assert_eq!(again, "", "what was applied is not applied again");
}

#[test]
fn settings_of_access_logs_are_reset_while_logs_are_written() {
    let mut with = spec(&[80]);
    annotate(&mut with, key::ACCESS_LOG_ENABLED, "true");
    annotate(&mut with, key::ACCESS_LOG_S3_BUCKET_NAME, "b");
    for (row, value) in [
        (key::ACCESS_LOG_S3_BUCKET_PREFIX, "p"),
        (key::ACCESS_LOG_EMIT_INTERVAL, "5"),
    ] {
        let mut before = with.clone();
        annotate(&mut before, row, value);
        let observed = matching(&before, &[]);
        assert_eq!(
            planned(&observed, &with, &[], Scope::All),
            "update attributes",
            "{}",
            row.key
        );
        annotate(&mut with, row, "");
    }
    assert_eq!(
        planned(&matching(&with, &[]), &with, &[], Scope::All),
        "",
        "the empty text counts as not given"
    );
}

#[rstest]
#[case::same(&["i-1", "i-2"], "")]
#[case::joined(&["i-1", "i-2", "i-3"], "instances +i-3")]
#[case::replaced(&["i-1", "i-3"], "instances +i-3 -i-2")]
fn instances_are_replaced(#[case] ids: &[&str], #[case] expected: &str) {
    let spec = spec(&[80]);
    let observed = matching(&spec, &["i-1", "i-2"]);
    for scope in [Scope::All, Scope::Hosts] {
        assert_eq!(planned(&observed, &spec, ids, scope), expected);
    }
}

#[test]
fn the_proxy_protocol_is_turned_off() {
    let mut with = spec(&[80]);
    annotate(&mut with, key::PROXY_PROTOCOL, "*");
    assert_eq!(
        planned(&matching(&with, &[]), &spec(&[80]), &[], Scope::All),
        "no PROXY protocol on 30080"
    );
}

#[test]
fn subnets_are_replaced_removals_first() {
    let spec = spec(&[80]);
    let mut observed = matching(&spec, &[]);
    observed.lb.subnets.0 = vec!["subnet-9".into()];
    observed.attributes.connection_settings = ConnectionSettings { idle_timeout: Some(60) };
    assert_eq!(
        planned(&observed, &spec, &[], Scope::All),
        "-subnets subnet-9, +subnets subnet-1"
    );
}

#[test]
fn a_change_of_hosts_reports_a_missing_port() {
    let spec = spec(&[80, 443]);
    let mut observed = matching(&spec, &[]);
    assert_eq!(completeness(&observed, &asked(&spec)), Completeness::Complete);
    observed.lb.listener_descriptions.0.pop();
    assert_eq!(
        completeness(&observed, &asked(&spec)),
        Completeness::Missing("port 443".into())
    );
}
