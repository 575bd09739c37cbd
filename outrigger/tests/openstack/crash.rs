//! Killed at every call of a Service's creation, and started again: one load balancer, one floating IP, nothing left behind.

use crate::stage::{PASSWORD, Stage, told};
use kube::ResourceExt;
use openstack_sim::Fault;
use rstest::rstest;
use std::time::Duration;

/// More than a creation needs.
const CALLS: u64 = 12;

/// Where the call is when the process dies.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// Nothing has been done yet.
    Before,
    /// It has been done, and nobody knows.
    After,
}

#[rstest]
#[case::before_it_is_done(Moment::Before)]
#[case::before_the_answer(Moment::After)]
#[tokio::test]
async fn killed_at_each_call(#[case] moment: Moment) {
    let stage = Stage::new().await;
    stage
        .cloud
        .configure(|settings| settings.balancer_delay = Duration::from_millis(100));
    let guarded = stage.load_balancer("manage-security-groups=true");
    let config = format!("{}{guarded}", stage.global(PASSWORD));
    let launch = || stage.manager_with(&config);
    let mut manager = stage.start_with(launch(), &[]).await;
    let nodes = stage.nodes(&manager, 1).await;
    let mut deaths = 0;
    for call in 0..CALLS {
        let mark = stage.cloud.mark();
        let fault = match moment {
            Moment::Before => Fault::hang(),
            Moment::After => Fault::lose_answer(),
        };
        stage.cloud.inject(fault.skip(call).times(1));
        let service = stage.create(stage.balanced(&format!("web-{call}"))).await;
        let name = service.name_any();
        let struck = |cloud: &openstack_sim::Cloud| {
            let calls = cloud.calls_since(mark);
            calls
                .get(usize::try_from(call).unwrap())
                .is_some_and(|call| call.status.is_none())
        };
        let done = async { stage.served(&manager, &name).await };
        let died = tokio::select! {
            () = stage.cloud_until("the call", &manager, struck) => true,
            _ = done => false,
        };
        if died {
            manager.signal("KILL");
            manager.exited().await;
            stage.cloud.withdraw_all();
            manager = launch().flag("--leader-elect=false").start();
            deaths += 1;
        }
        stage.served(&manager, &name).await;
        stage.cloud.withdraw_all();
        stage.members_are(&manager, &name, &nodes).await;
        let made = told(&stage.cloud.calls_since(mark));
        assert_eq!(stage.cloud.load_balancers().len(), 1, "{made:?}");
        assert_eq!(stage.cloud.floating_ips().len(), 1, "{made:?}");
        stage.end(&manager, &name).await;
        stage.assert_clean();
    }
    assert!(deaths >= 6, "it died only {deaths} times");
}
