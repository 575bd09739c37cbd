//! Many Services at once, on clouds of different speed.

use super::*;
use futures::future::join_all;

/// When a Service was begun, and when it was finished.
#[derive(Debug, Clone, Copy)]
struct Times {
    begun: Duration,
    finished: Duration,
}

fn cloud(speed: Speed) -> Fake {
    Fake {
        speed,
        ..Fake::default()
    }
}

fn named(name: &str) -> Spec {
    let mut spec = service("x", &["a"]);
    spec.service.uid = name.into();
    spec.annotations.insert(ID.into(), name.into());
    spec
}

/// As the controller does it: again after the time that the engine answers.
async fn until_done(cloud: &Fake, name: String) -> Times {
    let (start, spec, mut begun) = (Instant::now(), named(&name), None);
    loop {
        let progress = ensure(cloud, &spec).await.unwrap().answer;
        if cloud.find(&name).is_some() {
            begun.get_or_insert(start.elapsed());
        }
        match (progress, begun) {
            (Progress::Done(_), Some(begun)) => {
                return Times {
                    begun,
                    finished: start.elapsed(),
                };
            }
            (Progress::Done(_), None) => panic!("nothing was created"),
            (Progress::Pending { poll_after, .. }, _) => tokio::time::sleep(poll_after).await,
        }
    }
}

/// In the order in which they were finished.
async fn burst(cloud: &Fake, services: usize) -> Vec<Times> {
    let mut times = join_all((0..services).map(|number| until_done(cloud, format!("web-{number}")))).await;
    times.sort_by_key(|times| times.finished);
    times
}

#[tokio::test(start_paused = true)]
async fn an_api_that_slows_down_gives_addresses_one_after_the_other() {
    let (latency, growing) = (Duration::from_millis(500), Duration::from_millis(500));
    let cloud = cloud(Speed {
        latency,
        growing,
        provisioning: Some(Duration::from_millis(200)),
    });
    let single = until_done(&cloud, "single".into()).await.finished;
    let all = burst(&cloud, 40).await;
    let last_begun = all.iter().map(|times| times.begun).max().unwrap();
    assert!(
        all[0].finished < last_begun / 2,
        "the first waits for the last: {all:?}"
    );
    assert!(all[0].finished <= single * 3 / 2, "{single:?}, {:?}", all[0]);
    let after_the_first = |times: Times| times.finished.checked_sub(all[0].finished).unwrap();
    assert!(after_the_first(all[20]) < after_the_first(all[39]) * 3 / 5, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn slow_load_balancers_are_created_at_the_same_time() {
    let provisioning = Duration::from_mins(1);
    let cloud = cloud(Speed {
        latency: Duration::from_millis(200),
        growing: Duration::ZERO,
        provisioning: Some(provisioning),
    });
    let all = burst(&cloud, 40).await;
    assert!(all[39].begun < Duration::from_secs(5), "{all:?}");
    assert!(all[39].finished < provisioning * 6 / 5, "{all:?}");
}

/// A cloud that is slow at everything: what is pending does not keep others from beginning for ever.
#[tokio::test(start_paused = true)]
async fn an_api_that_slows_down_with_slow_load_balancers() {
    let cloud = cloud(Speed {
        latency: Duration::from_millis(500),
        growing: Duration::from_millis(500),
        provisioning: Some(Duration::from_mins(1)),
    });
    until_done(&cloud, "single".into()).await;
    let all = burst(&cloud, 40).await;
    assert!(all[39].finished < Duration::from_mins(4), "{all:?}");
}

/// Whether a Service has to wait; if not, it begins, and is then cancelled.
async fn waits(cloud: &Fake, name: &str) -> bool {
    let spec = named(name);
    let answer = tokio::time::timeout(Duration::from_millis(1), ensure(cloud, &spec)).await;
    matches!(answer, Ok(Ok(Noted { answer: Progress::Pending { waiting_for, .. }, .. })) if waiting_for.contains("its turn"))
}

/// Works while another load balancer is being created, which is as many as may be at first.
async fn while_full<T>(work: impl AsyncFnOnce(&Fake) -> T) -> T {
    let cloud = cloud(Speed {
        latency: Duration::from_secs(1),
        ..Speed::default()
    });
    let creating = named("creating");
    let work = async {
        assert!(waits(&cloud, "next").await);
        work(&cloud).await
    };
    tokio::select! {
        biased;
        created = ensure(&cloud, &creating) => panic!("{created:?}"),
        answer = work => answer,
    }
}

/// A Service leaves while it is pending, and while it waits: it does not keep others from beginning.
async fn leaves(leave: impl AsyncFn(&Fake, &Spec)) {
    let cloud = cloud(Speed {
        latency: Duration::from_secs(1),
        ..Speed::default()
    });
    let first = named("first");
    ensure(&cloud, &first).await.unwrap();
    leave(&cloud, &first).await;
    let counted = |admission: &mut super::super::admission::Admission<_>| admission.is_empty();
    assert!(cloud.state.admission(counted));
}

#[tokio::test(start_paused = true)]
async fn deleting_a_service_frees_its_place() {
    leaves(async |cloud: &Fake, spec: &Spec| drop(delete(cloud, spec).await.unwrap())).await;
    while_full(async |cloud: &Fake| {
        assert!(waits(cloud, "later").await);
        delete(cloud, &named("next")).await.unwrap();
        delete(cloud, &named("creating")).await.unwrap();
        assert!(!waits(cloud, "later").await);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn failing_frees_the_place() {
    leaves(async |cloud: &Fake, spec: &Spec| {
        cloud.change("first", |balancer| balancer.condition = Condition::Broken);
        ensure(cloud, spec).await.unwrap_err();
    })
    .await;
    let (cloud, mut refused) = (Fake::default(), named("refused"));
    refused.annotations.insert(SETTINGS.into(), "refused".into());
    ensure(&cloud, &refused).await.unwrap_err();
    assert!(!waits(&cloud, "next").await);
}

#[tokio::test(start_paused = true)]
async fn finishing_frees_the_place() {
    leaves(async |cloud: &Fake, spec: &Spec| {
        cloud.complete();
        let Noted { answer, .. } = ensure(cloud, spec).await.unwrap();
        assert!(matches!(answer, Progress::Done(_)), "{answer:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_creation_frees_its_place() {
    let cloud = cloud(Speed {
        latency: Duration::from_secs(1),
        ..Speed::default()
    });
    for name in ["a", "b", "c"] {
        assert!(!waits(&cloud, name).await, "{name} is cancelled while it is created");
    }
}

#[tokio::test(start_paused = true)]
async fn an_existing_load_balancer_does_not_wait() {
    while_full(async |cloud: &Fake| {
        let mut spec = named("there");
        cloud.add("there", Ownership::Owner);
        spec.status.ingress.push(::cloud::Ingress::default());
        cloud.calls();
        cloud.ensure(&mut spec).await;
        delete(cloud, &spec).await.unwrap();
        assert!(cloud.calls().ends_with("delete there"));
    })
    .await;
}
