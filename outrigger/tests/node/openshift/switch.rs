//! Another cloud, and back, under a manager that runs.

use super::{OPERANDS, SECOND, deployment, labels, made, pods, progressed, reports, says, set_platform};
use crate::{cloud::OpenStack, history::History, site::Site, stand_in};

/// From `OpenStack` to AWS, whose manager works at first and then does not, and back.
pub async fn story(site: &Site, cloud: &OpenStack, history: &History) {
    stand_in::import(site);
    let before = made(site).await;
    assert!(before.contains(&deployment("openstack")), "{before:#?}");
    history.told(site).await;

    set_platform(site, "AWS").await;
    site.gone(&pods("openstack")).await;
    // Only now: the old manager would have taken it off.
    site.taint();
    replaced(site, &before, "openstack").await;
    let pod = site.pod(OPERANDS, &labels("aws"), stand_in::IMAGE).await;
    let states = reports(site, history, &SECOND).await;
    progressed(&states, &["aws-cloud-controller-manager"]);
    let pod = pod["metadata"]["name"].as_str().unwrap();
    let log = site.cluster.node.pod_log(OPERANDS, pod, "cloud-controller-manager");
    assert!(log.contains("--cloud-provider=aws"), "{log}");
    site.assert_tainted().await;

    stand_in::fails();
    let down = "False NothingRuns Deployment openshift-cloud-controller-manager/aws-cloud-controller-manager: 0 of 1 Pods available";
    says(site, history, |state| state.said[0].starts_with(down)).await;
    site.assert_tainted().await;

    let before = made(site).await;
    set_platform(site, "OpenStack").await;
    site.gone(&pods("aws")).await;
    replaced(site, &before, "aws").await;
    stand_in::works();
    site.pod(OPERANDS, &labels("openstack"), SECOND.1).await;
    site.initialised(&cloud.provider_id()).await;
    let states = reports(site, history, &SECOND).await;
    progressed(&states, &["openstack-cloud-controller-manager"]);
}

/// Waits until what only the old cloud had is gone.
async fn replaced(site: &Site, before: &[String], old: &str) {
    site.gone(&deployment(old)).await;
    let look = async || {
        let now = made(site).await;
        let there: Vec<_> = now.iter().filter(|path| path.contains(&format!("/{old}-"))).collect();
        if there.is_empty() {
            Ok(now.clone())
        } else {
            Err(format!("{there:#?}"))
        }
    };
    let now = site.until("the operator to forget what is gone", look).await;
    for path in before.iter().filter(|path| !now.contains(path)) {
        site.gone(path).await;
    }
}
