//! Objects whose Service was deleted without its load balancer.

use crate::fixture::{Lab, balancers, delete, ensure, open};
use cloud::{Owned, Spec};
use rstest::rstest;
use serde_json::json;

/// Deletes what belongs to no Service, as the sweep of the service controller does.
async fn sweep(lab: &Lab, more: &str) -> Vec<Owned> {
    let provider = lab.provider_with(more, &open());
    let owned = balancers(&provider).owned("kubernetes").await.unwrap();
    for service in owned.iter().filter_map(|object| object.service.clone()) {
        let mut spec = Spec {
            cluster: "kubernetes".into(),
            service,
            ..Spec::default()
        };
        delete(&provider, &mut spec).await.unwrap();
    }
    owned
}

#[rstest]
#[case::network("nlb", "")]
#[case::managed_group("nlb", "NLBSecurityGroupMode=Managed")]
#[case::classic("", "")]
#[tokio::test]
async fn are_deleted_with_everything(#[case] kind: &str, #[case] more: &str) {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    // A UID has hexadecimal digits.
    let mut spec = lab.service("cafe", kind, &[80, 443]);
    ensure(&lab.provider_with(more, &open()), &mut spec).await.unwrap();
    let owned = sweep(&lab, more).await;
    assert!(owned.len() > 1, "{owned:?}");
    assert_eq!(lab.snapshot().await, nothing);
}

#[rstest]
#[case::target_groups("nlb", "elbv2", "LoadBalancerArn", "LoadBalancers")]
#[case::security_group("", "elb", "LoadBalancerName", "LoadBalancerDescriptions")]
#[tokio::test]
async fn leftovers_of_a_load_balancer_are_deleted(
    #[case] kind: &str,
    #[case] api: &str,
    #[case] id: &str,
    #[case] list: &str,
) {
    let lab = Lab::start().await;
    let mut spec = lab.service("cafe", kind, &[80]);
    ensure(&lab.provider(), &mut spec).await.unwrap();
    let found = lab
        .aws
        .account
        .call(api, "DescribeLoadBalancers", json!({}))
        .await
        .unwrap();
    let request = json!({id: found[list][0][id]});
    lab.aws.account.call(api, "DeleteLoadBalancer", request).await.unwrap();
    sweep(&lab, "").await;
    let left = lab.snapshot().await;
    assert!(left.iter().all(|line| line.starts_with("nodes:")), "{left:?}");
}
