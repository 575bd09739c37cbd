use super::*;
use cloud::{Answer, Detail, Instances};
use conditions::Ready;
use k8s_openapi::{
    api::core::v1::{ContainerImage, NodeCondition},
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{ManagedFieldsEntry, OwnerReference},
    },
};
use rstest::rstest;
use std::sync::Arc;
use testkit::node::{condition, node};

#[test]
fn a_provider_gets_every_setting() {
    let reference = node_ref(&node("n", "id:a://b uuid:u a=b node-ip:10.0.0.1 InternalIP=10.0.0.1"));
    let annotations = [("alpha.kubernetes.io/provided-node-ip".to_owned(), "10.0.0.1".to_owned())].into();
    assert_eq!(
        reference,
        NodeRef {
            name: "n".into(),
            provider_id: ProviderId::parse("a://b"),
            system_uuid: Some("u".into()),
            addresses: vec![cloud::Address::new(cloud::AddressKind::InternalIP, "10.0.0.1")],
            labels: [("a".to_owned(), "b".to_owned())].into(),
            annotations,
        }
    );
    assert_eq!(node_ref(&node("n", "id: uuid:")), NodeRef::named("n"));
}

#[rstest]
#[case::absent("", Ready::Unknown)]
#[case::yes("ready:True", Ready::True)]
#[case::no("ready:False", Ready::False)]
#[case::unknown("ready:Unknown", Ready::Unknown)]
fn readiness(#[case] words: &str, #[case] expected: Ready) {
    assert_eq!(conditions::ready(&node("n", words)), expected);
}

#[rstest]
#[case::grown("born:2020-01-01T00:00:00Z", Some(60))]
#[case::from_the_future("born:2020-01-01T00:02:00Z", Some(0))]
fn ages(#[case] words: &str, #[case] seconds: Option<u64>) {
    let now = "2020-01-01T00:01:00Z".parse().unwrap();
    assert_eq!(age(&node("n", words), now), seconds.map(Duration::from_secs));
}

#[test]
fn trimming_keeps_what_controllers_read_and_nothing_else() {
    let kept = "id:a://b uid:u tainted taint:x InternalIP=10.0.0.1 node-ip:10.0.0.1 a=b cidr:10.1.0.0/24 uuid:s";
    let mut expected = node("n", kept);
    let status = expected.status.as_mut().unwrap();
    let plain = |type_: &str| NodeCondition {
        last_heartbeat_time: None,
        ..condition(type_, "True")
    };
    let ours = NodeCondition {
        message: Some("why".into()),
        ..plain(conditions::CLOUD_PROVIDER_INITIALIZED)
    };
    status.conditions = Some(vec![plain("Ready"), plain("NetworkUnavailable"), ours]);

    let mut full = node("n", kept);
    full.metadata.managed_fields = Some(vec![ManagedFieldsEntry::default()]);
    full.metadata.owner_references = Some(vec![OwnerReference::default()]);
    let last_applied = "kubectl.kubernetes.io/last-applied-configuration".to_owned();
    full.metadata
        .annotations
        .as_mut()
        .unwrap()
        .insert(last_applied, "{}".into());
    full.spec.as_mut().unwrap().external_id = Some("x".into());
    let status = full.status.as_mut().unwrap();
    status.images = Some(vec![ContainerImage::default()]);
    status.capacity = Some([("cpu".to_owned(), Quantity::default())].into());
    status.volumes_in_use = Some(vec!["v".into()]);
    status.node_info.as_mut().unwrap().kubelet_version = "v1".into();
    let with_message = |type_: &str| {
        let message = Some("why".to_owned());
        NodeCondition {
            message,
            ..condition(type_, "True")
        }
    };
    let types = [
        "MemoryPressure",
        "Ready",
        "NetworkUnavailable",
        conditions::CLOUD_PROVIDER_INITIALIZED,
    ];
    status.conditions = Some(types.map(with_message).to_vec());

    full.spec.as_mut().unwrap().taints.as_mut().unwrap().reserve(4);

    trim(&mut full);
    assert_eq!(full, expected);
    let taints = full.spec.unwrap().taints.unwrap();
    assert_eq!(taints.capacity(), taints.len());
}

/// Gives this many answers, or none at all.
struct Answers(Option<usize>);

#[async_trait::async_trait]
impl Instances for Answers {
    async fn describe(&self, _: &[NodeRef], _: Detail) -> Vec<cloud::Result<Answer>> {
        match self.0 {
            Some(count) => (0..count).map(|_| Ok(Answer::Missing)).collect(),
            None => std::future::pending().await,
        }
    }
}

#[rstest]
#[case::complete(Some(2), "missing")]
#[case::fewer(Some(1), "describe machines is unavailable: 1 answers for 2 objects")]
#[case::more(Some(3), "describe machines is unavailable: 3 answers for 2 objects")]
#[case::late(None, "describe machines is unavailable: no answer within 60s")]
#[tokio::test(start_paused = true)]
async fn only_a_complete_answer_counts(#[case] count: Option<usize>, #[case] expected: &str) {
    let nodes = [Arc::new(node("a", "")), Arc::new(node("b", ""))];
    let answers = describe(&Answers(count), &nodes, Detail::Liveness, Duration::from_mins(1)).await;
    let text = |answer: &cloud::Result<Answer>| match answer {
        Ok(Answer::Missing) => "missing".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.report(),
    };
    assert_eq!(answers.iter().map(text).collect::<Vec<_>>(), [expected, expected]);
}

#[test]
fn an_outage_affects_every_node() {
    let failed = || Err(cloud::Error::unavailable("x", "y"));
    assert!(outage(&[]).is_none());
    assert!(outage(&[failed(), Ok(Answer::Missing)]).is_none());
    assert!(outage(&[failed(), failed()]).is_some());
    assert!(
        outage(&[Err(cloud::Error::invalid("provider ID", "no such scheme"))]).is_none(),
        "one bad node"
    );
}
