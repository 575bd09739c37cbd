//! A load balancer whose Service was deleted without cleanup: it is kept and reported, and deleted only on request.

use crate::{
    fixture::Fixture,
    replica::{ALONE, Replica},
};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use testkit::wait::until;

const SOON: &str = "--load-balancer-orphan-period=200ms";
const OPEN: &str = "--authorization-always-allow-paths=/metrics,/readyz,/healthz";

#[tokio::test]
async fn an_orphan_is_reported_and_deleted_only_on_request() {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &[ALONE, "--load-balancer-orphans=report", SOON, OPEN]).await;
    let kept = fixture.named("kept");
    fixture.create(fixture.balanced("kept")).await;
    fixture.create(fixture.balanced("web")).await;
    fixture.served(&manager, &kept).await;
    let web = fixture.named("web");
    fixture.served(&manager, &web).await;
    let unprotected = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    fixture
        .services()
        .patch(&web, &PatchParams::default(), &unprotected)
        .await
        .unwrap();
    fixture.delete_service(&web).await;

    let line = manager.logged("the Service of this object does not exist").await;
    assert!(line.contains(&web), "{line}");
    manager
        .until("the metric", async || {
            let page = manager.port().get("/metrics").await.body;
            let counts = page.lines().any(|line| line == "service_controller_orphans 1");
            if counts {
                Ok(())
            } else {
                Err("it does not say 1".to_owned())
            }
        })
        .await;
    assert_eq!(fixture.cloud.load_balancers().len(), 2, "it is deleted only on request");
    drop(manager);

    let manager = Replica::start(&fixture, &[ALONE, "--load-balancer-orphans=delete", SOON]).await;
    let left = until("the orphan to go", async || {
        match fixture.cloud.load_balancers().as_slice() {
            [one] => Ok(one.service.name.clone()),
            many => Err(format!("{} are left", many.len())),
        }
    })
    .await;
    assert_eq!(left, kept);
    fixture.served(&manager, &kept).await;
}
