//! Routes: created once, deleted as listed, other clusters' left alone.

use crate::{
    Case, Fixture, Stop, WriteFault,
    case::{case, check, same},
    objects::cidr,
};
use cloud::{Answer, Detail, IpFamily, NewRoute, NodeRef, Route, RouteTarget};
use ipnet::IpNet;
use std::collections::BTreeSet;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!("routes: a new cluster has none", none),
        case!("routes: empty batches have no answers", empty_batches),
        case!("routes: a batch is created and listed", create),
        case!("routes: creating again makes no second one", create_again),
        case!("routes: creating one twice in a batch makes one", create_twice_in_batch),
        case!(
            "routes: creating again after a lost answer makes no second one",
            create_after_lost_answer
        ),
        case!(
            "routes: a destination that leads to another node is not taken over",
            not_taken_over
        ),
        case!("routes: a batch is deleted as listed", delete),
        case!("routes: deleting one that is gone is a success", delete_gone),
        case!("routes: another cluster's are left alone", other_cluster),
        case!("routes: IPv4 and IPv6 side by side", both_families),
        case!(
            "routes: addresses, where they are reported, are those of the node",
            addresses
        ),
        case!("routes: forty at once", many),
    ]
}

async fn none(fixture: &Fixture) -> Result<(), Stop> {
    same!(
        fixture.list_routes(&fixture.cluster("")).await?,
        Vec::new(),
        "the routes of a new cluster"
    );
    Ok(())
}

async fn empty_batches(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    fixture.create_routes(&cluster, &[]).await?;
    fixture.delete_routes(&cluster, &[]).await?;
    listed(fixture, &cluster, &[]).await
}

async fn create(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 3, &[IpFamily::V4]).await?;
    fixture.create_routes(&cluster, &new).await?;
    listed(fixture, &cluster, &new).await
}

async fn create_again(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 2, &[IpFamily::V4]).await?;
    for _ in 0..3 {
        fixture.create_routes(&cluster, &new).await?;
    }
    listed(fixture, &cluster, &new).await
}

async fn create_twice_in_batch(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 1, &[IpFamily::V4]).await?;
    fixture
        .create_routes(&cluster, &[new.clone(), new.clone()].concat())
        .await?;
    listed(fixture, &cluster, &new).await
}

async fn create_after_lost_answer(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 1, &[IpFamily::V4]).await?;
    fixture.world().spoil_next_write(WriteFault::LosesAnswer).await?;
    // A provider may notice by itself that the answer was lost, and succeed.
    let _ = fixture.routes()?.create(&cluster, &new).await;
    fixture.create_routes(&cluster, &new).await?;
    listed(fixture, &cluster, &new).await
}

async fn not_taken_over(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 2, &[IpFamily::V4]).await?;
    let first = std::slice::from_ref(&new[0]);
    fixture.create_routes(&cluster, first).await?;
    let rival = NewRoute {
        destination: new[0].destination,
        ..new[1].clone()
    };
    let answers = fixture.routes()?.create(&cluster, &[rival]).await;
    check!(
        answers.len() == 1 && answers[0].is_err(),
        "a destination that is taken was answered with {answers:?}"
    );
    listed(fixture, &cluster, first).await
}

async fn delete(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 3, &[IpFamily::V4]).await?;
    fixture.create_routes(&cluster, &new).await?;
    let routes = fixture.list_routes(&cluster).await?;
    let (some, rest): (Vec<Route>, Vec<Route>) = routes
        .into_iter()
        .partition(|route| route.destination == new[1].destination);
    fixture.delete_routes(&cluster, &some).await?;
    listed(fixture, &cluster, &[new[0].clone(), new[2].clone()]).await?;
    fixture.delete_routes(&cluster, &rest).await?;
    listed(fixture, &cluster, &[]).await
}

async fn delete_gone(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 2, &[IpFamily::V4]).await?;
    fixture.create_routes(&cluster, &new).await?;
    let routes = fixture.list_routes(&cluster).await?;
    fixture.delete_routes(&cluster, &routes[..1]).await?;
    fixture.delete_routes(&cluster, &routes).await?;
    fixture.delete_routes(&cluster, &routes).await?;
    listed(fixture, &cluster, &[]).await
}

async fn other_cluster(fixture: &Fixture) -> Result<(), Stop> {
    if fixture.world().marks().are_configured() {
        return Err(Stop::unable(
            "tell the routes of clusters apart by --cluster-name: its configuration names the route table",
        ));
    }
    let (cluster, other) = (fixture.cluster(""), fixture.cluster("-other"));
    let all = new_routes(fixture, 4, &[IpFamily::V4]).await?;
    let (ours, theirs) = all.split_at(2);
    fixture.create_routes(&cluster, ours).await?;
    fixture.create_routes(&other, theirs).await?;
    listed(fixture, &cluster, ours).await?;
    listed(fixture, &other, theirs).await?;
    let routes = fixture.list_routes(&cluster).await?;
    fixture.delete_routes(&cluster, &routes).await?;
    listed(fixture, &cluster, &[]).await?;
    listed(fixture, &other, theirs).await
}

async fn both_families(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 2, &[IpFamily::V4, IpFamily::V6]).await?;
    fixture.create_routes(&cluster, &new).await?;
    listed(fixture, &cluster, &new).await?;
    let routes = fixture.list_routes(&cluster).await?;
    let v6: Vec<Route> = routes
        .into_iter()
        .filter(|route| matches!(route.destination, IpNet::V6(_)))
        .collect();
    fixture.delete_routes(&cluster, &v6).await?;
    let v4: Vec<NewRoute> = new
        .into_iter()
        .filter(|route| matches!(route.destination, IpNet::V4(_)))
        .collect();
    listed(fixture, &cluster, &v4).await
}

async fn addresses(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let new = new_routes(fixture, 1, &[IpFamily::V4]).await?;
    fixture.create_routes(&cluster, &new).await?;
    for route in fixture.list_routes(&cluster).await? {
        let addresses = route
            .addresses
            .as_ref()
            .is_none_or(|addresses| addresses.iter().all(|one| new[0].addresses.contains(one)));
        check!(
            addresses,
            "the route uses {:?}, the node has {:?}",
            route.addresses,
            new[0].addresses
        );
    }
    Ok(())
}

async fn many(fixture: &Fixture) -> Result<(), Stop> {
    let cluster = fixture.cluster("");
    let machines = u8::try_from(fixture.world().most_machines().min(40)).unwrap_or(40);
    let nodes = new_routes(fixture, machines, &[IpFamily::V4]).await?;
    let mut new: Vec<NewRoute> = nodes.iter().cycle().take(40).cloned().collect();
    for (route, number) in new.iter_mut().zip(0..) {
        route.destination = cidr(IpFamily::V4, number);
    }
    fixture.create_routes(&cluster, &new).await?;
    listed(fixture, &cluster, &new).await?;
    let routes = fixture.list_routes(&cluster).await?;
    fixture.delete_routes(&cluster, &routes).await?;
    listed(fixture, &cluster, &[]).await
}

/// One route a node and family, to machines that exist.
pub(crate) async fn new_routes(fixture: &Fixture, nodes: u8, families: &[IpFamily]) -> Result<Vec<NewRoute>, Stop> {
    fixture.routes()?;
    let mut new = Vec::new();
    for number in 0..nodes {
        let node = fixture.machine(&format!("{number}")).await?;
        let addresses = node_addresses(fixture, &node).await?;
        new.extend(families.iter().map(|family| NewRoute {
            hint: format!("00000000-0000-4000-8000-0000000000{number:02x}"),
            node: node.name.clone(),
            provider_id: node.provider_id.clone(),
            addresses: addresses.clone(),
            destination: cidr(*family, number),
        }));
    }
    Ok(new)
}

async fn node_addresses(fixture: &Fixture, node: &NodeRef) -> Result<Vec<cloud::Address>, Stop> {
    match fixture.describe_one(node, Detail::Full).await? {
        Answer::Found(instance) => Ok(instance.addresses),
        other => Err(Stop::Failed(format!("a new machine is {other:?}"))),
    }
}

/// The cluster has exactly these routes, according to the provider and the operator.
async fn listed(fixture: &Fixture, cluster: &str, expected: &[NewRoute]) -> Result<(), Stop> {
    let routes = fixture.list_routes(cluster).await?;
    let listed: BTreeSet<_> = routes
        .iter()
        .map(|route| (route.destination, target(route, expected)))
        .collect();
    same!(
        listed,
        expected.iter().map(|new| (new.destination, new.node.clone())).collect(),
        "the routes of {cluster}"
    );
    same!(routes.len(), expected.len(), "the number of routes listed");
    match fixture.world().count_routes(cluster).await {
        Ok(count) => same!(count, expected.len(), "the routes that the operator sees"),
        Err(Stop::Unable(_)) => {}
        Err(stop) => return Err(stop),
    }
    Ok(())
}

/// The node that a route leads to, by its name.
fn target(route: &Route, expected: &[NewRoute]) -> String {
    let is_target = |new: &&NewRoute| {
        let id = new.provider_id.as_ref().map(cloud::ProviderId::as_str);
        route.target.is(&new.node, id)
    };
    match (expected.iter().find(is_target), &route.target) {
        (Some(new), _) => new.node.clone(),
        (None, RouteTarget::Node(node)) => node.clone(),
        (None, other) => format!("{other:?}"),
    }
}
