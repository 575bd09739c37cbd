//! The operator is killed after every single write: the end is that of an undisturbed run, on `OpenShift` and standalone.

mod openshift;
mod standalone;

use crate::{
    flavour::Snapshot,
    process_fixture::{ApiProxy, Folder, Manager},
};
use kube::Client;
use openshift::OpenShift;
use rstest::rstest;
use standalone::Standalone;

/// More crashes than any change has writes: the operators make no progress.
const ENDLESS: usize = 100;

/// Something that changes in a cluster while no operator runs.
trait Scenario {
    /// Sets the cluster up as it is right after the change, given the end of an undisturbed run if it is known.
    async fn begin(&mut self, end: Option<&Snapshot>);

    /// The client of an administrator, and a folder for files.
    fn tools(&self) -> (&Client, &Folder);

    /// Starts an operator; it reaches the API server through the proxy, if there is one.
    fn start(&self, proxy: Option<&ApiProxy>) -> Manager;

    /// Whether the operator reports that the change is complete; simulates the cluster's other controllers.
    async fn is_done(&self) -> Result<(), String>;

    /// Waits until the operator has stopped writing.
    async fn settled(&self);

    /// The current state.
    async fn snapshot(&self) -> Snapshot;
}

/// The end of an undisturbed run.
async fn undisturbed(scenario: &mut impl Scenario) -> Snapshot {
    scenario.begin(None).await;
    let scenario = &*scenario;
    let operator = scenario.start(None);
    let look = async || {
        let snapshot = settled(scenario).await?;
        if settled(scenario).await? == snapshot {
            Ok(snapshot)
        } else {
            Err("it still changes".to_owned())
        }
    };
    operator.until("the end", look).await
}

/// The state when the change is complete and the operator has stopped writing.
async fn settled(scenario: &impl Scenario) -> Result<Snapshot, String> {
    scenario.is_done().await?;
    scenario.settled().await;
    Ok(scenario.snapshot().await)
}

/// Waits until the state is the expected one, and does not change.
async fn ends_like(scenario: &impl Scenario, operator: &Manager, expected: &Snapshot, what: &str) {
    let look = async || {
        tokio::time::sleep(ApiProxy::STEP).await;
        scenario.is_done().await?;
        let found = scenario.snapshot().await;
        if found == *expected {
            return Ok(());
        }
        let other = |from: &Snapshot, with: &Snapshot| {
            let mut from = from.clone();
            from.retain(|name, object| with.get(name) != Some(object));
            from
        };
        let (more, less) = (other(&found, expected), other(expected, &found));
        Err(format!("{more:#?} instead of {less:#?}"))
    };
    operator.until(what, look).await;
    scenario.settled().await;
    assert_eq!(scenario.snapshot().await, *expected, "{what}");
}

/// One operator after the other is killed after its first write, until one has nothing to write. So each of them starts with
/// the state that the crashes before it left, and every write is the last one of an operator.
async fn killed_after_each_write(mut scenario: impl Scenario, at_least: usize) {
    let expected = undisturbed(&mut scenario).await;
    scenario.begin(Some(&expected)).await;
    let (client, folder) = scenario.tools();
    let proxy = ApiProxy::to(client, folder).await;
    let is_done = async || scenario.is_done().await.is_ok();
    let mut deaths = 0;
    while proxy.kill_behind(0, || scenario.start(Some(&proxy)), is_done).await {
        deaths += 1;
        assert!(deaths < ENDLESS, "no end after {:#?}", proxy.writes());
    }
    assert!(deaths >= at_least, "only {deaths} writes: {:#?}", proxy.writes());
    let operator = scenario.start(Some(&proxy));
    let what = format!("the end after deaths behind {:#?}", proxy.writes());
    ends_like(&scenario, &operator, &expected, &what).await;
}

/// For each write a cluster in which the operator is killed after it, and the next operator is not.
async fn killed_once_after_each_write(mut scenario: impl Scenario, at_least: usize) {
    let expected = undisturbed(&mut scenario).await;
    for write in 0.. {
        scenario.begin(Some(&expected)).await;
        let (client, folder) = scenario.tools();
        let proxy = ApiProxy::to(client, folder).await;
        let is_done = async || scenario.is_done().await.is_ok();
        let killed = proxy.kill_behind(write, || scenario.start(Some(&proxy)), is_done).await;
        let last = proxy.writes().last().cloned().unwrap_or_default();
        let operator = scenario.start(Some(&proxy));
        let what = format!("the end after the death behind write {}, {last}", write + 1);
        ends_like(&scenario, &operator, &expected, &what).await;
        if !killed {
            assert!(write >= at_least, "only {write} writes");
            return;
        }
    }
}

#[rstest]
#[case::install_aws(openshift::Change::Install("AWS"), 9)]
#[case::install_azure(openshift::Change::Install("Azure"), 16)]
#[case::install_ours(openshift::Change::InstallOurs, 11)]
#[case::take_over(openshift::Change::TakeOver, 9)]
#[case::upgrade(openshift::Change::Upgrade, 1)]
#[case::release(openshift::Change::Release, 2)]
#[case::shrink(openshift::Change::Shrink, 3)]
#[case::switch(openshift::Change::Switch, 14)]
#[case::remove(openshift::Change::Remove, 6)]
#[tokio::test]
async fn killed_on_openshift(#[case] change: openshift::Change, #[case] at_least: usize) {
    killed_after_each_write(OpenShift::new(change), at_least).await;
}

#[rstest]
#[case::install(standalone::Change::Install, 14)]
#[case::change(standalone::Change::Update, 3)]
#[case::switch(standalone::Change::Switch, 14)]
#[case::remove(standalone::Change::Remove, 14)]
#[tokio::test]
async fn killed_standalone(#[case] change: standalone::Change, #[case] at_least: usize) {
    killed_after_each_write(Standalone::new(change).await, at_least).await;
}

/// An operator that continues after the first write has more to write than one that starts after it.
#[rstest]
#[case::install_aws(openshift::Change::Install("AWS"), 9)]
#[case::install_azure(openshift::Change::Install("Azure"), 16)]
#[case::install_ours(openshift::Change::InstallOurs, 12)]
#[case::take_over(openshift::Change::TakeOver, 14)]
#[case::upgrade(openshift::Change::Upgrade, 2)]
#[case::release(openshift::Change::Release, 3)]
#[case::shrink(openshift::Change::Shrink, 3)]
#[case::switch(openshift::Change::Switch, 14)]
#[case::remove(openshift::Change::Remove, 6)]
#[tokio::test]
#[ignore = "takes minutes: make test-full runs it"]
async fn killed_once_on_openshift(#[case] change: openshift::Change, #[case] at_least: usize) {
    killed_once_after_each_write(OpenShift::new(change), at_least).await;
}

#[rstest]
#[case::install(standalone::Change::Install, 14)]
#[case::change(standalone::Change::Update, 3)]
#[case::switch(standalone::Change::Switch, 14)]
#[case::remove(standalone::Change::Remove, 14)]
#[tokio::test]
#[ignore = "takes minutes: make test-full runs it"]
async fn killed_once_standalone(#[case] change: standalone::Change, #[case] at_least: usize) {
    killed_once_after_each_write(Standalone::new(change).await, at_least).await;
}
