//! The initialization of new Nodes.

use super::*;
use k8s_openapi::api::core::v1::ObjectReference;

#[tokio::test]
async fn a_node_costs_two_patches_and_the_taint_is_removed_last() {
    let mut fixture = Fixture::new();
    let registry = prometheus::Registry::new();
    let ctx = Context {
        metrics: Metrics::register(&registry).unwrap(),
        ..context(&fixture, options())
    };
    boot(
        &fixture,
        "a",
        "id:memory://1 InternalIP=10.0.0.1 InternalIP=fc01::1 zone:z region:r type:t x=y",
    );
    fixture.register("a", "tainted taint:other Hostname=kubelet a=b").await;
    fixture.start(|cancel| run(ctx, cancel));

    let event = fixture.until_event("Synced").await;
    let node = fixture.get("a").await;
    assert_eq!(
        summary(&node),
        "taint:other id:memory://1 InternalIP=10.0.0.1 InternalIP=fc01::1 Hostname=kubelet a=b \
         beta.kubernetes.io/instance-type=t failure-domain.beta.kubernetes.io/region=r \
         failure-domain.beta.kubernetes.io/zone=z node.kubernetes.io/instance-type=t topology.kubernetes.io/region=r \
         topology.kubernetes.io/zone=z x=y"
    );
    let path = format!("/api/v1/nodes/{}", fixture.name("a"));
    assert_eq!(
        fixture.requests.all(),
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
    fixture.finish().await;
}

#[tokio::test]
async fn a_burst_is_few_calls_and_two_writes_per_node() {
    let mut fixture = Fixture::new();
    let names: Vec<String> = (0..200).map(|index| format!("n{index}")).collect();
    for name in &names {
        fixture.cloud.boot(&fixture.name(name));
    }
    futures::future::join_all(names.iter().map(|name| fixture.register(name, "tainted"))).await;
    start(&mut fixture, options());
    fixture.until_initialized().await;
    assert_eq!(fixture.requests.with("PATCH").len(), 400);
    assert_eq!(fixture.requests.all().len(), 400, "nothing but patches");
    let calls = fixture.cloud.count(Operation::Describe);
    assert!(calls <= 3, "200 nodes cost {calls} calls");
    fixture.finish().await;
}

#[rstest]
#[case::missing(
    "",
    "tainted",
    "failure:MachineNotFound",
    "Cannot initialize node: the cloud has no machine with name "
)]
#[case::wrong_node_ip(
    "id:x InternalIP=10.0.0.1",
    "tainted node-ip:10.0.0.2 id:x",
    "failure:InvalidNodeIP",
    "Cannot initialize node: the provided node IP 10.0.0.2 is not an address of the machine; the cloud reports 10.0.0.1"
)]
#[tokio::test]
async fn a_failure_is_reported_and_recovered_from(
    #[case] cloud: &str,
    #[case] there: &str,
    #[case] failure: &str,
    #[case] message: &str,
) {
    let mut fixture = Fixture::new();
    if !cloud.is_empty() {
        boot(&fixture, "a", cloud);
    }
    fixture.register("a", there).await;
    start(&mut fixture, options());
    let event = fixture.until_event("FailedToInitialize").await;
    assert!(event.message.starts_with(message), "{}", event.message);
    let node = fixture
        .until("a", "a condition", |node| {
            conditions::find(node, CLOUD_PROVIDER_INITIALIZED).is_some()
        })
        .await;
    assert!(
        summary(&node).ends_with(failure) && taints::is_uninitialized(&node),
        "{}",
        summary(&node)
    );
    let condition = conditions::find(&node, CLOUD_PROVIDER_INITIALIZED).unwrap();
    assert_eq!(
        (condition.status.as_str(), condition.message.as_deref()),
        ("False", Some(event.message.as_str()))
    );

    boot(&fixture, "a", "id:x InternalIP=10.0.0.2");
    fixture.until_initialized().await;
    assert_eq!(
        summary(&fixture.get("a").await),
        "id:x InternalIP=10.0.0.2",
        "the condition is removed"
    );
    assert_eq!(
        fixture.requests.all().len(),
        3,
        "one for the condition, two for the rest"
    );
    fixture.finish().await;
}
