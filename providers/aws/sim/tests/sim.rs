//! What moto does not have: paging at scale, eventual consistency, throttling of one action, and what takes time.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

use aws_sim::{Account, Cloud, Limit, State};
use fakecloud::{Handler, Request, Response};
use rstest::rstest;
use std::time::Duration;

const LATER: Duration = Duration::from_secs(5);

async fn call(cloud: &Cloud, version: &str, form: &str) -> Response {
    let request = Request::new("POST".parse().unwrap(), "/", format!("Version={version}&Action={form}"));
    cloud.handle(request).await
}

async fn ec2(cloud: &Cloud, form: &str) -> String {
    text(&call(cloud, "2016-11-15", form).await)
}

async fn elb_v2(cloud: &Cloud, form: &str) -> String {
    text(&call(cloud, "2015-12-01", form).await)
}

fn text(response: &Response) -> String {
    format!("{} {}", response.status, String::from_utf8_lossy(&response.body))
}

fn within<'a>(text: &'a str, element: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{element}>"))?;
    rest.split_once(&format!("</{element}>")).map(|(value, _)| value)
}

fn subnet(cloud: &Cloud) -> String {
    let text = cloud.read(|account| format!("{account:?}"));
    let at = text.find("subnet-").unwrap();
    text[at..at + "subnet-".len() + 17].to_owned()
}

async fn create(cloud: &Cloud, groups: &str) -> String {
    let form = format!(
        "CreateLoadBalancer&Name=web&Type=network&SubnetMappings.member.1.SubnetId={}{groups}",
        subnet(cloud)
    );
    let answer = elb_v2(cloud, &form).await;
    within(&answer, "LoadBalancerArn").unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_instances_come_in_pages() {
    let cloud = Cloud::new(Account::default());
    cloud.write(|account, now| account.boot("m5.large", 10_000, now));
    let (mut form, mut seen, mut pages) = ("DescribeInstances".to_owned(), 0, 0);
    loop {
        let page = ec2(&cloud, &form).await;
        seen += page.matches("<instanceId>").count();
        pages += 1;
        let Some(token) = within(&page, "nextToken") else { break };
        form = format!("DescribeInstances&NextToken={token}");
    }
    assert_eq!((seen, pages), (10_000, 10));
    let names: std::collections::BTreeSet<String> =
        cloud.read(|account| account.machines().iter().map(|machine| machine.name.clone()).collect());
    assert_eq!(names.len(), 10_000, "no two have the same name");
}

#[tokio::test(start_paused = true)]
async fn a_new_object_is_not_listed_yet() {
    let cloud = Cloud::new(Account::default());
    cloud.write(|account, _| account.settings.visible_after = LATER);
    let id = cloud.write(|account, now| account.boot("m5.large", 1, now).remove(0).id);
    create(&cloud, "").await;
    let instance = format!("DescribeInstances&InstanceId.1={id}");
    assert!(ec2(&cloud, &instance).await.contains("InvalidInstanceID.NotFound"));
    let balancer = "DescribeLoadBalancers&Names.member.1=web";
    assert!(elb_v2(&cloud, balancer).await.contains("LoadBalancerNotFound"));
    cloud.advance(LATER);
    assert!(ec2(&cloud, &instance).await.contains(&id));
    assert!(elb_v2(&cloud, balancer).await.contains("<Code>active</Code>"));
}

#[tokio::test(start_paused = true)]
async fn an_action_is_throttled_alone() {
    let cloud = Cloud::new(Account::default());
    let limit = Limit {
        burst: 2,
        refill: LATER,
    };
    cloud.write(|account, _| account.settings.limits.insert("DescribeSubnets".to_owned(), limit));
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(ec2(&cloud, "DescribeSubnets").await[..3].to_owned());
    }
    assert_eq!(statuses, ["200", "200", "503"]);
    assert!(ec2(&cloud, "DescribeSubnets").await.contains("RequestLimitExceeded"));
    assert!(ec2(&cloud, "DescribeVpcs").await.starts_with("200"));
    cloud.advance(LATER);
    assert!(ec2(&cloud, "DescribeSubnets").await.starts_with("200"));
}

#[tokio::test(start_paused = true)]
async fn the_group_of_a_deleted_load_balancer_is_in_use_for_a_while() {
    let cloud = Cloud::new(Account::default());
    cloud.write(|account, _| account.settings.releasing = LATER);
    let created = ec2(&cloud, "CreateSecurityGroup&GroupName=own&GroupDescription=own").await;
    let group = within(&created, "groupId").unwrap();
    let arn = create(&cloud, &format!("&SecurityGroups.member.1={group}")).await;
    let delete = format!("DeleteSecurityGroup&GroupId={group}");
    assert!(ec2(&cloud, &delete).await.contains("DependencyViolation"));
    assert!(
        elb_v2(&cloud, &format!("DeleteLoadBalancer&LoadBalancerArn={arn}"))
            .await
            .starts_with("200")
    );
    assert!(ec2(&cloud, &delete).await.contains("DependencyViolation"));
    cloud.advance(LATER);
    assert!(ec2(&cloud, &delete).await.starts_with("200"));
}

#[rstest]
#[case::same("", "200")]
#[case::other_scheme("&Scheme=internal", "400")]
#[tokio::test(start_paused = true)]
async fn a_name_is_given_once(#[case] more: &str, #[case] expected: &str) {
    let cloud = Cloud::new(Account::default());
    let first = create(&cloud, "").await;
    let form = format!(
        "CreateLoadBalancer&Name=web&Type=network&SubnetMappings.member.1.SubnetId={}{more}",
        subnet(&cloud)
    );
    let again = elb_v2(&cloud, &form).await;
    assert!(again.starts_with(expected), "{again}");
    assert_eq!(again.contains(&first), expected == "200", "{again}");
}

#[tokio::test(start_paused = true)]
async fn one_object_is_tagged_at_a_time() {
    let cloud = Cloud::new(Account::default());
    let arn = create(&cloud, "").await;
    let one = format!("AddTags&Tags.member.1.Key=a&Tags.member.1.Value=b&ResourceArns.member.1={arn}");
    assert!(elb_v2(&cloud, &one).await.starts_with("200"));
    let two = elb_v2(&cloud, &format!("{one}&ResourceArns.member.2={arn}")).await;
    assert!(two.contains("Only one resource can be tagged at a time"), "{two}");
}

#[tokio::test(start_paused = true)]
async fn a_route_to_a_terminated_instance_is_a_black_hole() {
    let cloud = Cloud::new(Account::default());
    let id = cloud.write(|account, now| account.boot("m5.large", 1, now).remove(0).id);
    let tables = ec2(&cloud, "DescribeRouteTables").await;
    let table = within(&tables, "routeTableId").unwrap();
    let route = format!("CreateRoute&RouteTableId={table}&DestinationCidrBlock=10.200.0.0/24&InstanceId={id}");
    assert!(ec2(&cloud, &route).await.starts_with("200"));
    assert!(ec2(&cloud, &route).await.contains("RouteAlreadyExists"));
    cloud.write(|account, _| account.set_state(&id, State::Terminated));
    assert!(ec2(&cloud, "DescribeRouteTables").await.contains("blackhole"));
}

#[tokio::test(start_paused = true)]
async fn unsupported_actions_are_refused() {
    let cloud = Cloud::new(Account::default());
    assert!(ec2(&cloud, "DescribeSpotFleet").await.starts_with("501"));
    assert_eq!(cloud.unknown(), ["2016-11-15 DescribeSpotFleet"]);
}
