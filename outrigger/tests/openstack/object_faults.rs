//! Faults of single objects: a load balancer in ERROR, a floating IP attached elsewhere, quotas, two servers of one name.

use crate::{
    fixture::{Fixture, annotation},
    process_fixture::is_initialised,
};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use openstack_sim::Provisioning;
use rstest::rstest;
use serde_json::json;

/// Triggers a reconcile of a Service.
async fn touch(fixture: &Fixture, service: &str, limit: &str) {
    let annotations = json!({"loadbalancer.openstack.org/connection-limit": limit});
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let params = PatchParams::default();
    fixture.services().patch(service, &params, &patch).await.unwrap();
}

#[tokio::test]
async fn a_load_balancer_that_fails_at_its_creation_is_replaced() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    let nodes = fixture.nodes(&manager, 1).await;
    fixture.cloud.configure(|settings| settings.balancer_failures = 1);
    let name = fixture.serve(&manager, "web").await.name_any();
    let balancer = fixture.balancer(&name);
    assert_eq!(balancer.provisioning, Provisioning::Active);
    assert_eq!(fixture.cloud.count("loadbalancer_create"), 2);
    assert_eq!(fixture.cloud.floating_ips().len(), 1);
    fixture.members_are(&manager, &name, &nodes).await;
    let message = fixture.event(&name, "SyncLoadBalancerFailed").await;
    assert!(message.contains("ERROR"), "{message}");
}

#[tokio::test]
async fn a_floating_ip_attached_elsewhere_meanwhile_is_kept() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    fixture.nodes(&manager, 1).await;
    let name = fixture.serve(&manager, "web").await.name_any();
    let stolen = fixture.cloud.floating_ips().remove(0);
    let thief = fixture.cloud.create_port(fixture.net.network, "thief", None).unwrap();
    assert!(fixture.cloud.move_floating_ip(stolen.id, Some(thief)));
    touch(&fixture, &name, "7").await;
    let vip = fixture.balancer(&name).vip_port;
    let replaced = || fixture.cloud.floating_ips().into_iter().find(|ip| ip.port == Some(vip));
    fixture
        .cloud_until("another floating IP", &manager, |_| replaced().is_some())
        .await;
    let address = replaced().unwrap().address.to_string();
    let services = fixture.services();
    let look = async || {
        let service = services.get(&name).await.unwrap();
        let found = (
            crate::process_fixture::service_address(&service),
            annotation(&service, "load-balancer-address"),
        );
        if found == (Some(address.clone()), Some(address.clone())) {
            Ok(())
        } else {
            Err(format!("{found:?}"))
        }
    };
    manager.until(&format!("the address {address}"), look).await;
    let kept = fixture.cloud.floating_ips().into_iter().find(|ip| ip.id == stolen.id);
    assert_eq!(kept.and_then(|ip| ip.port), Some(thief), "it was taken back");
}

#[rstest]
#[case::load_balancers("load_balancer", "load balancer")]
#[case::floating_ips("floatingip", "floating ip")]
#[tokio::test]
async fn a_quota_that_is_used_up_is_named_and_waited_for(#[case] resource: &str, #[case] named: &str) {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    fixture.nodes(&manager, 1).await;
    fixture.cloud.configure(|settings| {
        settings.quotas.insert(resource.to_owned(), 0);
    });
    let service = fixture.create(fixture.balanced("web")).await.name_any();
    let message = fixture.event(&service, "SyncLoadBalancerFailed").await;
    assert!(message.to_lowercase().contains("quota"), "{message}");
    assert!(message.to_lowercase().replace('_', " ").contains(named), "{message}");
    fixture.cloud.configure(|settings| settings.quotas.clear());
    fixture.served(&manager, &service).await;
    assert_eq!(fixture.cloud.load_balancers().len(), 1);
}

#[tokio::test]
async fn two_servers_of_one_name_are_reported_and_neither_is_chosen() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&["--node-deletion-grace-period=0s"]).await;
    let twin = fixture.boot("node");
    let (name, _) = fixture.join("node").await;
    let message = fixture.event(&name, "FailedToInitialize").await;
    assert!(message.contains(&twin.id.to_string()), "{message}");
    assert!(message.contains(&name), "{message}");
    let node = fixture.base().nodes().get(&name).await.unwrap();
    assert!(!is_initialised(&node));
    fixture.cloud.delete_server(twin.id);
    // There is no event for that: it is reconciled when the Node changes, or some minutes later.
    let patch = Patch::Merge(json!({"metadata": {"labels": {"touched": "yes"}}}));
    let params = PatchParams::default();
    fixture.base().nodes().patch(&name, &params, &patch).await.unwrap();
    fixture.initialised(&manager, &name).await;
}

#[tokio::test]
async fn a_load_balancer_in_error_is_reported_and_blocks_no_other() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    fixture.nodes(&manager, 1).await;
    let name = fixture.serve(&manager, "web").await.name_any();
    let broken = fixture.balancer(&name).id;
    fixture.cloud.set_load_balancer_status(broken, Provisioning::Error);
    fixture
        .change(&name, json!({"ports": [{"port": 81, "protocol": "TCP"}]}))
        .await;
    let message = fixture.event(&name, "SyncLoadBalancerFailed").await;
    assert!(message.contains("ERROR"), "{message}");
    fixture.serve(&manager, "other").await;
}
