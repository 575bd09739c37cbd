//! A load balancer whose Service went without waiting for it: it stays, is told of, and goes only if that is wished.

use crate::{
    replica::{ALONE, Replica},
    rig::Rig,
};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use testkit::wait::until;

const SOON: &str = "--load-balancer-orphan-period=200ms";
const OPEN: &str = "--authorization-always-allow-paths=/metrics,/readyz,/healthz";

#[tokio::test]
async fn an_orphan_is_told_of_and_deleted_only_on_request() {
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &[ALONE, "--load-balancer-orphans=report", SOON, OPEN]).await;
    let kept = rig.named("kept");
    rig.create(rig.balanced("kept")).await;
    rig.create(rig.balanced("web")).await;
    rig.served(&manager, &kept).await;
    let web = rig.named("web");
    rig.served(&manager, &web).await;
    let unprotected = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    rig.services()
        .patch(&web, &PatchParams::default(), &unprotected)
        .await
        .unwrap();
    rig.delete_service(&web).await;

    let told = manager.logged("the Service of this is gone").await;
    assert!(told.contains(&web), "{told}");
    manager
        .until("the metric", async || {
            let said = manager.port().get("/metrics").await.body;
            let counts = said.lines().any(|line| line == "service_controller_orphans 1");
            if counts {
                Ok(())
            } else {
                Err("it does not say 1".to_owned())
            }
        })
        .await;
    assert_eq!(rig.cloud.load_balancers().len(), 2, "it is deleted only on request");
    drop(manager);

    let manager = Replica::start(&rig, &[ALONE, "--load-balancer-orphans=delete", SOON]).await;
    let left = until("the orphan to go", async || {
        match rig.cloud.load_balancers().as_slice() {
            [one] => Ok(one.service.name.clone()),
            many => Err(format!("{} are left", many.len())),
        }
    })
    .await;
    assert_eq!(left, kept);
    rig.served(&manager, &kept).await;
}
