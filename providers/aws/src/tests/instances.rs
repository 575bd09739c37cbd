//! Which calls find nodes, and when one is missing.

use super::fixture::{Fixture, id, node, words};
use cloud::{Address, AddressKind, Answer, Detail, Instance, NodeRef, Power, Provider as _};
use rstest::rstest;

async fn describe(fixture: &Fixture, nodes: &[NodeRef], detail: Detail) -> Vec<cloud::Result<Answer>> {
    fixture.aws().instances().describe(nodes, detail).await
}

async fn full(fixture: &Fixture, node: NodeRef) -> Instance {
    let mut answers = describe(fixture, &[node], Detail::Full).await;
    answers.remove(0).unwrap().found().unwrap()
}

fn text(instance: &Instance) -> String {
    let id = instance.provider_id.as_ref().map_or("-", |id| id.as_str());
    let parts = [&instance.instance_type, &instance.zone, &instance.region];
    let parts: Vec<&str> = parts.iter().map(|part| part.as_deref().unwrap_or("-")).collect();
    let addresses: Vec<String> = instance
        .addresses
        .iter()
        .map(|one| format!("{}={}", one.kind, one.address))
        .collect();
    let labels: Vec<String> = instance
        .labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    format!("{id} {} {} {}", parts.join(" "), addresses.join(" "), labels.join(" "))
}

#[tokio::test]
async fn a_node_is_described() {
    let fixture = Fixture::start(1).await;
    let instance = full(&fixture, NodeRef::named("ip-10-0-0-1.ec2.internal")).await;
    assert_eq!(
        text(&instance),
        "aws:///us-east-1a/i-00000001 m5.large us-east-1a us-east-1 InternalIP=10.0.0.1 InternalDNS=ip-10-0-0-1.ec2.internal \
         Hostname=ip-10-0-0-1.ec2.internal topology.k8s.aws/zone-id=use1-az-a"
    );
    assert_eq!(instance.power, Power::On);
}

#[tokio::test]
async fn a_provider_id_stays_as_it_was_given() {
    let fixture = Fixture::start(1).await;
    let short = NodeRef::named("n").with_provider_id(format!("aws:///{}", id(1)));
    let instance = full(&fixture, short).await;
    assert_eq!(instance.provider_id.unwrap().as_str(), "aws:///i-00000001");
}

#[tokio::test]
async fn a_thousand_nodes_are_two_calls() {
    let fixture = Fixture::start(1000).await;
    let nodes: Vec<NodeRef> = (1..=1000).map(|number| node(&id(number))).collect();
    let answers = describe(&fixture, &nodes, Detail::Liveness).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Answer::Found(_)))));
    assert_eq!(fixture.count("DescribeInstances"), 2);
}

#[tokio::test]
async fn a_missing_instance_costs_one_more_call() {
    let fixture = Fixture::start(3).await;
    let nodes = [node(&id(1)), node(&id(8)), node(&id(3)), node(&id(9))];
    let answers = describe(&fixture, &nodes, Detail::Liveness).await;
    assert_eq!(words(&answers), "found missing found missing");
    assert_eq!(fixture.count("DescribeInstances"), 2);
}

#[tokio::test]
async fn ids_that_an_error_does_not_name_are_read_one_by_one() {
    let fixture = Fixture::start(2).await;
    fixture.refuse(
        "DescribeInstances",
        400,
        "InvalidInstanceID.NotFound",
        "some do not exist",
    );
    let answers = describe(&fixture, &[node(&id(1)), node(&id(9))], Detail::Liveness).await;
    assert_eq!(words(&answers), "found missing");
    assert_eq!(fixture.count("DescribeInstances"), 3);
}

#[tokio::test]
async fn a_malformed_id_is_missing_and_does_not_affect_others() {
    let fixture = Fixture::start(1).await;
    let answers = describe(&fixture, &[node(&id(1)), node("i-zzz")], Detail::Liveness).await;
    assert_eq!(words(&answers), "found missing");
    // EC2 has no reason to call a regular ID malformed.
    fixture.refuse("DescribeInstances", 400, "InvalidInstanceID.Malformed", "Invalid id");
    let answers = describe(&fixture, &[node(&id(1))], Detail::Liveness).await;
    assert_eq!(words(&answers), "error");
}

#[tokio::test]
async fn an_instance_that_a_list_lacks_is_read_by_itself() {
    let fixture = Fixture::start(2).await;
    fixture.cloud.write(|fake, _| fake.hidden.insert(id(2)));
    let answers = describe(&fixture, &[node(&id(1)), node(&id(2))], Detail::Liveness).await;
    assert_eq!(
        (words(&answers).as_str(), fixture.count("DescribeInstances")),
        ("found missing", 2)
    );
}

#[rstest]
#[case::running("running", "found", Power::On)]
#[case::pending("pending", "found", Power::On)]
#[case::shutting_down("shutting-down", "found", Power::On)]
#[case::stopping("stopping", "found", Power::On)]
#[case::stopped("stopped", "found", Power::Off)]
#[case::terminated("terminated", "missing", Power::Unknown)]
#[case::unknown("", "missing", Power::Unknown)]
#[tokio::test]
async fn states(#[case] state: &'static str, #[case] expected: &str, #[case] power: Power) {
    let fixture = Fixture::start(1).await;
    fixture.cloud.write(|fake, _| fake.machines[0].state = state);
    let mut answers = describe(&fixture, &[node(&id(1))], Detail::Liveness).await;
    assert_eq!(words(&answers), expected);
    let found = answers.remove(0).unwrap().found();
    assert_eq!(found.map_or(Power::Unknown, |instance| instance.power), power);
}

#[tokio::test]
async fn names_are_found_in_batches_and_only_in_this_cluster() {
    let fixture = Fixture::start(160).await;
    fixture
        .cloud
        .write(|fake, _| fake.machines[159].tag = "kubernetes.io/cluster/other");
    let names = (1..=161).map(|number| NodeRef::named(format!("ip-10-0-0-{number}.ec2.internal")));
    let nodes: Vec<NodeRef> = names.collect();
    let answers = describe(&fixture, &nodes, Detail::Liveness).await;
    assert_eq!(words(&answers[157..]), "found found missing missing");
    assert_eq!(fixture.count("DescribeInstances"), 2);
}

#[tokio::test]
async fn a_node_whose_name_is_no_dns_name_is_found_by_its_address() {
    let fixture = Fixture::start(2).await;
    let mut node = NodeRef::named("worker");
    let internal = |address| Address::new(AddressKind::InternalIP, address);
    node.addresses = vec![internal("fd00::2"), internal("10.0.0.2")];
    let instance = full(&fixture, node).await;
    assert_eq!(instance.provider_id.unwrap().as_str(), "aws:///us-east-1a/i-00000002");
    let calls = fixture.cloud.calls();
    assert!(
        calls.iter().all(|call| !call.body.contains("fd00")),
        "the filter takes no IPv6 addresses"
    );
}

#[tokio::test]
async fn two_instances_of_one_name_are_an_error() {
    let fixture = Fixture::start(2).await;
    fixture
        .cloud
        .write(|fake, _| fake.machines[1].dns = fake.machines[0].dns.clone());
    let answers = describe(
        &fixture,
        &[NodeRef::named("ip-10-0-0-1.ec2.internal")],
        Detail::Liveness,
    )
    .await;
    assert_eq!(words(&answers), "error");
}

#[tokio::test]
async fn fargate_machines_are_network_interfaces() {
    let fixture = Fixture::start(0).await;
    fixture.cloud.write(|fake, _| fake.interfaces.push("10.0.3.4"));
    let fargate = |name: &str| NodeRef::named("f").with_provider_id(format!("aws:///us-east-1b/fargate-{name}"));
    let nodes = [fargate("ip-10-0-3-4.ec2.internal"), fargate("10.0.3.5")];
    assert_eq!(
        words(&describe(&fixture, &nodes, Detail::Liveness).await),
        "found missing"
    );
    let instance = full(&fixture, fargate("ip-10-0-3-4.ec2.internal")).await;
    assert_eq!(
        text(&instance),
        "aws:///us-east-1b/fargate-ip-10-0-3-4.ec2.internal - us-east-1b us-east-1 InternalIP=10.0.3.4 "
    );
    assert_eq!(fixture.count("DescribeInstanceTopology"), 0);
}

#[tokio::test]
async fn topology_is_asked_for_once_if_there_is_none() {
    let fixture = Fixture::start(3).await;
    fixture.cloud.write(|fake, _| {
        fake.machines[0].kind = "p5.48xlarge";
        fake.machines[1].kind = "p5.48xlarge";
        fake.topology.insert(id(1), vec!["nn-1", "nn-2"]);
    });
    let aws = fixture.aws();
    let nodes = [node(&id(1)), node(&id(2)), node(&id(3))];
    let mut answers = aws.instances().describe(&nodes, Detail::Full).await;
    let labels = answers.remove(0).unwrap().found().unwrap().labels;
    assert_eq!(labels["topology.k8s.aws/network-node-layer-1"], "nn-1");
    assert_eq!(labels["topology.k8s.aws/network-node-layer-2"], "nn-2");
    let mut labelled = node(&id(1));
    labelled.labels = labels;
    aws.instances()
        .describe(&[labelled, node(&id(2)), node(&id(3))], Detail::Full)
        .await;
    assert_eq!(fixture.count("DescribeInstanceTopology"), 1);
    assert_eq!(fixture.count("DescribeAvailabilityZones"), 1);
}

#[rstest]
#[case::unsupported("UnsupportedOperation", "found found", 1)]
#[case::unauthorized("UnauthorizedOperation", "found found", 1)]
#[case::another("InternalFailure", "error found", 2)]
#[tokio::test]
async fn topology_fails_only_nodes_that_need_it(#[case] code: &str, #[case] expected: &str, #[case] calls: usize) {
    let fixture = Fixture::start(2).await;
    fixture.cloud.write(|fake, _| fake.machines[0].kind = "p5.48xlarge");
    fixture.refuse("DescribeInstanceTopology", 400, code, "no");
    let aws = fixture.aws();
    let nodes = [node(&id(1)), node(&id(2))];
    assert_eq!(words(&aws.instances().describe(&nodes, Detail::Full).await), expected);
    assert_eq!(
        words(&aws.instances().describe(&nodes, Detail::Full).await),
        "found found"
    );
    assert_eq!(fixture.count("DescribeInstanceTopology"), calls);
}
