//! Another cloud, and back, while the manager runs.

use super::{OPERANDS, SECOND, deployment, labels, made, pods, progressed, reports, set_platform, states_until};
use crate::{cloud::OpenStack, fixture::Fixture, history::History, stand_in};

/// From `OpenStack` to AWS, whose manager works at first and then does not, and back.
pub async fn story(fixture: &Fixture, cloud: &OpenStack, history: &History) {
    stand_in::import(fixture);
    let before = made(fixture).await;
    assert!(before.contains(&deployment("openstack")), "{before:#?}");
    history.states(fixture).await;

    set_platform(fixture, "AWS").await;
    fixture.gone(&pods("openstack")).await;
    // Not earlier: the old manager would have removed it.
    fixture.taint();
    replaced(fixture, &before, "openstack").await;
    let pod = fixture.pod(OPERANDS, &labels("aws"), stand_in::IMAGE).await;
    let states = reports(fixture, history, &SECOND).await;
    progressed(&states, &["aws-cloud-controller-manager"]);
    let pod = pod["metadata"]["name"].as_str().unwrap();
    let log = fixture.cluster.node.pod_log(OPERANDS, pod, "cloud-controller-manager");
    assert!(log.contains("--cloud-provider=aws"), "{log}");
    fixture.assert_tainted().await;

    stand_in::fails();
    let down = "False NothingRuns Deployment openshift-cloud-controller-manager/aws-cloud-controller-manager: 0 of 1 Pods available";
    states_until(fixture, history, |state| state.conditions[0].starts_with(down)).await;
    fixture.assert_tainted().await;

    let before = made(fixture).await;
    set_platform(fixture, "OpenStack").await;
    fixture.gone(&pods("aws")).await;
    replaced(fixture, &before, "aws").await;
    stand_in::works();
    fixture.pod(OPERANDS, &labels("openstack"), SECOND.1).await;
    fixture.initialised(&cloud.provider_id()).await;
    let states = reports(fixture, history, &SECOND).await;
    progressed(&states, &["openstack-cloud-controller-manager"]);
}

/// Waits until the objects that only the old cloud needs are deleted.
async fn replaced(fixture: &Fixture, before: &[String], old: &str) {
    fixture.gone(&deployment(old)).await;
    let look = async || {
        let now = made(fixture).await;
        let there: Vec<_> = now.iter().filter(|path| path.contains(&format!("/{old}-"))).collect();
        if there.is_empty() {
            Ok(now.clone())
        } else {
            Err(format!("{there:#?}"))
        }
    };
    let now = fixture.until("the operator to forget what is gone", look).await;
    for path in before.iter().filter(|path| !now.contains(path)) {
        fixture.gone(path).await;
    }
}
