//! What users give: security groups, elastic IPs, addresses, a route table, and the old tag of the cluster.

use crate::{
    fixture::{Lab, delete, ensure, open},
    snapshot::items,
};
use aws::Aws;
use cloud::{Error, Provider, Spec};
use rstest::rstest;
use serde_json::{Value, json};

const PREFIX: &str = "service.beta.kubernetes.io/aws-load-balancer-";
const MANAGED: &str = "NLBSecurityGroupMode=Managed";

async fn group(lab: &Lab, name: &str) -> String {
    let wanted = json!({"GroupName": name, "Description": name, "VpcId": lab.aws.vpc});
    let created = lab.aws.account.call("ec2", "CreateSecurityGroup", wanted).await;
    created.unwrap()["GroupId"].as_str().unwrap().to_owned()
}

fn annotate(spec: &mut Spec, name: &str, value: &str) {
    spec.annotations.insert(format!("{PREFIX}{name}"), value.to_owned());
}

/// The security groups of the only load balancer, sorted.
async fn groups(lab: &Lab, kind: &str) -> Vec<String> {
    let (api, list) = match kind {
        "nlb" => ("elbv2", "LoadBalancers"),
        _ => ("elb", "LoadBalancerDescriptions"),
    };
    let found = lab.aws.account.call(api, "DescribeLoadBalancers", json!({})).await;
    let groups = found.unwrap()[list][0]["SecurityGroups"].clone();
    let mut groups: Vec<String> = items(&groups).map(|id| id.as_str().unwrap().to_owned()).collect();
    groups.sort();
    groups
}

/// Whether the load balancer has a group of its own.
async fn has_own(lab: &Lab) -> bool {
    let rules = lab.rules().await;
    rules.iter().any(|line| line.starts_with("k8s-"))
}

/// A line for each rule of the groups of the user.
async fn rules_of_user(lab: &Lab) -> Vec<String> {
    let mut rules = lab.rules().await;
    rules.retain(|line| ["one:", "two:", "more:"].iter().any(|name| line.starts_with(name)));
    rules
}

/// Groups that a Service names replace its own one; their rules are never changed, and they outlive the load balancer.
#[rstest]
#[case::network("nlb", MANAGED)]
#[case::classic("", "")]
#[tokio::test]
async fn security_groups_of_the_user_are_used_and_not_changed(#[case] kind: &str, #[case] more: &str) {
    let lab = Lab::start().await;
    let mut given = [group(&lab, "one").await, group(&lab, "two").await];
    given.sort();
    let provider = lab.provider_with(more, &open());
    let mut spec = lab.service("web", kind, &[80]);
    annotate(&mut spec, "security-groups", &given.join(","));
    ensure(&provider, &mut spec).await.unwrap();
    assert_eq!((groups(&lab, kind).await, has_own(&lab).await), (given.to_vec(), false));

    let given_text = spec.annotations.remove(&format!("{PREFIX}security-groups"));
    ensure(&provider, &mut spec).await.unwrap();
    assert!(has_own(&lab).await);
    let own = groups(&lab, kind).await;
    assert!(own.len() == 1 && !given.contains(&own[0]), "{own:?}");

    annotate(&mut spec, "security-groups", &given_text.unwrap());
    ensure(&provider, &mut spec).await.unwrap();
    assert_eq!((groups(&lab, kind).await, has_own(&lab).await), (given.to_vec(), false));

    delete(&provider, &mut spec).await.unwrap();
    assert_eq!(rules_of_user(&lab).await, ["one:", "two:"]);
    assert_eq!(lab.rules().await.len(), 3, "and those of the nodes, without rules");
    lab.check_calls().await;
}

/// `--cluster-name` is a part of the name of the group of a network load balancer.
#[tokio::test]
async fn the_group_of_an_earlier_cluster_name_is_replaced() {
    let lab = Lab::start().await;
    let provider = lab.provider_with(MANAGED, &open());
    let mut spec = lab.service("web", "nlb", &[80]);
    spec.cluster = "earlier".to_owned();
    ensure(&provider, &mut spec).await.unwrap();
    let before = groups(&lab, "nlb").await;
    spec.cluster = "kubernetes".to_owned();
    ensure(&provider, &mut spec).await.unwrap();
    let after = groups(&lab, "nlb").await;
    assert!(after.len() == 1 && after != before, "{before:?} {after:?}");
    delete(&provider, &mut spec).await.unwrap();
    assert_eq!(lab.rules().await, ["nodes:"]);
}

/// The nodes let in the first of the groups that the user names; further groups come after the load balancer's own.
#[rstest]
#[case::given("security-groups", "one,two", "one two", "one")]
#[case::further("extra-security-groups", "two,more", "OWN more two", "OWN")]
#[tokio::test]
async fn the_nodes_let_in_one_group(
    #[case] annotation: &str,
    #[case] given: &str,
    #[case] expected: &str,
    #[case] first: &str,
) {
    let lab = Lab::start().await;
    let mut ids = Vec::new();
    for name in given.split(',') {
        ids.push(group(&lab, name).await);
    }
    let mut spec = lab.service("web", "", &[80]);
    annotate(&mut spec, annotation, &ids.join(","));
    let own = format!("k8s-elb-{}", cloud::default_name(&spec.service.uid));
    let (expected, first) = (expected.replace("OWN", &own), first.replace("OWN", &own));
    ensure(&lab.provider(), &mut spec).await.unwrap();
    let ids = groups(&lab, "").await;
    let found = json!({ "GroupIds": ids });
    let found = lab.aws.account.call("ec2", "DescribeSecurityGroups", found).await;
    let found = found.unwrap();
    let mut names: Vec<&str> = items(&found["SecurityGroups"])
        .filter_map(|group| group["GroupName"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names.join(" "), expected);
    let rules = lab.rules().await;
    let let_in: Vec<_> = rules.iter().filter(|line| line.starts_with("nodes: -1")).collect();
    assert_eq!(let_in, [&format!("nodes: -1 null-null from {first}")]);
    delete(&lab.provider(), &mut spec).await.unwrap();
    let left = lab.rules().await;
    assert!(
        left.iter().all(|line| !line.starts_with("k8s-") && line.ends_with(':')),
        "{left:?}"
    );
}

#[rstest]
#[case::network("nlb")]
#[case::classic("")]
#[tokio::test]
async fn the_groups_of_nodes_can_be_left_alone(#[case] kind: &str) {
    let lab = Lab::start().await;
    let provider = lab.provider_with("DisableSecurityGroupIngress=true", &open());
    let mut spec = lab.service("web", kind, &[80]);
    let of_nodes = async || {
        let mut rules = lab.rules().await;
        rules.retain(|line| line.starts_with("nodes:"));
        rules
    };
    ensure(&provider, &mut spec).await.unwrap();
    assert_eq!(of_nodes().await, ["nodes:"]);
    delete(&provider, &mut spec).await.unwrap();
    assert_eq!(lab.rules().await, ["nodes:"]);
}

/// The parameters of the call that created the load balancer.
fn created(lab: &Lab) -> Value {
    let calls = lab.aws.account.calls().unwrap();
    let create = calls.into_iter().find(|call| call.action == "CreateLoadBalancer");
    json!(create.unwrap().params)
}

#[rstest]
#[case::elastic_ips("eip-allocations", "AllocationId", "eipalloc-1,eipalloc-2,eipalloc-3")]
#[case::private("private-ipv4-addresses", "PrivateIPv4Address", "10.0.0.9,10.0.1.9,10.0.2.9")]
#[tokio::test]
async fn each_subnet_gets_its_address(#[case] annotation: &str, #[case] field: &str, #[case] given: &str) {
    let lab = Lab::start().await;
    let provider = lab.provider();
    let mut spec = lab.service("web", "nlb", &[80]);
    annotate(&mut spec, annotation, "only-one");
    let error = ensure(&provider, &mut spec).await.unwrap_err();
    assert!(
        matches!(error, Error::Unusable { .. }) && error.report().contains("there are 1 for 3 subnets"),
        "{error:?}"
    );
    annotate(&mut spec, annotation, given);
    ensure(&provider, &mut spec).await.unwrap();
    let params = created(&lab);
    for (number, (subnet, address)) in (1..).zip(lab.aws.public.iter().zip(given.split(','))) {
        let of = |field: &str| params[format!("SubnetMappings.member.{number}.{field}")].clone();
        assert_eq!((of("SubnetId"), of(field)), (json!(subnet.id), json!(address)));
    }
}

fn routes(provider: &Aws) -> &dyn cloud::Routes {
    provider.routes().unwrap()
}

#[tokio::test]
async fn the_route_table_can_be_named() {
    let lab = Lab::start().await;
    let tags =
        json!([{"ResourceType": "route-table", "Tags": [{"Key": "kubernetes.io/cluster/lab", "Value": "owned"}]}]);
    let wanted = json!({"VpcId": lab.aws.vpc, "TagSpecifications": tags});
    let table = lab.aws.account.call("ec2", "CreateRouteTable", wanted).await.unwrap();
    let error = routes(&lab.provider()).list("kubernetes").await.unwrap_err();
    assert!(error.report().contains("2 route tables have the tag"), "{error:?}");
    let more = format!("RouteTableID={}", table["RouteTable"]["RouteTableId"].as_str().unwrap());
    let provider = lab.provider_with(&more, &open());
    assert_eq!(routes(&provider).list("kubernetes").await.unwrap(), []);
}

#[tokio::test]
async fn the_old_tag_is_written_if_it_is_configured() {
    let lab = Lab::start().await;
    let mut spec = lab.service("web", "nlb", &[80]);
    ensure(&lab.provider_with("KubernetesClusterTag=lab", &open()), &mut spec)
        .await
        .unwrap();
    for key in [
        "KubernetesCluster",
        "kubernetes.io/cluster/lab",
        "kubernetes.io/service-name",
    ] {
        assert_eq!(
            lab.tagged(key).await,
            ["listener", "loadbalancer", "targetgroup"],
            "{key}"
        );
    }
}
