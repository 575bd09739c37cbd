//! A Node or a Service that goes, and another one that comes under its name.

use crate::{
    replica::{ALONE, Replica},
    rig::{LABEL, Mark, Rig},
};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use memory::{Fault, Operation};
use serde_json::json;
use testkit::wait::until;

#[tokio::test]
async fn a_node_that_took_the_name_of_one_whose_machine_is_gone_stays() {
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &[ALONE, "--node-deletion-grace-period=0s"]).await;
    let name = rig.join("node").await;
    let old = rig.initialised(&manager, &name).await;

    // The question is asked about the old Node, and answered when there is a new one.
    let hang = rig.cloud.inject(Fault::hang().operation(Operation::Describe));
    rig.cloud.forget_calls();
    rig.set_ready(&name, "Unknown").await;
    rig.cloud_until(|cloud| cloud.count(Operation::Describe) > 0).await;
    rig.cloud.delete_machine(&name);
    rig.nodes().delete(&name, &DeleteParams::default()).await.unwrap();
    rig.cloud.boot(&name);
    rig.register("node", "tainted ready:False").await;
    rig.cloud.withdraw(hang);

    let new = rig.initialised(&manager, &name).await;
    assert_ne!(new.uid(), old.uid());
    let id = |node: &k8s_openapi::api::core::v1::Node| node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
    assert_ne!(id(&new), id(&old), "the new machine has an ID of its own");
    rig.cloud.forget_calls();
    rig.cloud_until(|cloud| cloud.count(Operation::Describe) > 2).await;
    let now = rig.nodes().get(&name).await.unwrap();
    assert_eq!(now.uid(), new.uid(), "the new Node was deleted in place of the old one");
    rig.audited().await;
    let deletions = manager
        .changes(&rig, Mark::default())
        .into_iter()
        .filter(|change| change.starts_with("delete"));
    assert_eq!(deletions.collect::<Vec<_>>(), [""; 0]);
    assert!(now.labels().contains_key(LABEL));
}

#[tokio::test]
async fn a_service_that_took_the_name_of_another_has_a_load_balancer_of_its_own() {
    let rig = Rig::shared().await;
    let manager = Replica::start(&rig, &[ALONE]).await;
    let node = rig.join("node").await;
    rig.initialised(&manager, &node).await;
    let old = rig.create(rig.balanced("web")).await;
    let name = old.name_any();
    rig.served(&manager, &name).await;

    // Somebody takes the finalizer away: the manager is not asked, it finds another Service.
    let unprotected = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    rig.services()
        .patch(&name, &PatchParams::default(), &unprotected)
        .await
        .unwrap();
    rig.delete_service(&name).await;
    let new = rig.create(rig.balanced("web")).await;
    only_one(&rig, &new.uid().unwrap()).await;
    rig.served(&manager, &name).await;

    // The same in good order.
    rig.delete_service(&name).await;
    rig.no_services().await;
    assert_eq!(rig.cloud.load_balancers(), []);
    let newest = rig.create(rig.balanced("web")).await;
    only_one(&rig, &newest.uid().unwrap()).await;
    assert_eq!(rig.balancers_made(), 3);
}

/// Waits until the only load balancer is that of the Service with this UID.
async fn only_one(rig: &Rig, uid: &str) {
    until("one load balancer, for the new Service", async || {
        let services: Vec<_> = rig
            .cloud
            .load_balancers()
            .into_iter()
            .map(|balancer| balancer.service.uid)
            .collect();
        if services == [uid] {
            Ok(())
        } else {
            Err(format!("there are those of {services:?}"))
        }
    })
    .await;
}
