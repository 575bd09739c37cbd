//! Routes.

use super::fixture::{Fixture, id};
use cloud::{NewRoute, Provider as _, ProviderId, Route, RouteTarget};

fn new(destination: &str, number: usize) -> NewRoute {
    NewRoute {
        hint: "uid".into(),
        node: format!("ip-10-0-0-{number}.ec2.internal"),
        provider_id: ProviderId::parse(format!("aws:///us-east-1a/{}", id(number))),
        addresses: Vec::new(),
        destination: destination.parse().unwrap(),
    }
}

fn summary(routes: &[Route]) -> String {
    let line = |route: &Route| match &route.target {
        RouteTarget::Node(node) => format!("{} -> {node}", route.name),
        RouteTarget::Machine(id) => format!("{} -> {id}", route.name),
        RouteTarget::Blackhole => format!("{} -> blackhole", route.name),
        RouteTarget::Unknown => format!("{} -> ?", route.name),
    };
    let mut lines: Vec<String> = routes.iter().map(line).collect();
    lines.sort_unstable();
    lines.join(", ")
}

#[tokio::test]
async fn routes_name_instances_whether_they_exist_or_not() {
    let fixture = Fixture::start(1).await;
    fixture.cloud.write(|fake, _| {
        fake.routes.push(("10.1.1.0/24".into(), id(1), "active"));
        fake.routes.push(("10.1.2.0/24".into(), id(9), "active"));
        fake.routes.push(("10.1.3.0/24".into(), id(8), "blackhole"));
        fake.routes.push(("0.0.0.0/0".into(), String::new(), "active"));
    });
    let aws = fixture.aws();
    let routes = aws.routes().unwrap().list("c").await.unwrap();
    let expected = "c-10.1.1.0/24 -> i-00000001, c-10.1.2.0/24 -> i-00000009, c-10.1.3.0/24 -> blackhole";
    assert_eq!(summary(&routes), expected);
    assert_eq!(fixture.count("DescribeInstances"), 0);
}

#[tokio::test]
async fn routes_are_created_once_and_in_place_of_blackholes() {
    let fixture = Fixture::start(2).await;
    fixture
        .cloud
        .write(|fake, _| fake.routes.push(("10.1.1.0/24".into(), id(9), "blackhole")));
    let aws = fixture.aws();
    let routes = aws.routes().unwrap();
    let wanted = [new("10.1.1.0/24", 1), new("10.1.2.0/24", 2)];
    for _ in 0..2 {
        let created = routes.create("c", &wanted).await;
        assert!(created.iter().all(Result::is_ok), "{created:?}");
    }
    assert!(routes.create("c", &[new("10.1.1.0/24", 2)]).await[0].is_err());
    assert_eq!(
        summary(&routes.list("c").await.unwrap()),
        "c-10.1.1.0/24 -> i-00000001, c-10.1.2.0/24 -> i-00000002"
    );
    assert_eq!(fixture.count("DeleteRoute"), 1);
}

#[tokio::test]
async fn a_route_that_is_gone_is_deleted() {
    let fixture = Fixture::start(1).await;
    let aws = fixture.aws();
    let route = Route {
        name: "c-10.1.1.0/24".into(),
        destination: "10.1.1.0/24".parse().unwrap(),
        target: RouteTarget::Blackhole,
        addresses: None,
    };
    let deleted = aws.routes().unwrap().delete("c", &[route]).await;
    assert!(deleted[0].is_ok(), "{deleted:?}");
}

#[tokio::test]
async fn a_full_route_table_is_a_quota() {
    let fixture = Fixture::start(1).await;
    fixture.refuse("CreateRoute", 400, "RouteLimitExceeded", "too many");
    let created = fixture
        .aws()
        .routes()
        .unwrap()
        .create("c", &[new("10.1.1.0/24", 1)])
        .await;
    assert!(matches!(created[0], Err(cloud::Error::Quota { .. })), "{created:?}");
}
