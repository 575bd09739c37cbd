use super::*;
use crate::{client::Builder, events::Kind};
use http::{Request, Response, StatusCode};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, ObjectReference};
use kube::{
    Resource,
    api::{DeleteParams, ListParams},
    client::Body,
};
use lab::ControlPlane;
use prometheus::{Registry, TextEncoder};
use rstest::rstest;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::time::{Instant, timeout};

/// A broadcaster that runs until it is dropped.
struct Running {
    broadcaster: Broadcaster,
    cancel: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    registry: Registry,
}

impl Running {
    fn start(client: Client) -> Self {
        let registry = Registry::new();
        let broadcaster = Broadcaster::new(client, Some(Metrics::register(&registry).unwrap()));
        let cancel = CancellationToken::new();
        let task = tokio::spawn({
            let (broadcaster, cancel) = (broadcaster.clone(), cancel.clone());
            async move { broadcaster.run(cancel).await }
        });
        Self {
            broadcaster,
            cancel,
            task,
            registry,
        }
    }

    fn event(&self, regarding: &ObjectReference, reason: &'static str, message: &str) {
        self.broadcaster
            .recorder("test-component")
            .event(regarding.clone(), Kind::Normal, reason, message);
    }

    /// Writes the waiting events, and returns the outcome of all events.
    async fn stop(self) -> String {
        self.cancel.cancel();
        self.task.await.unwrap();
        let text = TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap();
        let outcomes = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once("outcome=\"")?;
            let (outcome, count) = rest.split_once("\"} ")?;
            Some(format!("{outcome} {count}"))
        });
        outcomes.collect::<Vec<_>>().join(", ")
    }
}

fn about_configmap(namespace: &str, name: &str) -> ObjectReference {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    object.metadata.namespace = Some(namespace.into());
    object.metadata.uid = Some(uuid::Uuid::new_v4().to_string());
    object.object_ref(&())
}

async fn namespace(client: &Client) -> String {
    let name = lab::unique("events");
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.clone());
    Api::<Namespace>::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    name
}

async fn written(client: &Client, namespace: &str, about: &str) -> Vec<Object> {
    let selector = ListParams::default().fields(&format!("involvedObject.name={about}"));
    let mut events = Api::<Object>::namespaced(client.clone(), namespace)
        .list(&selector)
        .await
        .unwrap()
        .items;
    events.sort_by_key(|event| event.metadata.creation_timestamp.clone());
    events
}

#[tokio::test]
async fn the_same_event_is_one_object_with_a_count() {
    let client = ControlPlane::shared().client();
    let namespace = namespace(&client).await;
    let (running, about) = (Running::start(client.clone()), about_configmap(&namespace, "a"));
    for _ in 0..3 {
        running.event(&about, "Happened", "something happened");
    }
    assert_eq!(running.stop().await, "counted 2, created 1");

    let events = written(&client, &namespace, "a").await;
    let [event] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert!(event.name_any().starts_with("a."));
    assert_eq!(event.count, Some(3));
    assert_eq!(event.message.as_deref(), Some("something happened"));
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    assert_eq!(
        event.source.as_ref().unwrap().component.as_deref(),
        Some("test-component")
    );
    assert_eq!(event.source.as_ref().unwrap().host, None);
    assert_eq!(event.reporting_component.as_deref(), Some("test-component"));
    assert_eq!(event.involved_object, about);
}

#[tokio::test]
async fn similar_events_are_combined() {
    let client = ControlPlane::shared().client();
    let namespace = namespace(&client).await;
    let (running, about) = (Running::start(client.clone()), about_configmap(&namespace, "a"));
    for n in 0..12 {
        running.event(&about, "Happened", &format!("this is number {n}"));
    }
    assert_eq!(running.stop().await, "counted 2, created 10");

    let events = written(&client, &namespace, "a").await;
    let combined: Vec<_> = events.iter().filter(|event| event.count != Some(1)).collect();
    let [combined] = combined.as_slice() else {
        panic!("{combined:?}")
    };
    assert_eq!(combined.count, Some(3));
    assert_eq!(
        combined.message.as_deref(),
        Some("(combined from similar events): this is number 11")
    );
    assert_eq!(events.len(), 10);
}

#[tokio::test]
async fn too_many_about_one_object_are_dropped() {
    let client = ControlPlane::shared().client();
    let namespace = namespace(&client).await;
    let running = Running::start(client.clone());
    let (noisy, quiet) = (
        about_configmap(&namespace, "noisy"),
        about_configmap(&namespace, "quiet"),
    );
    for _ in 0..30 {
        running.event(&noisy, "Happened", "again and again");
    }
    running.event(&quiet, "Happened", "once");
    assert_eq!(running.stop().await, "counted 24, created 2, filtered 5");
    assert_eq!(written(&client, &namespace, "noisy").await[0].count, Some(25));
    assert_eq!(written(&client, &namespace, "quiet").await[0].count, Some(1));
}

#[tokio::test]
async fn events_about_nodes_are_in_default() {
    let client = ControlPlane::shared().client();
    let mut node = Node::default();
    node.metadata.name = Some(lab::unique("node"));
    let running = Running::start(client.clone());
    running.event(&node.object_ref(&()), "Synced", "Node synced successfully");
    assert_eq!(running.stop().await, "created 1");
    let events = written(&client, "default", &node.name_any()).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].involved_object.namespace, None);
}

// upstream: TestUpdateExpiredEvent
#[tokio::test]
async fn an_event_that_is_gone_is_created_again_with_its_count() {
    let client = ControlPlane::shared().client();
    let namespace = namespace(&client).await;
    let (running, about) = (Running::start(client.clone()), about_configmap(&namespace, "a"));
    running.event(&about, "Happened", "something happened");
    let events = Api::<Object>::namespaced(client.clone(), &namespace);
    let first = wait_for("the event", || async { written(&client, &namespace, "a").await.pop() }).await;
    events
        .delete(&first.name_any(), &DeleteParams::default())
        .await
        .unwrap();

    running.event(&about, "Happened", "something happened");
    assert_eq!(running.stop().await, "created 2", "patch answers 404");
    let events = written(&client, &namespace, "a").await;
    assert_eq!(
        (events.len(), events[0].count, events[0].name_any()),
        (1, Some(2), first.name_any())
    );
}

#[tokio::test]
async fn a_terminating_namespace_is_not_retried() {
    let client = ControlPlane::shared().client();
    let name = namespace(&client).await;
    let namespaces = Api::<Namespace>::all(client.clone());
    // No namespace controller runs here, so that it remains in this state.
    namespaces.delete(&name, &DeleteParams::default()).await.unwrap();
    let (running, about) = (Running::start(client.clone()), about_configmap(&name, "a"));
    let mut probe = Object {
        involved_object: about.clone(),
        ..Object::default()
    };
    (probe.metadata.name, probe.metadata.namespace) = (Some("probe".into()), Some(name.clone()));
    let error = running
        .broadcaster
        .0
        .write_once(&Step::Create(probe))
        .await
        .unwrap_err();
    assert!(is_expected(&error) && !is_worth_retrying(&error), "{error:?}");
    running.event(&about, "Happened", "too late");
    assert_eq!(running.stop().await, "rejected 1");
}

#[tokio::test]
async fn a_missing_permission_is_not_retried() {
    let plane = ControlPlane::shared();
    let client = plane.client();
    let namespace = namespace(&client).await;
    let source = crate::client::Source {
        kubeconfig: Some(plane.kubeconfig_for("alice", &[])),
        master: None,
    };
    let alice = Builder::new(source.load().unwrap()).build().unwrap().plain("events");
    let running = Running::start(alice);
    running.event(&about_configmap(&namespace, "a"), "Happened", "not allowed");
    let broadcaster = running.broadcaster.clone();
    assert_eq!(running.stop().await, "rejected 1");
    let message = broadcaster.0.rejection.lock().clone();
    let expected = format!(
        "missing permission: events is forbidden: User \"alice\" cannot create resource \"events\" in API group \"\" in the namespace \"{namespace}\""
    );
    assert_eq!(message, expected);
}

/// A client whose requests all fail in this way, the first few times.
fn failing(how: Failing, times: u32) -> (Client, Arc<AtomicU32>) {
    let attempts = Arc::new(AtomicU32::new(0));
    let counter = attempts.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let failed = counter.fetch_add(1, Ordering::Relaxed) < times;
        async move {
            let answer = match how {
                _ if !failed => {
                    return Ok(Response::new(Body::from(
                        request.into_body().collect_bytes().await?.to_vec(),
                    )));
                }
                Failing::Connection => return Err::<_, tower::BoxError>("a weird error".into()),
                Failing::Fenced => return Err(crate::fence::Fenced.into()),
                Failing::Status => Response::builder()
                    .status(StatusCode::UNPROCESSABLE_ENTITY)
                    .body(Body::from(b"{}".to_vec())),
                Failing::Nonsense => Ok(Response::new(Body::from(b"[]".to_vec()))),
            };
            Ok(answer?)
        }
    });
    (Client::new(service, "default"), attempts)
}

#[derive(Debug, Clone, Copy)]
enum Failing {
    Connection,
    Fenced,
    Status,
    Nonsense,
}

fn step() -> Step {
    let event = Event {
        component: "eventTest",
        regarding: about_configmap("default", "a"),
        kind: Kind::Normal,
        reason: "Started",
        message: "hello".into(),
    };
    Correlator::new(Limits::default())
        .correlate(&event, Timestamp::now())
        .unwrap()
}

// upstream: TestWriteEventError
#[rstest]
#[case("giveUp1", Failing::Fenced, 1000, 1, Outcome::Rejected)]
#[case("giveUp2", Failing::Status, 1000, 1, Outcome::Rejected)]
#[case("retry1", Failing::Nonsense, 1000, 12, Outcome::Failed)]
#[case("retry2", Failing::Connection, 1000, 12, Outcome::Failed)]
#[case("succeedEventually", Failing::Connection, 1, 2, Outcome::Created)]
#[tokio::test(start_paused = true)]
async fn tries(
    #[case] name: &str,
    #[case] how: Failing,
    #[case] times: u32,
    #[case] wanted: u32,
    #[case] expected: Outcome,
) {
    let (client, attempts) = failing(how, times);
    let started = Instant::now();
    let outcome = Broadcaster::new(client, None)
        .0
        .write(&step(), &CancellationToken::new())
        .await;
    assert_eq!(
        (outcome, attempts.load(Ordering::Relaxed)),
        (expected, wanted),
        "{name}"
    );
    let (least, most) = (wanted.saturating_sub(2) * 10, wanted.saturating_sub(1) * 10);
    let took = started.elapsed().as_secs_f64();
    assert!(
        (f64::from(least)..=f64::from(most)).contains(&took),
        "{name}: the first wait is random, then 10 s: {took}"
    );
}

// upstream: TestCancelEvent
#[tokio::test(start_paused = true)]
async fn tries_once_when_cancelled() {
    let (client, attempts) = failing(Failing::Connection, 1000);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = Broadcaster::new(client, None).0.write(&step(), &cancel).await;
    assert_eq!(
        (outcome, attempts.load(Ordering::Relaxed)),
        (Outcome::Failed, 1),
        "cancelled before"
    );
}

// upstream: TestBroadcasterShutdown
#[tokio::test(start_paused = true)]
async fn stops_at_once_when_there_is_nothing_to_write() {
    let (client, _) = failing(Failing::Connection, 0);
    let (running, started) = (Running::start(client), Instant::now());
    running.stop().await;
    assert_eq!(started.elapsed(), Duration::ZERO, "time to stop");
}

// upstream: TestNonRacyShutdown
#[tokio::test(flavor = "multi_thread")]
async fn writes_what_is_waiting_when_it_is_stopped() {
    let (client, _) = failing(Failing::Connection, 0);
    let running = Running::start(client);
    let recorder = running.broadcaster.recorder("eventTest");
    let record = |n: usize| {
        let (recorder, about) = (recorder.clone(), about_configmap("default", &format!("a{n}")));
        tokio::spawn(async move { recorder.event(about, Kind::Normal, "Started", "blah") })
    };
    for task in (0..100).map(record).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(running.stop().await, "created 100", "100 at once, then stop");
}

#[tokio::test(start_paused = true)]
async fn stops_soon_even_if_nothing_can_be_written() {
    let hanging = tower::service_fn(|_: Request<Body>| async {
        std::future::pending::<()>().await;
        Err::<Response<Body>, _>("never")
    });
    let running = Running::start(Client::new(hanging, "default"));
    for n in 0..100 {
        running.event(&about_configmap("default", &format!("a{n}")), "Started", "blah");
    }
    let started = Instant::now();
    running.stop().await;
    assert_eq!(started.elapsed(), FLUSH);
}

// upstream: TestLotsOfEvents
#[tokio::test(start_paused = true)]
async fn writes_as_many_as_can_wait_and_drops_the_rest() {
    let (client, _) = failing(Failing::Connection, 0);
    let broadcaster = Broadcaster::new(client.clone(), None);
    let registry = Registry::new();
    let metrics = Metrics::register(&registry).unwrap();
    let recorder = broadcaster.recorder("test-component").counted_by(Some(metrics));
    for n in 0..QUEUE + 7 {
        recorder.event(
            about_configmap("default", &format!("foo-{n}")),
            Kind::Normal,
            "Reason",
            n.to_string(),
        );
    }
    let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    assert!(
        text.contains(r#"event_recorder_events_total{component="test-component",outcome="dropped"} 7"#),
        "{text}"
    );

    let (client, attempts) = failing(Failing::Connection, 0);
    let running = Running::start(client);
    for n in 0..QUEUE {
        running.event(
            &about_configmap("default", &format!("foo-{n}")),
            "Reason",
            &n.to_string(),
        );
    }
    assert_eq!(running.stop().await, format!("created {QUEUE}"));
    assert_eq!(attempts.load(Ordering::Relaxed) as usize, QUEUE, "as many as can wait");
}

#[tokio::test(start_paused = true)]
async fn an_outage_delays_events_and_loses_none() {
    let (client, attempts) = failing(Failing::Connection, 3);
    let running = Running::start(client);
    let about = about_configmap("default", "a");
    running.event(&about, "First", "one");
    running.event(&about, "Second", "two");
    wait_for("both to be written", || async {
        (attempts.load(Ordering::Relaxed) == 5).then_some(())
    })
    .await;
    assert_eq!(running.stop().await, "created 2");
}

async fn wait_for<T, F: Future<Output = Option<T>>>(what: &str, probe: impl Fn() -> F) -> T {
    let found = timeout(Duration::from_mins(2), async {
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    found.await.unwrap_or_else(|_| panic!("{what} did not happen"))
}
