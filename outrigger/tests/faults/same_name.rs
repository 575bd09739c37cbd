//! A Node or a Service that is deleted, and another one of the same name.

use crate::{
    fixture::{Fixture, LABEL, Mark},
    replica::{ALONE, Replica},
};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use memory_sim::{Fault, Operation};
use serde_json::json;
use testkit::wait::until;

#[tokio::test]
async fn a_node_that_reuses_the_name_of_a_deleted_machine_is_kept() {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &[ALONE, "--node-deletion-grace-period=0s"]).await;
    let name = fixture.join("node").await;
    let old = fixture.initialised(&manager, &name).await;

    // The call is about the old Node, and is answered when the new one exists.
    let hang = fixture.cloud.inject(Fault::hang().operation(Operation::Describe));
    fixture.cloud.forget_calls();
    fixture.set_ready(&name, "Unknown").await;
    fixture.cloud_until(|cloud| cloud.count(Operation::Describe) > 0).await;
    fixture.cloud.delete_machine(&name);
    fixture.nodes().delete(&name, &DeleteParams::default()).await.unwrap();
    fixture.cloud.boot(&name);
    fixture.register("node", "tainted ready:False").await;
    fixture.cloud.withdraw(hang);

    let new = fixture.initialised(&manager, &name).await;
    assert_ne!(new.uid(), old.uid());
    let id = |node: &k8s_openapi::api::core::v1::Node| node.spec.as_ref().and_then(|spec| spec.provider_id.clone());
    assert_ne!(id(&new), id(&old), "the new machine has an ID of its own");
    fixture.cloud.forget_calls();
    fixture.cloud_until(|cloud| cloud.count(Operation::Describe) > 2).await;
    let now = fixture.nodes().get(&name).await.unwrap();
    assert_eq!(now.uid(), new.uid(), "the new Node was deleted in place of the old one");
    fixture.audited().await;
    // A manager that has not seen yet that the old Node is gone may ask for its deletion, by its UID: that is rejected.
    let requests = manager.requests(&fixture, Mark::default()).into_iter();
    let deletions = requests.filter(|request| request.what() == "delete nodes");
    assert_eq!(deletions.filter(|request| request.code != 409).count(), 0);
    assert!(now.labels().contains_key(LABEL));
}

#[tokio::test]
async fn a_service_that_reuses_a_name_gets_its_own_load_balancer() {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &[ALONE]).await;
    let node = fixture.join("node").await;
    fixture.initialised(&manager, &node).await;
    let old = fixture.create(fixture.balanced("web")).await;
    let name = old.name_any();
    fixture.served(&manager, &name).await;

    // Another client removes the finalizer: the manager does not see a deletion, but another Service.
    let unprotected = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    fixture
        .services()
        .patch(&name, &PatchParams::default(), &unprotected)
        .await
        .unwrap();
    fixture.delete_service(&name).await;
    let new = fixture.create(fixture.balanced("web")).await;
    only_one(&fixture, &new.uid().unwrap()).await;
    fixture.served(&manager, &name).await;

    // The same without the other client.
    fixture.delete_service(&name).await;
    fixture.no_services().await;
    assert_eq!(fixture.cloud.load_balancers(), []);
    let newest = fixture.create(fixture.balanced("web")).await;
    only_one(&fixture, &newest.uid().unwrap()).await;
    assert_eq!(fixture.balancers_made(), 3);
}

/// Waits until the only load balancer is that of the Service with this UID.
async fn only_one(fixture: &Fixture, uid: &str) {
    until("one load balancer, for the new Service", async || {
        let services: Vec<_> = fixture
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
