//! Routes on the simulation: the number of calls, ownership, and failures.

use crate::fixture::Fixture;
use cloud::{Address, AddressKind, NewRoute, Provider as _, Route, RouteTarget};
use futures::future::join_all;
use openstack_sim::{Cloud, Fault, Net, RouteView, ServerSpec, ServerView, Service, Settings};
use rstest::rstest;
use std::{ops::Deref, time::Duration};

const CLUSTER: &str = "blue";

/// A cloud with a network and a router, and a provider of its routes.
struct RouterFixture {
    base: Fixture,
    net: Net,
}

impl Deref for RouterFixture {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.base
    }
}

impl RouterFixture {
    async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    async fn without(extensions: &[&str]) -> Self {
        Self::with(Settings {
            extensions_off: extensions.iter().map(|&alias| alias.to_owned()).collect(),
            ..Settings::default()
        })
        .await
    }

    async fn with(settings: Settings) -> Self {
        let cloud = Cloud::with(settings);
        let net = cloud.create_network("private", "10.77.0.0/16");
        let router = net.router.to_string();
        let base = Fixture::on(cloud, |config| config.router_id = Some(router)).await;
        Self { base, net }
    }

    /// Requests time out soon.
    async fn impatient(extensions_off: &[&str]) -> Self {
        let mut fixture = Self::without(extensions_off).await;
        let router = fixture.net.router.to_string();
        fixture.base = Fixture::on(fixture.cloud.clone(), |config| {
            config.router_id = Some(router);
            config.request_timeout = Duration::from_secs(2);
        })
        .await;
        fixture
    }

    /// Another process on the same cloud.
    async fn restarted(self) -> Self {
        let router = self.net.router.to_string();
        let base = Fixture::on(self.cloud.clone(), |config| config.router_id = Some(router)).await;
        Self { base, net: self.net }
    }

    fn boot(&self, name: &str) -> ServerView {
        self.cloud.boot_as(ServerSpec {
            networks: vec![self.net.clone()],
            ..ServerSpec::new(name)
        })
    }

    fn nodes(&self, count: u8) -> Vec<(ServerView, NewRoute)> {
        let node = |number| {
            let server = self.boot(&format!("node-{number}"));
            let route = route_to(&server, number);
            (server, route)
        };
        (0..count).map(node).collect()
    }

    fn routes(&self) -> &dyn cloud::Routes {
        self.provider.routes().expect("a router is configured")
    }

    async fn create(&self, routes: &[NewRoute]) -> Vec<String> {
        let answers = self.routes().create(CLUSTER, routes).await;
        answers
            .into_iter()
            .map(|answer| answer.map_or_else(|error| error.report(), |()| "ok".to_owned()))
            .collect()
    }

    async fn delete(&self, routes: &[Route]) -> Vec<String> {
        let answers = self.routes().delete(CLUSTER, routes).await;
        answers
            .into_iter()
            .map(|answer| answer.map_or_else(|error| error.report(), |()| "ok".to_owned()))
            .collect()
    }

    async fn list(&self) -> Vec<Route> {
        self.routes().list(CLUSTER).await.expect("a list")
    }

    fn there(&self) -> Vec<String> {
        let routes = self.cloud.routes(self.net.router);
        routes
            .iter()
            .map(|route| format!("{} via {}", route.destination, route.nexthop))
            .collect()
    }

    fn by_hand(&self, destination: &str, nexthop: &str) {
        let mut routes = self.cloud.routes(self.net.router);
        routes.push(RouteView {
            destination: destination.parse().expect("valid"),
            nexthop: nexthop.parse().expect("valid"),
        });
        self.cloud.set_routes(self.net.router, &routes);
    }

    fn pairs(&self, server: &ServerView) -> Vec<String> {
        self.cloud.port(server.ports[0]).expect("a port").pairs
    }
}

fn route_to(server: &ServerView, number: u8) -> NewRoute {
    NewRoute {
        hint: format!("uid-{number}"),
        node: server.name.clone(),
        provider_id: cloud::ProviderId::parse(format!("openstack:///{}", server.id)),
        addresses: vec![Address::new(AddressKind::InternalIP, server.addresses[0].to_string())],
        destination: format!("10.244.{number}.0/24").parse().expect("valid"),
    }
}

// upstream: openstack 68
#[rstest]
#[case("atomic create/delete", &[], "1 router_update")]
#[case("classic create/delete", &["extraroute-atomic"], "1 router_update")]
#[tokio::test]
async fn create_and_delete(#[case] what: &str, #[case] off: &[&str], #[case] updates: &str) {
    let fixture = RouterFixture::without(off).await;
    let nodes = fixture.nodes(20);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    fixture.list().await;

    let mark = fixture.cloud.mark();
    assert_eq!(fixture.create(&new).await, ["ok"; 20], "{what}");
    let calls = fixture.calls(mark);
    assert!(
        calls.ends_with(updates) && calls.contains("1 router_get") && calls.contains("20 port_update"),
        "{calls}"
    );
    assert_eq!(fixture.there().len(), 20);
    assert!(
        nodes
            .iter()
            .all(|(server, route)| fixture.pairs(server) == [route.destination.to_string()])
    );

    let listed = fixture.list().await;
    let target = |node: &NewRoute| RouteTarget::Node(node.node.clone());
    assert!(
        listed
            .iter()
            .zip(&new)
            .all(|(route, node)| route.target == target(node))
    );

    let mark = fixture.cloud.mark();
    assert_eq!(fixture.delete(&listed).await, ["ok"; 20]);
    assert!(fixture.calls(mark).ends_with(updates), "{}", fixture.calls(mark));
    assert_eq!(fixture.there(), Vec::<String>::new());
    for (server, _) in &nodes {
        assert_eq!(fixture.pairs(server), Vec::<String>::new());
        assert!(fixture.cloud.port(server.ports[0]).unwrap().tags.is_empty());
    }
    assert_eq!(fixture.cloud.unknown(), Vec::<String>::new());
    assert_eq!(fixture.cloud.unrecorded(), Vec::<String>::new());
}

#[tokio::test]
async fn an_unchanged_list_is_two_calls() {
    let fixture = RouterFixture::new().await;
    let new: Vec<NewRoute> = fixture.nodes(30).into_iter().map(|(_, route)| route).collect();
    fixture.create(&new).await;
    let mark = fixture.cloud.mark();
    assert_eq!(fixture.list().await.len(), 30);
    assert_eq!(fixture.calls(mark), "1 port_list, 1 router_get");
}

// upstream: openstack 68
#[rstest]
#[case("blackhole")]
#[tokio::test]
async fn blackhole(#[case] what: &str) {
    let fixture = RouterFixture::new().await;
    let nodes = fixture.nodes(2);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    fixture.create(&new).await;
    fixture.cloud.delete_server(nodes[0].0.id);
    let listed = fixture.list().await;
    let gone: Vec<Route> = listed
        .into_iter()
        .filter(|route| route.target == RouteTarget::Blackhole)
        .collect();
    assert_eq!(gone.len(), 1, "{what}");
    assert_eq!(fixture.delete(&gone).await, ["ok"]);
    assert_eq!(fixture.there().len(), 1);
}

#[tokio::test]
async fn a_blackhole_of_an_earlier_process_is_ours_if_it_is_next_to_our_nodes() {
    let fixture = RouterFixture::new().await;
    let nodes = fixture.nodes(2);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    fixture.create(&new).await;
    fixture.cloud.delete_server(nodes[0].0.id);
    let fixture = fixture.restarted().await;
    // Not as long as a node's; not beside our nodes; far from our ranges.
    fixture.by_hand("10.244.9.0/26", "10.77.200.1");
    fixture.by_hand("10.244.9.0/24", "192.0.2.1");
    fixture.by_hand("10.99.9.0/24", "10.77.200.1");
    let listed = fixture.list().await;
    let gone: Vec<&Route> = listed
        .iter()
        .filter(|route| route.target == RouteTarget::Blackhole)
        .collect();
    assert_eq!(gone.len(), 1, "{gone:?}");
    assert_eq!(gone[0].destination, new[0].destination);
}

// upstream: openstack 68
#[rstest]
#[case("AAP extension off", &["allowed-address-pairs"])]
#[case("AAP extension and tags off", &["allowed-address-pairs", "standard-attr-tag"])]
#[tokio::test]
async fn without_pairs(#[case] what: &str, #[case] off: &[&str]) {
    let fixture = RouterFixture::without(off).await;
    let nodes = fixture.nodes(2);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    assert_eq!(fixture.create(&new).await, ["ok", "ok"], "{what}");
    assert!(nodes.iter().all(|(server, _)| fixture.pairs(server).is_empty()));
    let listed = fixture.list().await;
    assert_eq!(listed.len(), 2);
    assert_eq!(fixture.delete(&listed).await, ["ok", "ok"]);
    assert_eq!(fixture.there(), Vec::<String>::new());
}

/// If ports need no change, an invisible port is no obstacle, and the route has its node.
#[rstest]
#[case::needed(&[], "does not reach exactly one such port", None)]
#[case::pairs_unknown(&["allowed-address-pairs"], "ok", Some(RouteTarget::Node("hidden".into())))]
#[case::tags_unknown_too(&["allowed-address-pairs", "standard-attr-tag"], "ok", Some(RouteTarget::Node("hidden".into())))]
#[tokio::test]
async fn an_invisible_port(#[case] off: &[&str], #[case] expected: &str, #[case] target: Option<RouteTarget>) {
    let fixture = RouterFixture::without(off).await;
    let (_, seen) = fixture.nodes(1).remove(0);
    let hidden = NewRoute {
        node: "hidden".to_owned(),
        provider_id: None,
        addresses: vec![Address::new(AddressKind::InternalIP, "10.77.200.9")],
        destination: "10.244.9.0/24".parse().expect("valid"),
        ..seen.clone()
    };
    let answers = fixture.create(&[seen, hidden.clone()]).await;
    assert_eq!(answers[0], "ok");
    assert!(answers[1].contains(expected), "{answers:?}");
    let listed = fixture.list().await;
    let listed: Vec<&Route> = listed
        .iter()
        .filter(|route| route.destination == hidden.destination)
        .collect();
    assert_eq!(listed.first().map(|route| route.target.clone()), target);
    for route in listed {
        assert_eq!(fixture.delete(std::slice::from_ref(route)).await, ["ok"]);
    }
    assert_eq!(fixture.there().len(), 1, "{:?}", fixture.there());
}

// upstream: openstack 68
#[rstest]
#[case("port security off")]
#[tokio::test]
async fn without_port_security(#[case] what: &str) {
    let fixture = RouterFixture::new().await;
    let nodes = fixture.nodes(1);
    fixture.cloud.disable_port_security(nodes[0].0.ports[0]);
    assert_eq!(fixture.create(&[nodes[0].1.clone()]).await, ["ok"], "{what}");
    assert_eq!(fixture.pairs(&nodes[0].0), Vec::<String>::new());
    assert_eq!(fixture.list().await.len(), 1);
}

// upstream: openstack 68
#[rstest]
#[case("foreign route outside our CIDRs kept", "172.16.0.0/24", "10.77.250.1")]
#[case("foreign route inside our CIDRs kept", "10.244.200.0/26", "10.77.250.1")]
#[tokio::test]
async fn foreign(#[case] what: &str, #[case] destination: &str, #[case] nexthop: &str) {
    for off in [&[][..], &["extraroute-atomic"][..]] {
        let fixture = RouterFixture::without(off).await;
        fixture.by_hand(destination, nexthop);
        let new: Vec<NewRoute> = fixture.nodes(2).into_iter().map(|(_, route)| route).collect();
        fixture.create(&new).await;
        let listed = fixture.list().await;
        assert_eq!(listed.len(), 2, "{what}: {listed:?}");
        fixture.delete(&listed).await;
        assert_eq!(fixture.there(), [format!("{destination} via {nexthop}")]);
    }
}

#[tokio::test]
async fn a_route_of_another_cluster_is_neither_listed_nor_taken_over() {
    let fixture = RouterFixture::new().await;
    let nodes = fixture.nodes(2);
    let theirs = std::slice::from_ref(&nodes[0].1);
    assert!(fixture.routes().create("red", theirs).await[0].is_ok());
    let fixture = fixture.restarted().await;
    assert_eq!(fixture.list().await, []);
    let rival = NewRoute {
        destination: theirs[0].destination,
        ..nodes[1].1.clone()
    };
    let answer = fixture.create(&[rival]).await;
    assert!(answer[0].contains("is another machine"), "{answer:?}");
    assert_eq!(fixture.pairs(&nodes[1].0), Vec::<String>::new());
}

#[tokio::test]
async fn a_stale_route_to_a_reassigned_range_is_replaced() {
    for off in [&[][..], &["extraroute-atomic"][..]] {
        let fixture = RouterFixture::without(off).await;
        fixture.by_hand("10.244.0.0/24", "10.77.250.1");
        let new = fixture.nodes(1).remove(0).1;
        let next = new.addresses[0].address.clone();
        assert_eq!(fixture.create(&[new]).await, ["ok"]);
        assert_eq!(fixture.there(), [format!("10.244.0.0/24 via {next}")]);
    }
}

/// On a network of another project ports are hidden: a next hop without a visible port may be a machine.
#[tokio::test]
async fn a_route_to_an_invisible_port_is_kept() {
    for off in [&[][..], &["extraroute-atomic"][..]] {
        let fixture = RouterFixture::without(off).await;
        let cloud = &fixture.cloud;
        let hidden = cloud.create_port(fixture.net.network, "theirs", Some("10.77.250.1".parse().unwrap()));
        cloud.give_port(hidden.unwrap(), "admin");
        fixture.by_hand("10.244.0.0/24", "10.77.250.1");
        let node = fixture.nodes(1).remove(0);
        let new = std::slice::from_ref(&node.1);
        let seen = fixture.create(new).await;
        assert!(
            seen[0].contains("leads to 10.77.250.1 already, which is another"),
            "{seen:?}"
        );

        cloud.give_network(fixture.net.network, "admin");
        let unseen = fixture.create(new).await;
        assert!(
            unseen[0].contains("leads to 10.77.250.1 already, where another"),
            "{unseen:?}"
        );
        assert_eq!(fixture.there(), ["10.244.0.0/24 via 10.77.250.1"]);
        assert_eq!(fixture.pairs(&node.0), Vec::<String>::new());
        assert_eq!(cloud.unrecorded(), Vec::<String>::new());
    }
}

/// A route that this process created belongs to the cluster, whatever its port.
#[tokio::test]
async fn an_own_route_is_replaced_with_any_next_hop() {
    let fixture = RouterFixture::new().await;
    fixture.cloud.give_network(fixture.net.network, "admin");
    let (old, route) = fixture.nodes(1).remove(0);
    assert_eq!(fixture.create(&[route]).await, ["ok"]);
    fixture.cloud.delete_server(old.id);
    let moved = route_to(&fixture.boot("moved"), 0);
    let next = moved.addresses[0].address.clone();
    assert_eq!(fixture.create(&[moved]).await, ["ok"]);
    assert_eq!(fixture.there(), [format!("10.244.0.0/24 via {next}")]);
}

// upstream: openstack 50
#[rstest]
#[case("unwinder runs on failure", Some(500), 0)]
#[case("unwinder does not run after disarm", None, 1)]
#[tokio::test]
async fn a_failed_change_is_rolled_back(#[case] what: &str, #[case] status: Option<u16>, #[case] pairs: usize) {
    let fixture = RouterFixture::new().await;
    let nodes = fixture.nodes(1);
    let fault = status.map(|status| fixture.cloud.inject(Fault::status(status).operation("router_update")));
    let answer = fixture.create(&[nodes[0].1.clone()]).await;
    assert_eq!(answer[0] == "ok", fault.is_none(), "{answer:?}");
    assert_eq!(fixture.pairs(&nodes[0].0).len(), pairs, "{what}");
}

#[tokio::test]
async fn one_bad_node_does_not_stop_the_others() {
    let fixture = RouterFixture::new().await;
    let elsewhere = fixture.cloud.create_network("elsewhere", "10.88.0.0/16");
    let stray = fixture.cloud.boot_as(ServerSpec {
        networks: vec![elsewhere],
        ..ServerSpec::new("stray")
    });
    let mut new: Vec<NewRoute> = fixture.nodes(3).into_iter().map(|(_, route)| route).collect();
    new.insert(1, route_to(&stray, 9));
    let nowhere = NewRoute {
        addresses: Vec::new(),
        ..new[0].clone()
    };
    new.push(nowhere);
    let answers = fixture.create(&new).await;
    assert_eq!([&answers[0], &answers[2], &answers[3]], ["ok", "ok", "ok"]);
    assert!(answers[1].contains("nexthop"), "{answers:?}");
    assert!(answers[4].contains("no InternalIP"), "{answers:?}");
    assert_eq!(fixture.pairs(&stray), Vec::<String>::new());
    assert_eq!(fixture.there().len(), 3);
}

/// Another client changes the router between the read and the write.
#[tokio::test]
async fn a_classic_update_never_overwrites_that_of_another_client() {
    let fixture = RouterFixture::without(&["extraroute-atomic"]).await;
    let new = fixture.nodes(1).remove(0).1;
    let cloud = &fixture.cloud;
    let held = cloud.inject(Fault::hang().operation("router_update").times(1));
    let mark = cloud.mark();
    let wanted = [new.clone()];
    let meanwhile = async {
        cloud.until(|cloud| cloud.struck(held) > 0).await;
        fixture.by_hand("172.16.0.0/24", "10.77.250.1");
        cloud.withdraw(held);
    };
    let (answers, ()) = tokio::join!(fixture.create(&wanted), meanwhile);
    assert_eq!(answers, ["ok"]);
    let calls = fixture.calls(mark);
    assert!(calls.contains("2 router_get, 2 router_update"), "{calls}");
    let mut there = fixture.there();
    there.sort();
    let ours = format!("{} via {}", new.destination, new.addresses[0].address);
    assert_eq!(there, [ours, "172.16.0.0/24 via 10.77.250.1".to_owned()]);
}

/// Reads and changes are concurrent, and none of them sees half of another one's work.
#[tokio::test]
async fn reads_and_changes_are_concurrent() {
    let fixture = RouterFixture::new().await;
    let new: Vec<NewRoute> = fixture.nodes(8).into_iter().map(|(_, route)| route).collect();
    let changes = new.chunks(2).map(|some| fixture.create(some));
    let looks = (0..8).map(|_| fixture.list());
    let (made, seen) = tokio::join!(join_all(changes), join_all(looks));
    assert!(made.iter().flatten().all(|outcome| outcome == "ok"), "{made:?}");
    let wanted = |route: &Route| new.iter().any(|new| new.destination == route.destination);
    assert!(seen.iter().flatten().all(wanted), "{seen:?}");
    assert_eq!(fixture.list().await.len(), new.len());
}

/// Routes that are requested before their owner is known, as right after occm, cost no write.
#[tokio::test]
async fn load_balancers_of_occm_are_kept() {
    // It allows the addresses, and sets no tag.
    let fixture = RouterFixture::without(&["standard-attr-tag"]).await;
    let new: Vec<NewRoute> = fixture.nodes(3).into_iter().map(|(_, route)| route).collect();
    assert_eq!(fixture.create(&new).await, ["ok"; 3]);
    fixture.cloud.configure(|settings| settings.extensions_off.clear());
    let fixture = fixture.restarted().await;
    let mark = fixture.cloud.mark();
    assert_eq!(fixture.create(&new).await, ["ok"; 3]);
    let writes = fixture.cloud.writes_since(mark);
    let writes: Vec<_> = writes
        .iter()
        .map(|call| call.operation)
        .filter(|name| *name != "token_create")
        .collect();
    assert_eq!(writes, [""; 0]);
    assert_eq!(fixture.list().await.len(), 3);
}

#[tokio::test]
async fn a_missing_router_is_named() {
    let fixture = RouterFixture::new().await;
    fixture.cloud.delete_router(fixture.net.router);
    let error = fixture.routes().list(CLUSTER).await.unwrap_err();
    assert!(
        error.to_string().starts_with("invalid router-id: there is no router"),
        "{error}"
    );
}

/// All objects of routes: on the router and on the ports.
fn traces(fixture: &RouterFixture, nodes: &[(ServerView, NewRoute)]) -> Vec<String> {
    let mut traces = fixture.there();
    traces.sort();
    for (server, _) in nodes {
        let port = fixture.cloud.port(server.ports[0]).expect("a port");
        traces.push(format!("{} {:?} {:?}", server.name, port.pairs, port.tags));
    }
    traces
}

/// Tags may stay on ports: they only identify the owner of routes.
fn routes_and_pairs(traces: &[String]) -> Vec<String> {
    traces
        .iter()
        .map(|trace| trace.replace("{\"kube_route_blue\"}", "{}"))
        .collect()
}

/// Whichever call fails once: nothing is lost, and a retry succeeds.
#[rstest]
#[case::unauthorized(|| Fault::status(401))]
#[case::not_found(|| Fault::status(404))]
#[case::conflict(|| Fault::status(409))]
#[case::throttled(|| Fault::status(429).retry_after("0"))]
#[case::error(|| Fault::status(500))]
#[case::unavailable(|| Fault::status(503))]
#[case::lost(Fault::lose_answer)]
#[case::hanging(Fault::hang)]
#[case::truncated(Fault::truncate)]
#[case::reset(Fault::reset)]
#[tokio::test]
async fn retries_after_any_failure_of_a_call(
    #[case] fault: fn() -> Fault,
    #[values(
        "router_get",
        "router_update",
        "network_extension_list",
        "port_tag_add",
        "port_tag_delete"
    )]
    call: &str,
    #[values(&[], &["extraroute-atomic"])] off: &[&str],
) {
    // On a busy machine only a call that is never answered may time out.
    let fixture = if fault() == Fault::hang() {
        RouterFixture::impatient(off).await
    } else {
        RouterFixture::without(off).await
    };
    let cloud = fixture.cloud.clone();
    fixture.by_hand("172.16.0.0/24", "10.77.250.1");
    let nodes = fixture.nodes(2);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    let untouched = traces(&fixture, &nodes);

    let first = cloud.inject(fault().operation(call).times(1));
    fixture.create(&new).await;
    cloud.withdraw_all();
    assert_eq!(fixture.create(&new).await, ["ok", "ok"]);
    assert_eq!(fixture.there().len(), 3);
    let listed = fixture.list().await;
    assert_eq!(listed.len(), 2);

    let second = cloud.inject(fault().operation(call).times(1));
    fixture.delete(&listed).await;
    cloud.withdraw_all();
    let left = fixture.list().await;
    assert!(fixture.delete(&left).await.iter().all(|answer| answer == "ok"));
    assert_eq!(routes_and_pairs(&traces(&fixture, &nodes)), untouched);
    assert!(cloud.struck(first) + cloud.struck(second) > 0, "it was never called");
}

/// Whichever call fails or loses its answer: a retry, also in another process, has the same result.
#[rstest]
#[case::refused(|| Fault::answer(501, "injected fault"))]
#[case::lost(Fault::lose_answer)]
#[tokio::test]
async fn retries_after_a_failure_at_any_call(
    #[case] fault: fn() -> Fault,
    #[values(&[], &["extraroute-atomic"])] off: &[&str],
) {
    const CALLS: u64 = 12;
    for skip in 0..CALLS {
        let fixture = RouterFixture::without(off).await;
        fixture.by_hand("172.16.0.0/24", "10.77.250.1");
        let nodes = fixture.nodes(2);
        let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
        let untouched = traces(&fixture, &nodes);

        fixture
            .cloud
            .inject(fault().service(Service::Neutron).skip(skip).times(1));
        fixture.create(&new).await;
        fixture.cloud.withdraw_all();
        let fixture = fixture.restarted().await;
        assert_eq!(fixture.create(&new).await, ["ok", "ok"], "create, call {skip}");
        assert_eq!(fixture.there().len(), 3, "create, call {skip}");
        assert!(
            nodes
                .iter()
                .all(|(server, route)| fixture.pairs(server) == [route.destination.to_string()])
        );

        let listed = fixture.list().await;
        assert_eq!(listed.len(), 2, "list, call {skip}");
        fixture
            .cloud
            .inject(fault().service(Service::Neutron).skip(skip).times(1));
        fixture.delete(&listed).await;
        fixture.cloud.withdraw_all();
        let fixture = fixture.restarted().await;
        let left = fixture.list().await;
        fixture.delete(&left).await;
        let there = traces(&fixture, &nodes);
        assert_eq!(routes_and_pairs(&there), untouched, "delete, call {skip}");
    }
}
