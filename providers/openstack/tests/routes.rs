//! Routes on the simulation: the number of calls, ownership, and failures.

mod support;

use cloud::{Address, AddressKind, NewRoute, Provider as _, Route, RouteTarget};
use futures::future::join_all;
use openstack_sim::{Cloud, Fault, Net, RouteView, ServerSpec, ServerView, Service, Settings};
use rstest::rstest;
use std::time::Duration;
use support::Rig;

const CLUSTER: &str = "blue";

struct Stage {
    rig: Rig,
    net: Net,
}

impl Stage {
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
        let rig = Rig::on(cloud, |config| config.router_id = Some(router)).await;
        Self { rig, net }
    }

    /// Whoever does not answer is given up soon.
    async fn impatient(extensions_off: &[&str]) -> Self {
        let mut stage = Self::without(extensions_off).await;
        let router = stage.net.router.to_string();
        stage.rig = Rig::on(stage.rig.cloud.clone(), |config| {
            config.router_id = Some(router);
            config.request_timeout = Duration::from_secs(2);
        })
        .await;
        stage
    }

    /// Another process on the same cloud.
    async fn restarted(self) -> Self {
        let router = self.net.router.to_string();
        let rig = Rig::on(self.rig.cloud.clone(), |config| config.router_id = Some(router)).await;
        Self { rig, net: self.net }
    }

    fn boot(&self, name: &str) -> ServerView {
        self.rig.cloud.boot_as(ServerSpec {
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
        self.rig.provider.routes().expect("a router is configured")
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
        let routes = self.rig.cloud.routes(self.net.router);
        routes
            .iter()
            .map(|route| format!("{} via {}", route.destination, route.nexthop))
            .collect()
    }

    fn by_hand(&self, destination: &str, nexthop: &str) {
        let mut routes = self.rig.cloud.routes(self.net.router);
        routes.push(RouteView {
            destination: destination.parse().expect("valid"),
            nexthop: nexthop.parse().expect("valid"),
        });
        self.rig.cloud.set_routes(self.net.router, &routes);
    }

    fn pairs(&self, server: &ServerView) -> Vec<String> {
        self.rig.cloud.port(server.ports[0]).expect("a port").pairs
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
    let stage = Stage::without(off).await;
    let nodes = stage.nodes(20);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    stage.list().await;

    let mark = stage.rig.cloud.mark();
    assert_eq!(stage.create(&new).await, ["ok"; 20], "{what}");
    let calls = stage.rig.calls(mark);
    assert!(
        calls.ends_with(updates) && calls.contains("1 router_get") && calls.contains("20 port_update"),
        "{calls}"
    );
    assert_eq!(stage.there().len(), 20);
    assert!(
        nodes
            .iter()
            .all(|(server, route)| stage.pairs(server) == [route.destination.to_string()])
    );

    let listed = stage.list().await;
    let target = |node: &NewRoute| RouteTarget::Node(node.node.clone());
    assert!(
        listed
            .iter()
            .zip(&new)
            .all(|(route, node)| route.target == target(node))
    );

    let mark = stage.rig.cloud.mark();
    assert_eq!(stage.delete(&listed).await, ["ok"; 20]);
    assert!(stage.rig.calls(mark).ends_with(updates), "{}", stage.rig.calls(mark));
    assert_eq!(stage.there(), Vec::<String>::new());
    for (server, _) in &nodes {
        assert_eq!(stage.pairs(server), Vec::<String>::new());
        assert!(stage.rig.cloud.port(server.ports[0]).unwrap().tags.is_empty());
    }
    assert_eq!(stage.rig.cloud.unknown(), Vec::<String>::new());
    assert_eq!(stage.rig.cloud.unrecorded(), Vec::<String>::new());
}

#[tokio::test]
async fn an_unchanged_list_is_two_calls() {
    let stage = Stage::new().await;
    let new: Vec<NewRoute> = stage.nodes(30).into_iter().map(|(_, route)| route).collect();
    stage.create(&new).await;
    let mark = stage.rig.cloud.mark();
    assert_eq!(stage.list().await.len(), 30);
    assert_eq!(stage.rig.calls(mark), "1 port_list, 1 router_get");
}

// upstream: openstack 68
#[rstest]
#[case("blackhole")]
#[tokio::test]
async fn blackhole(#[case] what: &str) {
    let stage = Stage::new().await;
    let nodes = stage.nodes(2);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    stage.create(&new).await;
    stage.rig.cloud.delete_server(nodes[0].0.id);
    let listed = stage.list().await;
    let gone: Vec<Route> = listed
        .into_iter()
        .filter(|route| route.target == RouteTarget::Blackhole)
        .collect();
    assert_eq!(gone.len(), 1, "{what}");
    assert_eq!(stage.delete(&gone).await, ["ok"]);
    assert_eq!(stage.there().len(), 1);
}

#[tokio::test]
async fn a_blackhole_of_an_earlier_process_is_ours_if_it_is_next_to_our_nodes() {
    let stage = Stage::new().await;
    let nodes = stage.nodes(2);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    stage.create(&new).await;
    stage.rig.cloud.delete_server(nodes[0].0.id);
    let stage = stage.restarted().await;
    // Not as long as a node's; not beside our nodes; far from our ranges.
    stage.by_hand("10.244.9.0/26", "10.77.200.1");
    stage.by_hand("10.244.9.0/24", "192.0.2.1");
    stage.by_hand("10.99.9.0/24", "10.77.200.1");
    let listed = stage.list().await;
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
    let stage = Stage::without(off).await;
    let nodes = stage.nodes(2);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    assert_eq!(stage.create(&new).await, ["ok", "ok"], "{what}");
    assert!(nodes.iter().all(|(server, _)| stage.pairs(server).is_empty()));
    let listed = stage.list().await;
    assert_eq!(listed.len(), 2);
    assert_eq!(stage.delete(&listed).await, ["ok", "ok"]);
    assert_eq!(stage.there(), Vec::<String>::new());
}

/// If ports need no change, an invisible port is no obstacle, and the route has its node.
#[rstest]
#[case::needed(&[], "does not reach exactly one such port", None)]
#[case::pairs_unknown(&["allowed-address-pairs"], "ok", Some(RouteTarget::Node("hidden".into())))]
#[case::tags_unknown_too(&["allowed-address-pairs", "standard-attr-tag"], "ok", Some(RouteTarget::Node("hidden".into())))]
#[tokio::test]
async fn a_port_that_is_not_seen(#[case] off: &[&str], #[case] expected: &str, #[case] target: Option<RouteTarget>) {
    let stage = Stage::without(off).await;
    let (_, seen) = stage.nodes(1).remove(0);
    let hidden = NewRoute {
        node: "hidden".to_owned(),
        provider_id: None,
        addresses: vec![Address::new(AddressKind::InternalIP, "10.77.200.9")],
        destination: "10.244.9.0/24".parse().expect("valid"),
        ..seen.clone()
    };
    let answers = stage.create(&[seen, hidden.clone()]).await;
    assert_eq!(answers[0], "ok");
    assert!(answers[1].contains(expected), "{answers:?}");
    let listed = stage.list().await;
    let listed: Vec<&Route> = listed
        .iter()
        .filter(|route| route.destination == hidden.destination)
        .collect();
    assert_eq!(listed.first().map(|route| route.target.clone()), target);
    for route in listed {
        assert_eq!(stage.delete(std::slice::from_ref(route)).await, ["ok"]);
    }
    assert_eq!(stage.there().len(), 1, "{:?}", stage.there());
}

// upstream: openstack 68
#[rstest]
#[case("port security off")]
#[tokio::test]
async fn without_port_security(#[case] what: &str) {
    let stage = Stage::new().await;
    let nodes = stage.nodes(1);
    stage.rig.cloud.disable_port_security(nodes[0].0.ports[0]);
    assert_eq!(stage.create(&[nodes[0].1.clone()]).await, ["ok"], "{what}");
    assert_eq!(stage.pairs(&nodes[0].0), Vec::<String>::new());
    assert_eq!(stage.list().await.len(), 1);
}

// upstream: openstack 68
#[rstest]
#[case("foreign route outside our CIDRs kept", "172.16.0.0/24", "10.77.250.1")]
#[case("foreign route inside our CIDRs kept", "10.244.200.0/26", "10.77.250.1")]
#[tokio::test]
async fn foreign(#[case] what: &str, #[case] destination: &str, #[case] nexthop: &str) {
    for off in [&[][..], &["extraroute-atomic"][..]] {
        let stage = Stage::without(off).await;
        stage.by_hand(destination, nexthop);
        let new: Vec<NewRoute> = stage.nodes(2).into_iter().map(|(_, route)| route).collect();
        stage.create(&new).await;
        let listed = stage.list().await;
        assert_eq!(listed.len(), 2, "{what}: {listed:?}");
        stage.delete(&listed).await;
        assert_eq!(stage.there(), [format!("{destination} via {nexthop}")]);
    }
}

#[tokio::test]
async fn a_route_of_another_cluster_is_neither_listed_nor_taken_over() {
    let stage = Stage::new().await;
    let nodes = stage.nodes(2);
    let theirs = std::slice::from_ref(&nodes[0].1);
    assert!(stage.routes().create("red", theirs).await[0].is_ok());
    let stage = stage.restarted().await;
    assert_eq!(stage.list().await, []);
    let rival = NewRoute {
        destination: theirs[0].destination,
        ..nodes[1].1.clone()
    };
    let answer = stage.create(&[rival]).await;
    assert!(answer[0].contains("is another machine"), "{answer:?}");
    assert_eq!(stage.pairs(&nodes[1].0), Vec::<String>::new());
}

#[tokio::test]
async fn a_stale_route_to_a_reassigned_range_is_replaced() {
    for off in [&[][..], &["extraroute-atomic"][..]] {
        let stage = Stage::without(off).await;
        stage.by_hand("10.244.0.0/24", "10.77.250.1");
        let new = stage.nodes(1).remove(0).1;
        let next = new.addresses[0].address.clone();
        assert_eq!(stage.create(&[new]).await, ["ok"]);
        assert_eq!(stage.there(), [format!("10.244.0.0/24 via {next}")]);
    }
}

/// On a network of another project ports are hidden: a next hop without a visible port may be a machine.
#[tokio::test]
async fn a_route_to_an_invisible_port_is_kept() {
    for off in [&[][..], &["extraroute-atomic"][..]] {
        let stage = Stage::without(off).await;
        let cloud = &stage.rig.cloud;
        let hidden = cloud.create_port(stage.net.network, "theirs", Some("10.77.250.1".parse().unwrap()));
        cloud.give_port(hidden.unwrap(), "admin");
        stage.by_hand("10.244.0.0/24", "10.77.250.1");
        let node = stage.nodes(1).remove(0);
        let new = std::slice::from_ref(&node.1);
        let seen = stage.create(new).await;
        assert!(
            seen[0].contains("leads to 10.77.250.1 already, which is another"),
            "{seen:?}"
        );

        cloud.give_network(stage.net.network, "admin");
        let unseen = stage.create(new).await;
        assert!(
            unseen[0].contains("leads to 10.77.250.1 already, where another"),
            "{unseen:?}"
        );
        assert_eq!(stage.there(), ["10.244.0.0/24 via 10.77.250.1"]);
        assert_eq!(stage.pairs(&node.0), Vec::<String>::new());
        assert_eq!(cloud.unrecorded(), Vec::<String>::new());
    }
}

/// A route that this process created belongs to the cluster, whatever its port.
#[tokio::test]
async fn an_own_route_is_replaced_with_any_next_hop() {
    let stage = Stage::new().await;
    stage.rig.cloud.give_network(stage.net.network, "admin");
    let (old, route) = stage.nodes(1).remove(0);
    assert_eq!(stage.create(&[route]).await, ["ok"]);
    stage.rig.cloud.delete_server(old.id);
    let moved = route_to(&stage.boot("moved"), 0);
    let next = moved.addresses[0].address.clone();
    assert_eq!(stage.create(&[moved]).await, ["ok"]);
    assert_eq!(stage.there(), [format!("10.244.0.0/24 via {next}")]);
}

// upstream: openstack 50
#[rstest]
#[case("unwinder runs on failure", Some(500), 0)]
#[case("unwinder does not run after disarm", None, 1)]
#[tokio::test]
async fn undone(#[case] what: &str, #[case] status: Option<u16>, #[case] pairs: usize) {
    let stage = Stage::new().await;
    let nodes = stage.nodes(1);
    let fault = status.map(|status| stage.rig.cloud.inject(Fault::status(status).operation("router_update")));
    let answer = stage.create(&[nodes[0].1.clone()]).await;
    assert_eq!(answer[0] == "ok", fault.is_none(), "{answer:?}");
    assert_eq!(stage.pairs(&nodes[0].0).len(), pairs, "{what}");
}

#[tokio::test]
async fn one_bad_node_does_not_stop_the_others() {
    let stage = Stage::new().await;
    let elsewhere = stage.rig.cloud.create_network("elsewhere", "10.88.0.0/16");
    let stray = stage.rig.cloud.boot_as(ServerSpec {
        networks: vec![elsewhere],
        ..ServerSpec::new("stray")
    });
    let mut new: Vec<NewRoute> = stage.nodes(3).into_iter().map(|(_, route)| route).collect();
    new.insert(1, route_to(&stray, 9));
    let nowhere = NewRoute {
        addresses: Vec::new(),
        ..new[0].clone()
    };
    new.push(nowhere);
    let answers = stage.create(&new).await;
    assert_eq!([&answers[0], &answers[2], &answers[3]], ["ok", "ok", "ok"]);
    assert!(answers[1].contains("nexthop"), "{answers:?}");
    assert!(answers[4].contains("no InternalIP"), "{answers:?}");
    assert_eq!(stage.pairs(&stray), Vec::<String>::new());
    assert_eq!(stage.there().len(), 3);
}

/// Another client changes the router between the read and the write.
#[tokio::test]
async fn a_classic_update_never_overwrites_that_of_another_client() {
    let stage = Stage::without(&["extraroute-atomic"]).await;
    let new = stage.nodes(1).remove(0).1;
    let cloud = &stage.rig.cloud;
    let held = cloud.inject(Fault::hang().operation("router_update").times(1));
    let mark = cloud.mark();
    let wanted = [new.clone()];
    let meanwhile = async {
        cloud.until(|cloud| cloud.struck(held) > 0).await;
        stage.by_hand("172.16.0.0/24", "10.77.250.1");
        cloud.withdraw(held);
    };
    let (answers, ()) = tokio::join!(stage.create(&wanted), meanwhile);
    assert_eq!(answers, ["ok"]);
    let calls = stage.rig.calls(mark);
    assert!(calls.contains("2 router_get, 2 router_update"), "{calls}");
    let mut there = stage.there();
    there.sort();
    let ours = format!("{} via {}", new.destination, new.addresses[0].address);
    assert_eq!(there, [ours, "172.16.0.0/24 via 10.77.250.1".to_owned()]);
}

/// Looks and changes go side by side, and none of them knows of another's half of the work.
#[tokio::test]
async fn reads_and_changes_are_concurrent() {
    let stage = Stage::new().await;
    let new: Vec<NewRoute> = stage.nodes(8).into_iter().map(|(_, route)| route).collect();
    let changes = new.chunks(2).map(|some| stage.create(some));
    let looks = (0..8).map(|_| stage.list());
    let (made, seen) = tokio::join!(join_all(changes), join_all(looks));
    assert!(made.iter().flatten().all(|outcome| outcome == "ok"), "{made:?}");
    let wanted = |route: &Route| new.iter().any(|new| new.destination == route.destination);
    assert!(seen.iter().flatten().all(wanted), "{seen:?}");
    assert_eq!(stage.list().await.len(), new.len());
}

/// Routes that are requested before they are known to belong to the cluster, as right after occm, cost no write.
#[tokio::test]
async fn load_balancers_of_occm_are_kept() {
    // It allows, and does not mark.
    let stage = Stage::without(&["standard-attr-tag"]).await;
    let new: Vec<NewRoute> = stage.nodes(3).into_iter().map(|(_, route)| route).collect();
    assert_eq!(stage.create(&new).await, ["ok"; 3]);
    stage.rig.cloud.configure(|settings| settings.extensions_off.clear());
    let stage = stage.restarted().await;
    let mark = stage.rig.cloud.mark();
    assert_eq!(stage.create(&new).await, ["ok"; 3]);
    let writes = stage.rig.cloud.writes_since(mark);
    let writes: Vec<_> = writes
        .iter()
        .map(|call| call.operation)
        .filter(|name| *name != "token_create")
        .collect();
    assert_eq!(writes, [""; 0]);
    assert_eq!(stage.list().await.len(), 3);
}

#[tokio::test]
async fn a_missing_router_is_named() {
    let stage = Stage::new().await;
    stage.rig.cloud.delete_router(stage.net.router);
    let error = stage.routes().list(CLUSTER).await.unwrap_err();
    assert!(
        error.to_string().starts_with("invalid router-id: there is no router"),
        "{error}"
    );
}

/// Everything that routes leave behind: on the router and on the ports.
fn traces(stage: &Stage, nodes: &[(ServerView, NewRoute)]) -> Vec<String> {
    let mut traces = stage.there();
    traces.sort();
    for (server, _) in nodes {
        let port = stage.rig.cloud.port(server.ports[0]).expect("a port");
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
async fn again_after_any_failure_of_a_call(
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
    let stage = if fault() == Fault::hang() {
        Stage::impatient(off).await
    } else {
        Stage::without(off).await
    };
    let cloud = stage.rig.cloud.clone();
    stage.by_hand("172.16.0.0/24", "10.77.250.1");
    let nodes = stage.nodes(2);
    let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
    let untouched = traces(&stage, &nodes);

    let first = cloud.inject(fault().operation(call).times(1));
    stage.create(&new).await;
    cloud.withdraw_all();
    assert_eq!(stage.create(&new).await, ["ok", "ok"]);
    assert_eq!(stage.there().len(), 3);
    let listed = stage.list().await;
    assert_eq!(listed.len(), 2);

    let second = cloud.inject(fault().operation(call).times(1));
    stage.delete(&listed).await;
    cloud.withdraw_all();
    let left = stage.list().await;
    assert!(stage.delete(&left).await.iter().all(|answer| answer == "ok"));
    assert_eq!(routes_and_pairs(&traces(&stage, &nodes)), untouched);
    assert!(cloud.struck(first) + cloud.struck(second) > 0, "it was never called");
}

/// Whichever call fails or loses its answer: a retry, also in another process, has the same result.
#[rstest]
#[case::refused(|| Fault::answer(501, "told to fail"))]
#[case::lost(Fault::lose_answer)]
#[tokio::test]
async fn again_after_a_failure_at_any_call(
    #[case] fault: fn() -> Fault,
    #[values(&[], &["extraroute-atomic"])] off: &[&str],
) {
    const CALLS: u64 = 12;
    for skip in 0..CALLS {
        let stage = Stage::without(off).await;
        stage.by_hand("172.16.0.0/24", "10.77.250.1");
        let nodes = stage.nodes(2);
        let new: Vec<NewRoute> = nodes.iter().map(|(_, route)| route.clone()).collect();
        let untouched = traces(&stage, &nodes);

        stage
            .rig
            .cloud
            .inject(fault().service(Service::Neutron).skip(skip).times(1));
        stage.create(&new).await;
        stage.rig.cloud.withdraw_all();
        let stage = stage.restarted().await;
        assert_eq!(stage.create(&new).await, ["ok", "ok"], "create, call {skip}");
        assert_eq!(stage.there().len(), 3, "create, call {skip}");
        assert!(
            nodes
                .iter()
                .all(|(server, route)| stage.pairs(server) == [route.destination.to_string()])
        );

        let listed = stage.list().await;
        assert_eq!(listed.len(), 2, "list, call {skip}");
        stage
            .rig
            .cloud
            .inject(fault().service(Service::Neutron).skip(skip).times(1));
        stage.delete(&listed).await;
        stage.rig.cloud.withdraw_all();
        let stage = stage.restarted().await;
        let left = stage.list().await;
        stage.delete(&left).await;
        let there = traces(&stage, &nodes);
        assert_eq!(routes_and_pairs(&there), untouched, "delete, call {skip}");
    }
}
