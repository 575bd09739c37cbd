//! Faults of the cloud and of the API server.

use super::*;

#[tokio::test]
async fn retry_after_is_obeyed_and_failures_are_retried() {
    let mut fixture = Fixture::new();
    fixture.cloud.boot(&fixture.name("a"));
    let second = Duration::from_secs(1);
    fixture.cloud.inject(
        Fault::fail(Failure::Throttled {
            retry_after: Some(second),
        })
        .operation(Operation::Describe)
        .times(1),
    );
    fixture.cloud.inject(
        Fault::fail(Failure::Unavailable("down".into()))
            .operation(Operation::Describe)
            .times(3),
    );
    fixture.register("a", "tainted").await;
    let patient = Options {
        patience: Duration::from_mins(1),
        ..options()
    };
    start(&mut fixture, patient);
    fixture.until_initialized().await;
    let calls = fixture.cloud.calls_of(Operation::Describe);
    assert_eq!(calls.len(), 4, "throttled, failed twice, answered");
    assert!(
        calls[1].at >= calls[0].at + second,
        "called before the end of retry-after"
    );
    assert_eq!(fixture.requests.all().len(), 2, "a short failure is not reported");
    fixture.until_event("Synced").await;
    fixture.finish().await;
}

#[tokio::test]
async fn an_instance_that_is_not_described_yet_is_polled() {
    let mut fixture = Fixture::new();
    fixture
        .cloud
        .create_machine(Machine::typical(fixture.name("a")).not_yet());
    let before = fixture.register("a", "tainted").await;
    start(&mut fixture, options());
    fixture.until_event("WaitingForCloud").await;
    fixture.cloud.until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    let mut after = fixture.get("a").await;
    after
        .metadata
        .managed_fields
        .clone_from(&before.metadata.managed_fields);
    assert_eq!(after, before, "the node is unchanged");
    fixture.cloud.modify_machine(&fixture.name("a"), |machine| {
        machine.readiness = memory::Readiness::Known;
    });
    fixture.until_initialized().await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_call_that_hangs_is_abandoned_and_work_in_progress_is_finished_at_the_end() {
    let mut fixture = Fixture::new();
    fixture.cloud.boot(&fixture.name("a"));
    let hang = fixture.cloud.inject(Fault::hang().operation(Operation::Describe));
    fixture.register("a", "tainted").await;
    let hasty = Options {
        deadline: Duration::from_millis(200),
        ..options()
    };
    start(&mut fixture, hasty);
    let event = fixture.until_event("FailedToInitialize").await;
    assert_eq!(
        event.message,
        "Cannot initialize node: describe machines is unavailable: no answer within 200ms"
    );
    fixture.cloud.withdraw(hang);
    fixture.until_initialized().await;

    fixture.cloud.boot(&fixture.name("b"));
    fixture.cloud.forget_calls();
    fixture
        .cloud
        .inject(Fault::delay(Duration::from_millis(100)).operation(Operation::Describe));
    fixture.register("b", "tainted").await;
    fixture.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    fixture.stop().await;
    assert!(!taints::is_uninitialized(&fixture.get("b").await));
    fixture.finish().await;
}

#[tokio::test]
async fn an_outage_of_the_api_server() {
    let plane = lab::ControlPlane::start().unwrap();
    let mut fixture = Fixture::on(&plane);
    fixture.cloud.boot(&fixture.name("a"));
    fixture.register("a", "tainted").await;
    let hang = fixture.cloud.inject(Fault::hang().operation(Operation::Describe));
    let ctx = context(&fixture, options());
    let queue = ctx.queue.clone();
    fixture.start(|cancel| run(ctx, cancel));
    fixture.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    plane.stop_apiserver();
    fixture.cloud.withdraw(hang);
    wait::until("some failed attempts", || async {
        let failures = queue.failures(&fixture.name("a"));
        if failures > 2 {
            Ok(())
        } else {
            Err(format!("{failures} failures"))
        }
    })
    .await;
    plane.start_apiserver().unwrap();
    fixture.until_initialized().await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_missing_permission_is_reported() {
    let fixture = Fixture::new();
    let node = Arc::new(fixture.register("a", "tainted").await);
    let file = lab::ControlPlane::shared().kubeconfig_for(&fixture.group, &[]);
    let file = kube::config::Kubeconfig::read_from(file).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    let writer = Writer::new(
        kube::Client::try_from(config).unwrap(),
        fixture.informer.store(),
        options().syncs,
    );
    let plan = |node: &Node| plan::plan(node, &Ok(found("id:x InternalIP=10.0.0.1")), rules());
    let error = writer.write(node, plan).await.unwrap_err().to_string();
    assert!(error.contains("cannot patch resource \"nodes/status\""), "{error}");
    fixture.finish().await;
}

/// A restart would begin the pass from the start.
#[rstest]
#[case::slow(Fault::delay(Duration::from_secs(40)), Duration::from_mins(1), false)]
#[case::hanging(Fault::hang(), Duration::from_mins(1), false)]
#[case::without_a_deadline(Fault::hang(), Duration::from_hours(1), true)]
#[tokio::test(start_paused = true)]
async fn a_long_refresh_is_stuck_only_without_progress(
    #[case] fault: Fault,
    #[case] deadline: Duration,
    #[case] stuck: bool,
) {
    let fixture = Fixture::new();
    fixture.cloud.inject(fault.operation(Operation::Describe));
    for index in 0..20 {
        let node = testkit::node::node(&index.to_string(), "");
        fixture.informer.store().insert(node);
    }
    let one_at_a_time = options().status_updates(NonZeroUsize::MIN);
    let ctx = context(
        &fixture,
        Options {
            deadline,
            ..one_at_a_time
        },
    );
    let pulse = ctx.status_pulse.clone();
    let work = Arc::new(Reconciler::new(ctx)).refresh_until(CancellationToken::new());
    assert_eq!(gets_stuck(work, &pulse).await, stuck);
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_the_first_list_is_not_stuck() {
    let fixture = Fixture::new();
    let ctx = context(&fixture, options());
    let pulse = ctx.sync_pulse.clone();
    assert!(!gets_stuck(run(ctx, CancellationToken::new()), &pulse).await);
}
