//! Definitions that are created later than the operator: it notices them by itself.

use crate::{
    repair::runs_with,
    world::{World, kind, proxy},
};
use serde_json::json;

const NAME: &str = "aws-cloud-controller-manager";

fn our_definition() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/kubernetes/crd.yaml");
    std::fs::read_to_string(file).unwrap()
}

/// A cluster that gets the definitions of `OpenShift`, one of them later than the others.
#[tokio::test]
async fn openshift() {
    let world = World::before(&[our_definition()]).await;
    let operator = world.start();
    operator.leading().await;
    world.become_openshift("plural: proxies").await;
    world.write_config_without_proxy().await;
    world.set_platform("AWS").await;
    world.installed(&operator, 6).await;

    world.become_openshift("").await;
    world.write_config().await;
    let status = json!({"httpProxy": "http://proxy.lab:3128"});
    world.set_status(&proxy(), "cluster", status).await;
    runs_with(&world, &operator, NAME, &["HTTP_PROXY", "http://proxy.lab:3128"]).await;
    assert_eq!(operator.lines_with("starting outrigger").len(), 1);
}

/// Monitoring is configured as soon as its definitions exist.
#[tokio::test]
async fn prometheus() {
    let world = World::before(&[our_definition()]).await;
    let operator = world.start();
    let managers = kind("CloudControllerManager");
    let manager = json!({"spec": {"provider": "memory"}});
    world.apply(&managers, "", "lab", manager).await;
    let look = async || match world.operands().await {
        found if found.iter().any(|each| each.starts_with("Deployment")) => Ok(()),
        found => Err(format!("{found:#?}")),
    };
    operator.until("the manager", look).await;

    let mut definitions = lab::openshift_crds().unwrap();
    definitions.retain(|text| text.contains("monitoring.coreos.com"));
    world.plane().install_crds(&definitions).await.unwrap();
    let monitors = world.api(&kind("ServiceMonitor"), &world.namespace);
    let look = async || match monitors.list(&kube::api::ListParams::default()).await {
        Ok(found) if !found.items.is_empty() => Ok(()),
        found => Err(format!("{found:?}")),
    };
    operator.until("a ServiceMonitor", look).await;
    assert!(operator.ended().is_none());
}
