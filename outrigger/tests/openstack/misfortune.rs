//! Bad luck of single objects: a load balancer that fails, a floating IP that is stolen, quotas, two servers of one name.

use crate::{
    rig::is_initialised,
    stage::{Stage, annotation},
};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use openstack_sim::Provisioning;
use rstest::rstest;
use serde_json::json;

/// Makes the manager look at a Service again.
async fn touch(stage: &Stage, service: &str, limit: &str) {
    let annotations = json!({"loadbalancer.openstack.org/connection-limit": limit});
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let params = PatchParams::default();
    stage.services().patch(service, &params, &patch).await.unwrap();
}

#[tokio::test]
async fn a_load_balancer_that_fails_at_its_creation_is_replaced() {
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    let nodes = stage.nodes(&manager, 1).await;
    stage.cloud.configure(|settings| settings.balancer_failures = 1);
    let name = stage.serve(&manager, "web").await.name_any();
    let balancer = stage.balancer(&name);
    assert_eq!(balancer.provisioning, Provisioning::Active);
    assert_eq!(stage.cloud.count("loadbalancer_create"), 2);
    assert_eq!(stage.cloud.floating_ips().len(), 1);
    stage.members_are(&manager, &name, &nodes).await;
    let message = stage.event(&name, "SyncLoadBalancerFailed").await;
    assert!(message.contains("ERROR"), "{message}");
}

#[tokio::test]
async fn a_floating_ip_that_somebody_took_is_left_to_him() {
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    stage.nodes(&manager, 1).await;
    let name = stage.serve(&manager, "web").await.name_any();
    let stolen = stage.cloud.floating_ips().remove(0);
    let thief = stage.cloud.create_port(stage.net.network, "thief", None).unwrap();
    assert!(stage.cloud.move_floating_ip(stolen.id, Some(thief)));
    touch(&stage, &name, "7").await;
    let vip = stage.balancer(&name).vip_port;
    let replaced = || stage.cloud.floating_ips().into_iter().find(|ip| ip.port == Some(vip));
    stage
        .cloud_until("another floating IP", &manager, |_| replaced().is_some())
        .await;
    let address = replaced().unwrap().address.to_string();
    let services = stage.services();
    let look = async || {
        let service = services.get(&name).await.unwrap();
        let found = (
            crate::rig::service_address(&service),
            annotation(&service, "load-balancer-address"),
        );
        if found == (Some(address.clone()), Some(address.clone())) {
            Ok(())
        } else {
            Err(format!("{found:?}"))
        }
    };
    manager.until(&format!("the address {address}"), look).await;
    let kept = stage.cloud.floating_ips().into_iter().find(|ip| ip.id == stolen.id);
    assert_eq!(kept.and_then(|ip| ip.port), Some(thief), "it was taken back");
}

#[rstest]
#[case::load_balancers("load_balancer", "load balancer")]
#[case::floating_ips("floatingip", "floating ip")]
#[tokio::test]
async fn a_quota_that_is_used_up_is_named_and_waited_for(#[case] resource: &str, #[case] named: &str) {
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    stage.nodes(&manager, 1).await;
    stage.cloud.configure(|settings| {
        settings.quotas.insert(resource.to_owned(), 0);
    });
    let service = stage.create(stage.balanced("web")).await.name_any();
    let message = stage.event(&service, "SyncLoadBalancerFailed").await;
    assert!(message.to_lowercase().contains("quota"), "{message}");
    assert!(message.to_lowercase().replace('_', " ").contains(named), "{message}");
    stage.cloud.configure(|settings| settings.quotas.clear());
    stage.served(&manager, &service).await;
    assert_eq!(stage.cloud.load_balancers().len(), 1);
}

#[tokio::test]
async fn two_servers_of_one_name_are_told_and_neither_is_chosen() {
    let stage = Stage::new().await;
    let manager = stage.start(&["--node-deletion-grace-period=0s"]).await;
    let twin = stage.boot("node");
    let (name, _) = stage.join("node").await;
    let message = stage.event(&name, "FailedToInitialize").await;
    assert!(message.contains(&twin.id.to_string()), "{message}");
    assert!(message.contains(&name), "{message}");
    let node = stage.rig().nodes().get(&name).await.unwrap();
    assert!(!is_initialised(&node));
    stage.cloud.delete_server(twin.id);
    // Nothing tells of that: it is looked at again when the Node changes, or some minutes later.
    let patch = Patch::Merge(json!({"metadata": {"labels": {"touched": "yes"}}}));
    let params = PatchParams::default();
    stage.rig().nodes().patch(&name, &params, &patch).await.unwrap();
    stage.initialised(&manager, &name).await;
}

#[tokio::test]
async fn a_load_balancer_that_falls_into_error_is_told_and_does_not_stop_the_others() {
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    stage.nodes(&manager, 1).await;
    let name = stage.serve(&manager, "web").await.name_any();
    let broken = stage.balancer(&name).id;
    stage.cloud.set_load_balancer_status(broken, Provisioning::Error);
    stage
        .change(&name, json!({"ports": [{"port": 81, "protocol": "TCP"}]}))
        .await;
    let message = stage.event(&name, "SyncLoadBalancerFailed").await;
    assert!(message.contains("ERROR"), "{message}");
    stage.serve(&manager, "other").await;
}
