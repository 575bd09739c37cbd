//! From a tainted Node to one that says what the cloud says.

use super::*;
use k8s_openapi::api::core::v1::ObjectReference;

#[tokio::test]
async fn a_node_costs_two_patches_and_the_taint_goes_last() {
    let mut rig = Rig::new();
    let registry = prometheus::Registry::new();
    let ctx = Context {
        metrics: Metrics::register(&registry).unwrap(),
        ..context(&rig, options())
    };
    boot(
        &rig,
        "a",
        "id:memory://1 InternalIP=10.0.0.1 InternalIP=fc01::1 zone:z region:r type:t x=y",
    );
    rig.register("a", "tainted taint:other Hostname=kubelet a=b").await;
    rig.start(|cancel| run(ctx, cancel));

    let event = rig.until_event("Synced").await;
    let node = rig.get("a").await;
    assert_eq!(
        look(&node),
        "taint:other id:memory://1 InternalIP=10.0.0.1 InternalIP=fc01::1 Hostname=kubelet a=b \
         beta.kubernetes.io/instance-type=t failure-domain.beta.kubernetes.io/region=r \
         failure-domain.beta.kubernetes.io/zone=z node.kubernetes.io/instance-type=t topology.kubernetes.io/region=r \
         topology.kubernetes.io/zone=z x=y"
    );
    let path = format!("/api/v1/nodes/{}", rig.name("a"));
    assert_eq!(
        rig.requests.all(),
        [format!("PATCH {path}/status"), format!("PATCH {path}")]
    );
    assert_eq!(
        (event.component, event.message.as_str()),
        ("cloud-node-controller", "Node synced successfully")
    );
    let before = event.regarding.resource_version.clone();
    assert!(
        before.is_some() && before != node.metadata.resource_version,
        "{before:?}"
    );
    let at_no_version = ObjectReference {
        resource_version: None,
        ..event.regarding
    };
    assert_eq!(at_no_version, nodes::reference(&node));
    let counts: Vec<_> = registry
        .gather()
        .iter()
        .map(|family| {
            (
                family.name().to_owned(),
                family.get_metric()[0].get_histogram().get_sample_count(),
            )
        })
        .collect();
    assert_eq!(
        counts,
        [
            (
                "node_controller_cloud_provider_taint_removal_delay_seconds".to_owned(),
                1
            ),
            ("node_controller_initial_node_sync_delay_seconds".to_owned(), 1),
        ]
    );
    rig.finish().await;
}

// upstream: Test_syncNode
#[rstest]
#[case(
    "node initialized with hostname",
    "tainted Hostname=nodeoverriden",
    "id:fake://12345 Hostname=node0.cloud.internal InternalIP=10.0.0.1",
    "id:fake://12345 Hostname=node0.cloud.internal InternalIP=10.0.0.1"
)]
#[case(
    "node initialized with hostname and cloud provider missing hostname",
    "tainted Hostname=nodeoverriden",
    "id:fake://12345 InternalIP=10.0.0.1 ExternalIP=132.143.154.163",
    "id:fake://12345 InternalIP=10.0.0.1 ExternalIP=132.143.154.163 Hostname=nodeoverriden"
)]
#[case(
    "node addresses",
    "taint:ImproveCoverageTaint tainted",
    "id:fake://12345 InternalIP=10.0.0.1",
    "taint:ImproveCoverageTaint id:fake://12345 InternalIP=10.0.0.1"
)]
#[case(
    "provider ID already set",
    "tainted id:test-provider-id",
    "id:test-provider-id InternalIP=10.0.0.1",
    "id:test-provider-id InternalIP=10.0.0.1"
)]
#[case(
    "[instanceV2] provided additional labels with labels to discard",
    "node-ip:10.0.0.1 taint:ImproveCoverageTaint tainted id:node0.cp.12345 my.custom.label/foo=fizz my.custom.label/bar=foo",
    "id:node0.cp.12345 InternalIP=10.0.0.1 topology.kubernetes.io/region=no k8s.io/region=no my.custom.label/foo=bar my.custom.label/bar=foo k8snio/bar=foo",
    "taint:ImproveCoverageTaint id:node0.cp.12345 InternalIP=10.0.0.1 k8snio/bar=foo my.custom.label/bar=foo my.custom.label/foo=fizz"
)]
#[tokio::test]
async fn initializes(#[case] name: &str, #[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    let mut rig = Rig::new();
    boot(&rig, "a", cloud);
    rig.register("a", there).await;
    start(&mut rig, options());
    rig.until_initialized().await;
    assert_eq!(look(&rig.get("a").await), expected, "{name}");
    rig.finish().await;
}

#[tokio::test]
async fn a_cloud_without_provider_ids_initializes_nodes_without() {
    let mut rig = Rig::new();
    rig.cloud
        .configure(|settings| settings.provider_ids = ProviderIds::None);
    rig.cloud.create_machine(Machine::named(rig.name("a")));
    rig.register("a", "tainted").await;
    start(&mut rig, options());
    rig.until_initialized().await;
    assert_eq!(look(&rig.get("a").await), "");
    assert_eq!(rig.requests.all().len(), 1, "nothing but the taint changed");
    rig.finish().await;
}

#[tokio::test]
async fn a_burst_is_one_question_and_two_writes_a_node() {
    let mut rig = Rig::new();
    let names: Vec<String> = (0..200).map(|index| format!("n{index}")).collect();
    for name in &names {
        rig.cloud.boot(&rig.name(name));
    }
    futures::future::join_all(names.iter().map(|name| rig.register(name, "tainted"))).await;
    start(&mut rig, options());
    rig.until_initialized().await;
    assert_eq!(rig.requests.with("PATCH").len(), 400);
    assert_eq!(rig.requests.all().len(), 400, "nothing but patches");
    let asked = rig.cloud.count(Operation::Describe);
    assert!(asked <= 3, "200 nodes cost {asked} questions");
    rig.finish().await;
}

#[rstest]
#[case::missing(
    "",
    "tainted",
    "trouble:MachineNotFound",
    "Cannot initialize node: the cloud does not know the machine with name "
)]
#[case::wrong_node_ip(
    "id:x InternalIP=10.0.0.1",
    "tainted node-ip:10.0.0.2 id:x",
    "trouble:InvalidNodeIP",
    "Cannot initialize node: the provided node IP 10.0.0.2 is not an address of the machine; the cloud says 10.0.0.1"
)]
#[tokio::test]
async fn a_node_that_stays_tainted_says_why_and_recovers(
    #[case] cloud: &str,
    #[case] there: &str,
    #[case] trouble: &str,
    #[case] message: &str,
) {
    let mut rig = Rig::new();
    if !cloud.is_empty() {
        boot(&rig, "a", cloud);
    }
    rig.register("a", there).await;
    start(&mut rig, options());
    let event = rig.until_event("FailedToInitialize").await;
    assert!(event.message.starts_with(message), "{}", event.message);
    let node = rig
        .until("a", "a condition", |node| {
            conditions::find(node, CLOUD_PROVIDER_INITIALIZED).is_some()
        })
        .await;
    assert!(
        look(&node).ends_with(trouble) && taints::is_uninitialized(&node),
        "{}",
        look(&node)
    );
    let condition = conditions::find(&node, CLOUD_PROVIDER_INITIALIZED).unwrap();
    assert_eq!(
        (condition.status.as_str(), condition.message.as_deref()),
        ("False", Some(event.message.as_str()))
    );

    boot(&rig, "a", "id:x InternalIP=10.0.0.2");
    rig.until_initialized().await;
    assert_eq!(
        look(&rig.get("a").await),
        "id:x InternalIP=10.0.0.2",
        "the condition is gone with the trouble"
    );
    assert_eq!(
        rig.requests.all().len(),
        3,
        "one write for the trouble, two for the rest"
    );
    rig.finish().await;
}

#[tokio::test]
async fn a_machine_with_a_host_name_keeps_it() {
    let mut rig = Rig::new();
    let machine = Machine::named(rig.name("a")).address(AddressKind::Hostname, "cloud");
    rig.cloud.create_machine(machine);
    rig.register("a", "tainted Hostname=kubelet").await;
    start(&mut rig, options());
    rig.until_initialized().await;
    assert!(look(&rig.get("a").await).ends_with(" Hostname=cloud"));
    rig.finish().await;
}
