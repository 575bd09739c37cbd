//! Faults of a memory cloud have the same effect in the process and over HTTP.

mod fixture;

use cloud::{Answer, Detail, Error, NewRoute, NodeRef, Progress};
use fixture::{Fixture, Place, spec};
use memory_sim::{Effect, Failure, Fault, Garbage, Operation};
use rstest::rstest;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn shown(error: &Error) -> String {
    format!("{} ({:?})", error.report(), error.retry())
}

#[rstest]
#[case::not_found(Failure::NotFound, "describe was not found (Backoff)")]
#[case::invalid(Failure::Invalid { field: "spec.x".into(), reason: "is wrong".into() }, "invalid spec.x: is wrong (Never)")]
#[case::pending(Failure::Pending { poll_after: 7 * MS }, "describe cannot be used: it is still being provisioned (Backoff)")]
#[case::throttled(Failure::Throttled { retry_after: Some(20 * MS) }, "describe was throttled (After(20ms))")]
#[case::throttled_without_a_time(Failure::Throttled { retry_after: None }, "describe was throttled (Backoff)")]
#[case::unavailable(Failure::Unavailable("no power".into()), "describe is unavailable: no power (Backoff)")]
#[case::denied(Failure::Denied("who are you".into()), "describe was denied: who are you (Backoff)")]
#[case::quota(Failure::Quota("5 of 5".into()), "the quota for describe is exceeded: 5 of 5 (Backoff)")]
#[case::not_supported(Failure::NotSupported, "describe is not supported by this cloud (Never)")]
#[case::elsewhere(Failure::ImplementedElsewhere, "implemented by another controller (Never)")]
#[case::lost_answer(Failure::LostAnswer, "describe is unavailable: the answer was lost (Backoff)")]
#[tokio::test]
async fn a_call_fails(
    #[values(Place::InTheProcess, Place::OverHttp)] place: Place,
    #[case] failure: Failure,
    #[case] expected: &str,
) {
    let fixture = Fixture::at(place).await;
    let nodes = [fixture.cloud.boot("a"), fixture.cloud.boot("b")];
    fixture
        .cloud
        .inject(Fault::fail(failure).operation(Operation::Describe).times(1));
    let answers = fixture.provider.instances().describe(&nodes, Detail::Full).await;
    let errors: Vec<_> = answers
        .iter()
        .map(|answer| shown(answer.as_ref().expect_err("it fails")))
        .collect();
    assert_eq!(errors, [expected, expected]);
    let answers = fixture.provider.instances().describe(&nodes, Detail::Full).await;
    assert!(answers.iter().all(Result::is_ok), "it was to fail once");
}

#[rstest]
#[tokio::test]
async fn an_invalid_answer_is_an_error(
    #[values(Place::InTheProcess, Place::OverHttp)] place: Place,
    #[values(Garbage::Truncated, Garbage::NotJson, Garbage::WrongShape, Garbage::Empty)] garbage: Garbage,
) {
    let Fixture {
        cloud,
        provider,
        server: _server,
    } = Fixture::at(place).await;
    let node = cloud.boot("a");
    cloud.inject(Fault::fail(Failure::Garbage(garbage)));
    let (balancers, routes) = (
        provider.load_balancers().expect("offered"),
        provider.routes().expect("offered"),
    );
    let new = new_route("a");
    let mut errors = Vec::new();
    errors.extend(
        provider
            .instances()
            .describe(&[node], Detail::Full)
            .await
            .remove(0)
            .err(),
    );
    errors.extend(balancers.find(&spec(&[])).await.err());
    errors.extend(balancers.ensure(&spec(&[])).await.err());
    errors.extend(balancers.update_hosts(&spec(&["x"])).await.err());
    errors.extend(balancers.delete(&spec(&[])).await.err());
    errors.extend(balancers.owned("c").await.err());
    errors.extend(routes.list("c").await.err());
    errors.extend(routes.create("c", &[new]).await.remove(0).err());
    assert_eq!(errors.len(), 8);
    assert!(
        errors.iter().all(|error| matches!(error, Error::Unavailable { .. })),
        "{errors:?}"
    );
}

#[rstest]
#[tokio::test]
async fn a_blind_cloud_answers_missing_and_keeps_its_objects(
    #[values(Place::InTheProcess, Place::OverHttp)] place: Place,
) {
    let Fixture {
        cloud,
        provider,
        server: _server,
    } = Fixture::at(place).await;
    let nodes = [cloud.boot("a"), cloud.boot("b")];
    let (balancers, routes) = (
        provider.load_balancers().expect("offered"),
        provider.routes().expect("offered"),
    );
    balancers.ensure(&spec(&["a"])).await.expect("no fault yet");
    routes
        .create("c", &[new_route("a")])
        .await
        .remove(0)
        .expect("no fault yet");
    let listed = routes.list("c").await.expect("no fault yet");

    let fault = cloud.inject(Fault::fail(Failure::Blind));
    let answers = provider.instances().describe(&nodes, Detail::Liveness).await;
    assert!(
        answers.iter().all(|answer| matches!(answer, Ok(Answer::Missing))),
        "{answers:?}"
    );
    assert_eq!(balancers.find(&spec(&["a"])).await.expect("an answer"), None);
    assert_eq!(
        balancers.delete(&spec(&["a"])).await.expect("an answer").answer,
        Progress::Done(())
    );
    assert_eq!(balancers.owned("c").await.expect("an answer"), []);
    assert!(matches!(
        balancers.ensure(&spec(&["b"])).await,
        Err(Error::NotFound { .. })
    ));
    assert_eq!(routes.list("c").await.expect("an answer"), []);
    routes
        .delete("c", &listed)
        .await
        .remove(0)
        .expect("a success without a deletion");

    cloud.withdraw(fault);
    assert!(balancers.find(&spec(&["a"])).await.expect("an answer").is_some());
    assert_eq!(cloud.load_balancer("u-1").expect("still there").host_names(), ["a"]);
    assert_eq!(routes.list("c").await.expect("an answer"), listed);
}

#[rstest]
#[tokio::test]
async fn one_of_a_batch_fails_alone(#[values(Place::InTheProcess, Place::OverHttp)] place: Place) {
    let Fixture {
        cloud,
        provider,
        server: _server,
    } = Fixture::at(place).await;
    let nodes = [cloud.boot("a"), cloud.boot("b"), cloud.boot("c")];
    cloud.inject(Fault::fail(Failure::Unavailable("b is broken".into())).only("b"));
    let answers = provider.instances().describe(&nodes, Detail::Full).await;
    assert_eq!(
        answers.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, true]
    );

    let written = provider
        .routes()
        .expect("offered")
        .create("k", &["a", "b", "c"].map(new_route))
        .await;
    assert_eq!(
        written.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, true]
    );
    assert_eq!(cloud.routes("k").len(), 2);
}

#[rstest]
#[tokio::test]
async fn a_call_hangs_until_the_fault_is_withdrawn(#[values(Place::InTheProcess, Place::OverHttp)] place: Place) {
    let Fixture {
        cloud,
        provider,
        server: _server,
    } = Fixture::at(place).await;
    cloud.inject(
        Fault::hang()
            .operation(Operation::EnsureLoadBalancer)
            .only("default/web"),
    );
    let hanging = {
        let provider = provider.clone();
        tokio::spawn(async move { provider.load_balancers().expect("offered").ensure(&spec(&["a"])).await })
    };
    cloud
        .until(|cloud| cloud.count(Operation::EnsureLoadBalancer) == 1)
        .await;
    assert_eq!(cloud.calls()[0].effect, Effect::Open);

    let mut other = spec(&["a"]);
    other.service.name = "other".into();
    other.service.uid = "u-2".into();
    provider
        .load_balancers()
        .expect("offered")
        .ensure(&other)
        .await
        .expect("another Service does not hang");
    assert_eq!(cloud.load_balancers().len(), 1);

    cloud.withdraw_all();
    hanging.await.expect("no panic").expect("let go");
    assert_eq!(cloud.load_balancers().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_stays_open_and_changes_nothing() {
    let Fixture { cloud, provider, .. } = Fixture::at(Place::InTheProcess).await;
    cloud.inject(Fault::hang());
    let (balancers, spec) = (provider.load_balancers().expect("offered"), spec(&["a"]));
    let ensure = balancers.ensure(&spec);
    assert!(tokio::time::timeout(60_000 * MS, ensure).await.is_err());
    cloud.withdraw_all();
    assert_eq!(cloud.load_balancers(), []);
    assert_eq!((cloud.calls()[0].effect, cloud.calls()[0].took), (Effect::Open, None));
}

#[tokio::test(start_paused = true)]
async fn delays_are_recorded() {
    let Fixture { cloud, provider, .. } = Fixture::at(Place::InTheProcess).await;
    cloud.inject(Fault::delay(250 * MS).operation(Operation::Describe));
    provider
        .instances()
        .describe(&[NodeRef::named("a"), NodeRef::named("b")], Detail::Liveness)
        .await;
    provider
        .load_balancers()
        .expect("offered")
        .ensure(&spec(&["a", "b"]))
        .await
        .expect("no fault");
    provider
        .load_balancers()
        .expect("offered")
        .ensure(&spec(&["b"]))
        .await
        .expect("no fault");
    let calls = cloud.calls();
    assert_eq!(
        (calls[0].took, calls[0].detail, calls[0].names.len()),
        (Some(250 * MS), Some(Detail::Liveness), 2)
    );
    assert_eq!(
        calls[1].changes,
        ["create", "+port 80/TCP", "+host a", "+host b", "source ranges "]
    );
    assert_eq!(
        (calls[2].at, &calls[2].changes[..]),
        (250 * MS, &["-host a".to_owned()][..])
    );
    assert_eq!(cloud.writes().len(), 2);
    cloud.forget_calls();
    assert_eq!((cloud.calls().len(), cloud.count(Operation::Describe)), (0, 0));
}

/// Through the whole client: a throttled read is retried after the time that the cloud asks for, and the caller sees only the answer.
#[tokio::test]
async fn the_client_retries() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cloud = memory_sim::Cloud::new();
    let server = memory_sim::Server::start(&cloud).await.expect("a free port");
    let registry = prometheus::Registry::new();
    let metrics = cloud_http::Metrics::register(&registry).expect("a new registry");
    let remote = memory::Remote::new(&server.url(), std::sync::Arc::new(|| Ok(())), &metrics).expect("a URL");
    let node = cloud.boot("a");
    cloud.inject(
        Fault::fail(Failure::Throttled {
            retry_after: Some(100 * MS),
        })
        .times(1),
    );
    cloud.inject(Fault::fail(Failure::Unavailable("for a moment".into())).times(2));
    let answer = cloud::Instances::describe(&remote, &[node], Detail::Full)
        .await
        .remove(0);
    assert!(answer.expect("in the end").found().is_some());
    let calls = cloud.calls_of(Operation::Describe);
    assert_eq!(calls.len(), 3);
    assert!(calls[1].at >= calls[0].at + 100 * MS, "{calls:?}");
    let requests = prometheus::TextEncoder::new()
        .encode_to_string(&registry.gather())
        .expect("text");
    assert!(
        requests.contains(r#"cloud_api_requests_total{code="200",operation="describe"} 1"#),
        "{requests}"
    );
    server.stop().await;
}

fn new_route(node: &str) -> NewRoute {
    let number = node.bytes().next().unwrap_or_default();
    NewRoute {
        hint: node.into(),
        node: node.into(),
        provider_id: None,
        addresses: Vec::new(),
        destination: format!("10.0.{number}.0/24").parse().expect("a destination"),
    }
}
