//! A cloud or an API server that does not do what it should.

use super::*;

#[tokio::test]
async fn a_cloud_that_throttles_is_obeyed_and_one_that_fails_is_asked_again() {
    let mut rig = Rig::new();
    rig.cloud.boot(&rig.name("a"));
    let second = Duration::from_secs(1);
    rig.cloud.inject(
        Fault::fail(Failure::Throttled {
            retry_after: Some(second),
        })
        .operation(Operation::Describe)
        .times(1),
    );
    rig.cloud.inject(
        Fault::fail(Failure::Unavailable("down".into()))
            .operation(Operation::Describe)
            .times(3),
    );
    rig.register("a", "tainted").await;
    let patient = Options {
        patience: Duration::from_mins(1),
        ..options()
    };
    start(&mut rig, patient);
    rig.until_initialized().await;
    let calls = rig.cloud.calls_of(Operation::Describe);
    assert_eq!(calls.len(), 4, "throttled, failed twice, answered");
    assert!(
        calls[1].at >= calls[0].at + second,
        "asked sooner than the cloud wanted"
    );
    assert_eq!(rig.requests.all().len(), 2, "short trouble leaves no traces");
    rig.until_event("Synced").await;
    rig.finish().await;
}

#[tokio::test]
async fn a_machine_that_is_not_ready_is_asked_about_later() {
    let mut rig = Rig::new();
    rig.cloud.create_machine(Machine::typical(rig.name("a")).not_yet());
    let before = rig.register("a", "tainted").await;
    start(&mut rig, options());
    rig.until_event("WaitingForCloud").await;
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) >= 3).await;
    let mut after = rig.get("a").await;
    after
        .metadata
        .managed_fields
        .clone_from(&before.metadata.managed_fields);
    assert_eq!(after, before, "the node is left as it is");
    rig.cloud
        .modify_machine(&rig.name("a"), |machine| machine.readiness = memory::Readiness::Known);
    rig.until_initialized().await;
    rig.finish().await;
}

#[tokio::test]
async fn a_cloud_that_hangs_is_given_up_and_what_is_under_way_at_the_end_is_finished() {
    let mut rig = Rig::new();
    rig.cloud.boot(&rig.name("a"));
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::Describe));
    rig.register("a", "tainted").await;
    let hasty = Options {
        deadline: Duration::from_millis(200),
        ..options()
    };
    start(&mut rig, hasty);
    let event = rig.until_event("FailedToInitialize").await;
    assert_eq!(
        event.message,
        "Cannot initialize node: describe machines is unavailable: no answer in time"
    );
    rig.cloud.withdraw(hang);
    rig.until_initialized().await;

    rig.cloud.boot(&rig.name("b"));
    rig.cloud.forget_calls();
    rig.cloud
        .inject(Fault::delay(Duration::from_millis(100)).operation(Operation::Describe));
    rig.register("b", "tainted").await;
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    rig.cancel();
    wait::until("the controller to end", || {
        let running = rig.running();
        async move {
            if running == 0 {
                Ok(())
            } else {
                Err(format!("{running} tasks run"))
            }
        }
    })
    .await;
    assert!(
        !taints::is_uninitialized(&rig.get("b").await),
        "work that had begun was thrown away"
    );
    rig.finish().await;
}

#[tokio::test]
async fn an_api_server_that_goes_away_and_comes_back_costs_only_time() {
    let plane = lab::ControlPlane::start().unwrap();
    let mut rig = Rig::on(&plane);
    rig.cloud.boot(&rig.name("a"));
    rig.register("a", "tainted").await;
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::Describe));
    let ctx = context(&rig, options());
    let queue = ctx.queue.clone();
    rig.start(|cancel| run(ctx, cancel));
    rig.cloud.until(|cloud| cloud.count(Operation::Describe) > 0).await;
    plane.stop_apiserver();
    rig.cloud.withdraw(hang);
    wait::until("some attempts in vain", || async {
        let failures = queue.failures(&rig.name("a"));
        if failures > 2 {
            Ok(())
        } else {
            Err(format!("{failures} failures"))
        }
    })
    .await;
    plane.start_apiserver().unwrap();
    rig.until_initialized().await;
    rig.finish().await;
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    let rig = Rig::new();
    let node = Arc::new(rig.register("a", "tainted").await);
    let file = lab::ControlPlane::shared().kubeconfig_for(&rig.group, &[]);
    let file = kube::config::Kubeconfig::read_from(file).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    let writer = Writer::new(
        kube::Client::try_from(config).unwrap(),
        rig.informer.store(),
        options().syncs,
    );
    let decide = |node: &Node| plan::plan(node, &Ok(found("id:x InternalIP=10.0.0.1")), rules());
    let stuck = writer.carry_out(node, decide).await.unwrap_err().to_string();
    assert!(stuck.contains("cannot patch resource \"nodes/status\""), "{stuck}");
    rig.finish().await;
}

/// A restart would begin the pass anew.
#[rstest]
#[case::slow(Fault::delay(Duration::from_secs(40)), Duration::from_mins(1), false)]
#[case::hanging(Fault::hang(), Duration::from_mins(1), false)]
#[case::never_given_up(Fault::hang(), Duration::from_hours(1), true)]
#[tokio::test(start_paused = true)]
async fn a_long_pass_over_all_nodes_is_stuck_only_if_it_does_not_move(
    #[case] fault: Fault,
    #[case] deadline: Duration,
    #[case] stuck: bool,
) {
    let rig = Rig::new();
    rig.cloud.inject(fault.operation(Operation::Describe));
    for index in 0..20 {
        let node = testkit::node::node(&index.to_string(), "");
        rig.informer.store().insert(node);
    }
    let one_at_a_time = options().status_updates(NonZeroUsize::MIN);
    let ctx = context(
        &rig,
        Options {
            deadline,
            ..one_at_a_time
        },
    );
    let pulse = ctx.status_pulse.clone();
    let work = Arc::new(Controller::new(ctx)).refresh_until(CancellationToken::new());
    assert_eq!(gets_stuck(work, &pulse).await, stuck);
}

#[tokio::test(start_paused = true)]
async fn to_wait_for_the_first_list_of_nodes_is_not_to_be_stuck() {
    let rig = Rig::new();
    let ctx = context(&rig, options());
    let pulse = ctx.sync_pulse.clone();
    assert!(!gets_stuck(run(ctx, CancellationToken::new()), &pulse).await);
}
