//! Machines on the simulation: the answers, the number of calls, and that no failure deletes a node.

use crate::fixture::Fixture;
use cloud::{Address, AddressKind, Answer, Detail, Instance, NodeRef, Power, Provider as _};
use openstack::config::ProviderIds;
use openstack_sim::{Cloud, Fault, ServerSpec, ServerStatus, Settings, Uuid};
use rstest::rstest;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

async fn describe(fixture: &Fixture, nodes: &[NodeRef], detail: Detail) -> Vec<cloud::Result<Answer>> {
    fixture.provider.instances().describe(nodes, detail).await
}

async fn one(fixture: &Fixture, node: &NodeRef, detail: Detail) -> cloud::Result<Answer> {
    describe(fixture, std::slice::from_ref(node), detail).await.remove(0)
}

async fn found(fixture: &Fixture, node: &NodeRef) -> Instance {
    let answer = one(fixture, node, Detail::Full).await.expect("an answer");
    answer.found().expect("a machine")
}

fn by_id(name: &str, id: Uuid) -> NodeRef {
    NodeRef::named(name).with_provider_id(format!("openstack:///{id}"))
}

/// A cloud with so many servers, and their nodes.
async fn many(count: usize) -> (Fixture, Vec<NodeRef>) {
    let cloud = Cloud::new();
    let net = cloud.create_network("private", "10.0.0.0/16");
    let ids = cloud.boot_many("node-", count, &net);
    assert_eq!(ids.len(), count);
    let nodes = ids
        .into_iter()
        .enumerate()
        .map(|(number, id)| by_id(&format!("node-{number}"), id));
    let nodes = nodes.collect();
    (Fixture::on(cloud, |_| {}).await, nodes)
}

fn without_ids(nodes: &[NodeRef]) -> Vec<NodeRef> {
    nodes.iter().map(|node| NodeRef::named(&node.name)).collect()
}

fn by_their_ids(nodes: &[NodeRef]) -> Vec<NodeRef> {
    nodes.to_vec()
}

fn are_found(answers: &[cloud::Result<Answer>]) -> bool {
    answers.iter().all(|answer| matches!(answer, Ok(Answer::Found(_))))
}

#[tokio::test]
async fn everything_about_a_machine() {
    let fixture = Fixture::on(Cloud::new(), |config| {
        config.global.region = "RegionOne".to_owned();
        config.global.provider_ids = ProviderIds::Regional;
    })
    .await;
    let server = fixture.cloud.boot_as(ServerSpec {
        zone: "az 1/b".to_owned(),
        ..ServerSpec::new("node-1")
    });
    fixture
        .cloud
        .set_access_addresses(server.id, Some([203, 0, 113, 7].into()), None);
    fixture.cloud.set_metadata(server.id, "hostname", "node-1.example");
    let expected = Instance {
        provider_id: cloud::ProviderId::parse(format!("openstack://RegionOne/{}", server.id)),
        instance_type: Some("m1.small".to_owned()),
        addresses: vec![
            Address::new(AddressKind::InternalIP, server.addresses[0].to_string()),
            Address::new(AddressKind::ExternalIP, "203.0.113.7"),
            Address::new(AddressKind::Hostname, "node-1.example"),
        ],
        zone: Some("az-1-b".to_owned()),
        region: Some("RegionOne".to_owned()),
        labels: BTreeMap::new(),
        power: Power::On,
    };
    assert_eq!(found(&fixture, &NodeRef::named("node-1")).await, expected);
    assert_eq!(fixture.cloud.unknown(), Vec::<String>::new());
    assert_eq!(fixture.cloud.unrecorded(), Vec::<String>::new());
}

// Nova links from a full page to the next one, even if that is empty: 1,000 servers are two lists, 999 are one.
#[rstest]
#[case::sweep(1000, Detail::Full, "10 port_list, 2 server_list")]
#[case::sweep_of_less_than_a_page(999, Detail::Full, "10 port_list, 1 server_list")]
#[case::sweep_of_pages(2500, Detail::Full, "25 port_list, 3 server_list")]
#[case::not_ready_all(999, Detail::Liveness, "1 server_list")]
#[case::not_ready_some(100, Detail::Liveness, "1 server_list")]
#[case::not_ready_two(2, Detail::Liveness, "1 server_list")]
#[case::not_ready_one(1, Detail::Liveness, "1 server_get")]
#[case::update_of_one(1, Detail::Full, "1 port_list, 1 server_get")]
#[case::update_of_some(100, Detail::Full, "1 port_list, 1 server_list")]
#[tokio::test]
async fn calls_by_id(#[case] nodes: usize, #[case] detail: Detail, #[case] expected: &str) {
    let (fixture, all) = many(nodes.max(999)).await;
    fixture.provider.authenticate().await.unwrap();
    let mark = fixture.cloud.mark();
    assert!(are_found(&describe(&fixture, &all[..nodes], detail).await));
    assert_eq!(fixture.calls(mark), expected);
}

// Ten thousand servers are ten full pages and, because the last one is full, an empty one.
#[rstest]
#[case::sweep(by_their_ids, Detail::Full, "100 port_list, 11 server_list")]
#[case::sweep_of_new_nodes(without_ids, Detail::Full, "100 port_list, 11 server_list")]
#[case::not_ready_all(by_their_ids, Detail::Liveness, "11 server_list")]
#[tokio::test]
async fn ten_thousand_nodes_cost_pages_not_nodes(
    #[case] known: fn(&[NodeRef]) -> Vec<NodeRef>,
    #[case] detail: Detail,
    #[case] expected: &str,
) {
    let (fixture, all) = many(10_000).await;
    fixture.provider.authenticate().await.unwrap();
    let (mark, began) = (fixture.cloud.mark(), Instant::now());
    assert!(are_found(&describe(&fixture, &known(&all), detail).await));
    assert_eq!(fixture.calls(mark), expected);
    // Loose: an unoptimised build on a busy machine. What grows with the square of the nodes takes minutes.
    assert!(
        began.elapsed() < Duration::from_mins(3),
        "it took {:?}",
        began.elapsed()
    );
    assert_eq!(fixture.cloud.unknown(), Vec::<String>::new());
    assert_eq!(fixture.cloud.unrecorded(), Vec::<String>::new());
}

/// A Nova that does not send the names of flavors needs one call for each flavor, not for each server.
#[tokio::test]
async fn ten_thousand_servers_of_an_old_nova_cost_their_flavors_once() {
    const FLAVORS: usize = 4;
    let (fixture, mut all) = many(10_000 - FLAVORS).await;
    for number in 0..FLAVORS {
        let (name, flavor) = (format!("special-{number}"), format!("special.{number}"));
        fixture.cloud.add_flavor(&flavor, 1024, 2);
        let spec = ServerSpec {
            flavor,
            ..ServerSpec::new(&name)
        };
        all.push(by_id(&name, fixture.cloud.boot_as(spec).id));
    }
    fixture.provider.authenticate().await.unwrap();
    old_nova(&fixture);
    let mark = fixture.cloud.mark();
    assert!(are_found(&describe(&fixture, &all, Detail::Full).await));
    // One list is refused; Nova's last page, which is full, has a link to an empty one.
    let (lists, ports, flavors) = (1 + all.len().div_ceil(1000) + 1, all.len().div_ceil(100), 1 + FLAVORS);
    let expected = format!("{flavors} flavor_get, {ports} port_list, {lists} server_list");
    assert_eq!(fixture.calls(mark), expected);
}

#[tokio::test]
async fn concurrent_batches_share_the_list() {
    let (fixture, all) = many(999).await;
    fixture.provider.authenticate().await.unwrap();
    let mark = fixture.cloud.mark();
    let began = Instant::now();
    let batches = all.chunks(250).map(|batch| describe(&fixture, batch, Detail::Full));
    let answers = futures::future::join_all(batches).await;
    assert!(answers.iter().all(|answers| are_found(answers)));
    assert_eq!(fixture.calls(mark), "12 port_list, 1 server_list");
    // And one that is requested right after them, unless the machine is so slow that the list has expired.
    assert!(are_found(&describe(&fixture, &all[..500], Detail::Liveness).await));
    let is_slow = began.elapsed() > Duration::from_secs(2);
    assert!(is_slow || fixture.calls(mark) == "12 port_list, 1 server_list");
}

#[tokio::test]
async fn a_server_created_after_the_list_is_not_missing() {
    let (fixture, mut all) = many(200).await;
    assert!(are_found(&describe(&fixture, &all, Detail::Liveness).await));
    let late = fixture.cloud.boot("late");
    all.push(by_id("late", late.id));
    all.push(NodeRef::named("late"));
    assert!(are_found(&describe(&fixture, &all, Detail::Liveness).await));
}

#[rstest]
#[case::a_thousand_at_once(1000, "10 port_list, 2 server_list, 1 token_create")]
#[case::one(1, "1 port_list, 1 server_list, 1 token_create")]
#[case::a_few(7, "1 port_list, 1 server_list, 1 token_create")]
#[tokio::test]
async fn calls_for_new_nodes(#[case] nodes: usize, #[case] expected: &str) {
    let (fixture, all) = many(1000).await;
    let mark = fixture.cloud.mark();
    let answers = describe(&fixture, &without_ids(&all[..nodes]), Detail::Full).await;
    assert!(are_found(&answers));
    assert_eq!(fixture.calls(mark), expected);
}

#[tokio::test]
async fn few_nodes_of_a_big_project_do_not_list_all_servers() {
    let (fixture, all) = many(2500).await;
    // After the first list the number of pages is known.
    assert!(are_found(&describe(&fixture, &all, Detail::Liveness).await));
    let mark = fixture.cloud.mark();
    assert!(are_found(&describe(&fixture, &all[..250], Detail::Liveness).await));
    assert_eq!(fixture.calls(mark), "3 server_list");
    let queries = fixture
        .cloud
        .calls_since(mark)
        .into_iter()
        .map(|call| call.details.query);
    assert!(queries.into_iter().all(|query| query.starts_with("name=")));
}

#[tokio::test]
async fn a_deleted_server_is_read_once() {
    let (fixture, mut nodes) = many(200).await;
    let gone = (1..=100).map(|number| by_id(&format!("gone-{number}"), Uuid::from_u128(number)));
    nodes.extend(gone);
    for times in ["100 server_get", ""] {
        let mark = fixture.cloud.mark();
        let answers = describe(&fixture, &nodes, Detail::Liveness).await;
        let (there, missing) = answers.split_at(200);
        assert!(are_found(there));
        assert!(missing.iter().all(|answer| matches!(answer, Ok(Answer::Missing))));
        let calls = fixture.calls(mark);
        assert!(calls.contains(times), "{calls}");
        assert_eq!(calls.contains("server_get"), !times.is_empty(), "{calls}");
    }
}

/// Nodes without a server of the same name, in a list of all or of some: their names are read once.
#[rstest]
#[case::in_a_sweep(200)]
#[case::in_a_list_of_some(20)]
#[tokio::test]
async fn an_unused_name_is_read_once(#[case] there: usize) {
    let (fixture, all) = many(200).await;
    let mut nodes = without_ids(&all[..there]);
    nodes.extend((1..=10).map(|number| NodeRef::named(format!("missing-{number}"))));
    fixture.provider.authenticate().await.unwrap();
    // The list of all servers is cached for a moment.
    for calls in [&["11 server_list"][..], &["", "1 server_list"], &["", "1 server_list"]] {
        let mark = fixture.cloud.mark();
        let answers = describe(&fixture, &nodes, Detail::Liveness).await;
        let (there, missing) = answers.split_at(there);
        assert!(are_found(there));
        assert!(missing.iter().all(|answer| matches!(answer, Ok(Answer::Missing))));
        let made = fixture.calls(mark);
        assert!(calls.contains(&made.as_str()), "{made}");
    }
    // A new server with such a name is on the next list.
    fixture.cloud.boot("missing-1");
    let answers = describe(&fixture, &nodes[there..there + 2], Detail::Liveness).await;
    assert!(are_found(&answers[..1]), "{answers:?}");
    assert!(matches!(answers[1], Ok(Answer::Missing)), "{answers:?}");
}

#[tokio::test]
async fn a_renamed_server_is_read_by_its_id_once() {
    let (fixture, all) = many(10).await;
    let id = all[3]
        .provider_id
        .as_ref()
        .unwrap()
        .as_str()
        .rsplit('/')
        .next()
        .unwrap();
    fixture.cloud.rename_server(id.parse().unwrap(), "something-else");
    assert!(are_found(&describe(&fixture, &all, Detail::Liveness).await));
    let mark = fixture.cloud.mark();
    assert!(are_found(&describe(&fixture, &all, Detail::Liveness).await));
    assert_eq!(fixture.calls(mark), "1 server_list");
}

#[tokio::test]
async fn trunks_cost_one_list_of_each_kind() {
    let (fixture, all) = many(120).await;
    let storage = fixture.cloud.create_network("storage", "10.9.0.0/16");
    for node in &all[..110] {
        let id = node.provider_id.as_ref().unwrap().as_str().rsplit('/').next().unwrap();
        let server = fixture.cloud.server(id.parse().unwrap()).unwrap();
        let sub_port = fixture.cloud.create_port(storage.network, "sub", None).unwrap();
        fixture.cloud.create_trunk(server.ports[0], &[sub_port]);
    }
    fixture.provider.authenticate().await.unwrap();
    let mark = fixture.cloud.mark();
    let answers = describe(&fixture, &all, Detail::Full).await;
    let on_storage = |answer: &cloud::Result<Answer>| match answer {
        Ok(Answer::Found(machine)) => machine
            .addresses
            .iter()
            .any(|address| address.address.starts_with("10.9.")),
        _ => panic!("{answer:?}"),
    };
    assert_eq!(answers.iter().filter(|answer| on_storage(answer)).count(), 110);
    assert_eq!(fixture.calls(mark), "1 network_list, 4 port_list, 1 server_list");
}

// upstream: openstack 16
#[rstest]
#[case("no providerID, no server of that name", "missing")]
#[case("two servers of that name", "2 servers have this name")]
#[case("404", "missing")]
#[case("500", "unavailable")]
#[tokio::test]
async fn absence(#[case] what: &str, #[case] expected: &str) {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("there");
    fixture.cloud.boot("twin");
    fixture.cloud.boot("twin");
    let node = match what {
        "two servers of that name" => NodeRef::named("twin"),
        "404" | "500" => by_id("gone", Uuid::from_u128(7)),
        _ => NodeRef::named("gone"),
    };
    if what == "500" {
        fixture.cloud.inject(Fault::status(500).operation("server_get"));
    }
    for detail in [Detail::Liveness, Detail::Full] {
        let text = match one(&fixture, &node, detail).await {
            Ok(Answer::Missing) => "missing".to_owned(),
            Ok(answer) => format!("{answer:?}"),
            Err(error) => error.report(),
        };
        assert!(text.contains(expected), "{text}");
    }
}

/// No failure is reported as a missing server.
#[rstest]
#[case::unauthorized(Fault::status(401))]
#[case::forbidden(Fault::status(403))]
#[case::not_of_nova(Fault::answer(404, "<html>404 page not found</html>"))]
#[case::json_not_of_nova(Fault::answer(404, r#"{"error": "no route"}"#))]
#[case::conflict(Fault::status(409))]
#[case::too_many(Fault::status(429))]
#[case::broken(Fault::status(500))]
#[case::unavailable(Fault::status(503))]
#[case::reset(Fault::reset())]
#[case::truncated(Fault::truncate())]
#[case::nonsense(Fault::replace_body("[]"))]
#[case::empty_object(Fault::replace_body("{}"))]
#[case::hang(Fault::hang())]
#[tokio::test]
async fn doubt_is_an_error(#[case] fault: Fault) {
    let cloud = Cloud::new();
    let net = cloud.create_network("private", "10.0.0.0/16");
    let ids = cloud.boot_many("node-", 3, &net);
    let fixture = Fixture::on(cloud, |config| config.request_timeout = Duration::from_millis(700)).await;
    let mut nodes: Vec<NodeRef> = (0..3)
        .map(|number| by_id(&format!("node-{number}"), ids[number]))
        .collect();
    nodes.push(NodeRef::named("gone"));
    fixture.provider.authenticate().await.unwrap();
    for service in ["server_list", "server_get", "port_list"] {
        let fault = fixture.cloud.inject(fault.clone().operation(service));
        for count in [1, 4] {
            let answers = describe(&fixture, &nodes[..count], Detail::Full).await;
            assert_eq!(answers.len(), count);
            let missing = answers
                .iter()
                .take(3)
                .filter(|answer| matches!(answer, Ok(Answer::Missing)))
                .count();
            assert_eq!(missing, 0, "{service}: {answers:?}");
        }
        fixture.cloud.withdraw(fault);
    }
    assert!(are_found(&describe(&fixture, &nodes[..3], Detail::Full).await));
}

#[tokio::test]
async fn a_list_that_breaks_off_is_no_list() {
    let settings = Settings {
        nova_page: 100,
        ..Settings::default()
    };
    let cloud = Cloud::with(settings);
    let net = cloud.create_network("private", "10.0.0.0/16");
    let ids = cloud.boot_many("node-", 250, &net);
    let fixture = Fixture::on(cloud, |_| {}).await;
    let nodes: Vec<NodeRef> = (0..250)
        .map(|number| by_id(&format!("node-{number}"), ids[number]))
        .collect();
    fixture
        .cloud
        .inject(Fault::status(404).operation("server_list").skip(2));
    let answers = describe(&fixture, &nodes, Detail::Liveness).await;
    assert!(answers.iter().all(Result::is_err), "{:?}", answers[0]);
}

// upstream: openstack 17
#[rstest]
#[case("SHUTOFF", ServerStatus::Shutoff, Power::Off)]
#[case("PAUSED", ServerStatus::Paused, Power::On)]
#[case("SUSPENDED", ServerStatus::Suspended, Power::On)]
#[case("SHELVED_OFFLOADED", ServerStatus::ShelvedOffloaded, Power::On)]
#[tokio::test]
async fn statuses(#[case] name: &str, #[case] status: ServerStatus, #[case] expected: Power) {
    let fixture = Fixture::new().await;
    let server = fixture.cloud.boot("node-1");
    fixture.cloud.set_server_status(server.id, status);
    assert_eq!(
        found(&fixture, &by_id("node-1", server.id)).await.power,
        expected,
        "{name}"
    );
}

// upstream: openstack 17
#[rstest]
#[case("region mismatch → error, node kept")]
#[tokio::test]
async fn another_region(#[case] what: &str) {
    let fixture = Fixture::on(Cloud::new(), |config| config.global.region = "RegionOne".to_owned()).await;
    let node = NodeRef::named("node-1").with_provider_id("openstack://RegionTwo/7");
    let error = one(&fixture, &node, Detail::Liveness).await.unwrap_err();
    assert!(error.to_string().contains("in region \"RegionTwo\""), "{what}: {error}");
    assert_eq!(fixture.cloud.total(), 0);
}

/// The response of an old Nova to a version that it does not support.
fn old_nova(fixture: &Fixture) {
    let body = r#"{"computeFault": {"code": 406, "message": "Version 2.47 is not supported by the API."}}"#;
    fixture
        .cloud
        .inject(Fault::answer(406, body).operation("server_list").times(1));
}

#[tokio::test]
async fn an_old_nova_needs_one_call_for_each_flavor() {
    let (fixture, all) = many(50).await;
    fixture.provider.authenticate().await.unwrap();
    old_nova(&fixture);
    let mark = fixture.cloud.mark();
    let answers = describe(&fixture, &all, Detail::Full).await;
    let types = answers
        .into_iter()
        .map(|answer| answer.unwrap().found().unwrap().instance_type);
    assert!(types.into_iter().all(|kind| kind.as_deref() == Some("m1.small")));
    assert_eq!(fixture.calls(mark), "1 flavor_get, 1 port_list, 2 server_list");
    let mark = fixture.cloud.mark();
    assert!(are_found(&describe(&fixture, &all, Detail::Full).await));
    assert_eq!(fixture.calls(mark), "1 port_list, 1 server_list");
}

// upstream: openstack 18
#[rstest]
#[case("flavor GET 404")]
#[tokio::test]
async fn a_deleted_flavor(#[case] what: &str) {
    let (fixture, all) = many(2).await;
    old_nova(&fixture);
    fixture.cloud.inject(Fault::status(404).operation("flavor_get"));
    let answers = describe(&fixture, &all, Detail::Full).await;
    for answer in answers {
        let kind = answer.unwrap().found().unwrap().instance_type.unwrap();
        assert!(
            kind.parse::<Uuid>().is_ok() || kind.parse::<u32>().is_ok(),
            "{what}: {kind} is no ID of a flavor"
        );
    }
}

/// A Node gets its type once: a wrong one, because Nova did not answer, would be kept.
#[tokio::test]
async fn a_flavor_that_cannot_be_read_is_read_again() {
    let (fixture, all) = many(2).await;
    fixture.provider.authenticate().await.unwrap();
    old_nova(&fixture);
    fixture
        .cloud
        .inject(Fault::status(409).operation("flavor_get").times(1));
    for answer in describe(&fixture, &all, Detail::Full).await {
        assert!(matches!(answer, Err(cloud::Error::Unavailable { .. })), "{answer:?}");
    }
    assert!(are_found(&describe(&fixture, &all, Detail::Liveness).await));
    for answer in describe(&fixture, &all, Detail::Full).await {
        let kind = answer.unwrap().found().unwrap().instance_type;
        assert_eq!(kind.as_deref(), Some("m1.small"));
    }
}

#[tokio::test]
async fn a_flavor_with_an_invalid_label_is_its_id() {
    let fixture = Fixture::new().await;
    let id = fixture.cloud.add_flavor("huge & fast", 1024, 2);
    for name in ["node-1", "node-2"] {
        fixture.cloud.boot_as(ServerSpec {
            flavor: "huge & fast".to_owned(),
            ..ServerSpec::new(name)
        });
    }
    fixture.provider.authenticate().await.unwrap();
    let mark = fixture.cloud.mark();
    for name in ["node-1", "node-2"] {
        assert_eq!(
            found(&fixture, &NodeRef::named(name)).await.instance_type,
            Some(id.clone())
        );
    }
    assert_eq!(fixture.calls(mark), "2 port_list, 1 server_get, 2 server_list");
}

#[tokio::test]
async fn a_server_without_ports_has_the_addresses_that_nova_knows() {
    let fixture = Fixture::new().await;
    let server = fixture.cloud.boot("node-1");
    fixture.cloud.delete_port(server.ports[0]);
    assert_eq!(found(&fixture, &by_id("node-1", server.id)).await.addresses, []);
    fixture
        .cloud
        .set_access_addresses(server.id, Some([203, 0, 113, 7].into()), None);
    let instance = found(&fixture, &by_id("node-1", server.id)).await;
    assert_eq!(
        instance.addresses,
        [Address::new(AddressKind::ExternalIP, "203.0.113.7")]
    );
}
