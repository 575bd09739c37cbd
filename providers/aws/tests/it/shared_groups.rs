//! Services share the security group of the nodes.

use crate::fixture::{Lab, delete, ensure, open, update_hosts};
use futures::future::join_all;
use serde_json::json;

#[tokio::test]
async fn many_services_at_once_lose_no_rule_and_get_no_warning() {
    let lab = Lab::start().await;
    let provider = lab.provider();
    let mut specs: Vec<_> = (0..8)
        .map(|number| lab.service(&format!("s{number}"), "nlb", &[80 + number]))
        .collect();
    let mark = lab.mark();
    for notes in join_all(specs.iter_mut().map(|spec| ensure(&provider, spec))).await {
        assert_eq!(notes.unwrap().events, []);
    }
    let (writes, _) = lab.actions(mark);
    let authorized = writes
        .iter()
        .filter(|action| *action == "AuthorizeSecurityGroupIngress")
        .count();
    assert!(authorized <= 8, "{authorized}");
    let rules = lab.rules().await;
    let clients = rules.iter().filter(|line| line.contains("rule/nlb/client=")).count();
    let mtu = rules.iter().filter(|line| line.ends_with("rule/nlb/mtu")).count();
    assert_eq!((clients, mtu), (8, 1), "{rules:?}");
    for result in join_all(specs.iter_mut().map(|spec| delete(&provider, spec))).await {
        result.unwrap();
    }
    assert_eq!(lab.rules().await, ["nodes:"]);
    lab.check_calls().await;
}

#[tokio::test]
async fn a_node_that_joins_costs_one_registration_per_target_group() {
    let mut lab = Lab::start().await;
    let provider = lab.provider();
    let mut specs: Vec<_> = (0..5)
        .map(|number| lab.service(&format!("s{number}"), "nlb", &[80, 443]))
        .collect();
    for (number, spec) in (0..).zip(&mut specs) {
        spec.ports
            .iter_mut()
            .for_each(|port| port.node_port = port.node_port.map(|port| port + number));
        ensure(&provider, spec).await.unwrap();
    }
    lab.nodes.push(lab.aws.boot_one().await.unwrap());
    for spec in &mut specs {
        spec.hosts = lab.service("x", "", &[]).hosts;
    }
    let mark = lab.mark();
    join_all(specs.iter_mut().map(|spec| update_hosts(&provider, spec))).await;
    let (writes, reads) = lab.actions(mark);
    assert_eq!(writes, vec!["RegisterTargets"; 10]);
    assert!(reads.len() <= 6, "{reads:?}");
    let groups = lab.snapshot().await;
    let complete = groups
        .iter()
        .filter(|line| line.starts_with("group ") && line.ends_with("targets n0 n1 n2"));
    assert_eq!(complete.count(), 10, "{groups:?}");
}

#[tokio::test]
async fn a_health_rule_of_two_services_stays_with_the_other() {
    let lab = Lab::start().await;
    let provider = lab.provider_with(
        "ClusterServiceLoadBalancerHealthProbeMode=Shared",
        &crate::fixture::open(),
    );
    let mut one = lab.service("one", "nlb", &[80]);
    let mut two = lab.service("two", "nlb", &[81]);
    ensure(&provider, &mut one).await.unwrap();
    ensure(&provider, &mut two).await.unwrap();
    delete(&provider, &mut one).await.unwrap();
    let rules = lab.rules().await;
    let health: Vec<_> = rules.iter().filter(|line| line.contains("10256")).collect();
    assert_eq!(health.len(), 3, "one for each subnet: {rules:?}");
    assert!(health.iter().all(|line| line.contains("health=atwo")), "{health:?}");
    delete(&provider, &mut two).await.unwrap();
    assert_eq!(lab.rules().await, ["nodes:"]);
}

#[tokio::test]
async fn after_a_restart_the_first_deletion_leaves_rules_that_others_need() {
    let lab = Lab::start().await;
    let shared = "ClusterServiceLoadBalancerHealthProbeMode=Shared";
    let provider = lab.provider_with(shared, &open());
    let mut one = lab.service("one", "nlb", &[80]);
    let mut two = lab.service("two", "nlb", &[81]);
    ensure(&provider, &mut one).await.unwrap();
    ensure(&provider, &mut two).await.unwrap();
    let restarted = lab.provider_with(shared, &open());
    delete(&restarted, &mut one).await.unwrap();
    let rules = lab.rules().await;
    let health: Vec<_> = rules.iter().filter(|line| line.contains("10256")).collect();
    assert_eq!(health.len(), 3, "one for each subnet: {rules:?}");
    assert!(health.iter().all(|line| line.contains("health=atwo")), "{health:?}");
    delete(&restarted, &mut two).await.unwrap();
    assert_eq!(lab.rules().await, ["nodes:"]);
    lab.check_calls().await;
}

#[tokio::test]
async fn after_a_restart_a_group_of_two_classic_load_balancers_is_let_in_until_both_are_gone() {
    let lab = Lab::start().await;
    let group = json!({"GroupName": "balancers", "Description": "shared", "VpcId": lab.aws.vpc});
    let group = lab.aws.account.call("ec2", "CreateSecurityGroup", group).await.unwrap();
    let more = format!("ElbSecurityGroup={}", group["GroupId"].as_str().unwrap());
    let provider = lab.provider_with(&more, &open());
    let mut one = lab.service("one", "", &[80]);
    let mut two = lab.service("two", "", &[81]);
    ensure(&provider, &mut one).await.unwrap();
    ensure(&provider, &mut two).await.unwrap();
    let restarted = lab.provider_with(&more, &open());
    let rule = "nodes: -1 null-null from balancers".to_owned();
    delete(&restarted, &mut one).await.unwrap();
    assert!(lab.rules().await.contains(&rule));
    delete(&restarted, &mut two).await.unwrap();
    assert!(!lab.rules().await.contains(&rule));
    lab.check_calls().await;
}
