//! Tags.

use super::fixture::{Fixture, id, node};
use cloud::{Error, NodeRef, Provider as _};

#[tokio::test]
async fn instances_are_tagged_in_batches() {
    let fixture = Fixture::start(60).await;
    let aws = fixture.aws();
    let tags = aws.node_tags().unwrap();
    assert_eq!(
        tags.label(),
        ("k8s.io/cloud-provider-aws", "b75de3e0923e3d9b10fc244a77e5c937")
    );
    let nodes: Vec<NodeRef> = (1..=60).map(|number| node(&id(number))).collect();
    assert!(tags.tag(&nodes).await.iter().all(Result::is_ok));
    assert_eq!(
        (
            fixture.count("CreateTags"),
            fixture.cloud.read(|fake| fake.tagged.len())
        ),
        (2, 60)
    );
    assert!(tags.untag(&nodes).await.iter().all(Result::is_ok));
    assert_eq!(
        (
            fixture.count("DeleteTags"),
            fixture.cloud.read(|fake| fake.tagged.len())
        ),
        (2, 0)
    );
}

#[tokio::test]
async fn a_missing_instance_does_not_affect_others() {
    let fixture = Fixture::start(2).await;
    let aws = fixture.aws();
    let tags = aws.node_tags().unwrap();
    let fargate = NodeRef::named("f").with_provider_id("aws:///z/fargate-10.0.0.1");
    let nodes = [node(&id(1)), node(&id(9)), fargate, node(&id(2))];
    let answers = tags.tag(&nodes).await;
    assert!(answers[0].is_ok() && answers[3].is_ok(), "{answers:?}");
    assert!(matches!(answers[1], Err(Error::NotFound { .. })), "{answers:?}");
    assert!(matches!(answers[2], Err(Error::NotSupported { .. })), "{answers:?}");
    let answers = tags.untag(&nodes[..2]).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}
