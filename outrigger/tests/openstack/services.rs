//! Services: from their load balancer to the last thing that is left of it.

use crate::{
    rig::{is_initialised, service_address},
    stage::{PASSWORD, Stage, annotation, told},
};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use openstack_sim::{Call, Cloud, LoadBalancerView, Service};
use rstest::rstest;
use serde_json::json;
use testkit::service::port;

/// What a Service costs, once the process knows the cloud.
const COST: [&str; 5] = [
    "loadbalancer_list",
    "loadbalancer_create",
    "loadbalancer_get",
    "floating_ip_list",
    "floating_ip_create",
];

#[tokio::test]
async fn a_service_gets_a_load_balancer_and_is_looked_at_once() {
    let stage = Stage::private().await;
    let manager = stage.start(&[]).await;
    let nodes = stage.nodes(&manager, 2).await;
    stage.serve(&manager, "first").await;
    let (mark, requests) = (stage.cloud.mark(), stage.mark());
    let service = stage.serve(&manager, "web").await;
    // Once this one is done, what our own writes to the other one caused is done, too.
    stage.serve(&manager, "marker").await;

    let name = service.name_any();
    let balancer = stage.balancer(&name);
    let floating = stage.cloud.floating_ips().into_iter();
    let floating: Vec<_> = floating.filter(|ip| ip.port == Some(balancer.vip_port)).collect();
    assert_eq!(floating.len(), 1);
    let address = floating[0].address.to_string();
    assert_eq!(service_address(&service).as_deref(), Some(address.as_str()));
    let service = stage.services().get(&name).await.unwrap();
    assert_eq!(annotation(&service, "load-balancer-id"), Some(balancer.id.to_string()));
    assert_eq!(annotation(&service, "load-balancer-address"), Some(address));
    assert!(balancer.tags.contains(&balancer.name), "{:?}", balancer.tags);
    let cluster = &stage.name;
    let text = format!("Kubernetes external service default/{name} from cluster {cluster}");
    assert_eq!(balancer.description, text);
    assert_eq!(floating[0].description, format!("Floating IP for {text}"));
    stage.members_are(&manager, &name, &nodes).await;

    let mut asked = told(&stage.cloud.calls_since(mark));
    let mut expected = [COST, COST].concat();
    asked.sort();
    expected.sort_unstable();
    assert_eq!(asked, expected, "somebody was asked twice");
    stage.audited().await;
    let ours = |entry: &crate::rig::Entry| entry.is_write() && entry.name == name;
    let writes: Vec<_> = stage.requests_since(requests).into_iter().filter(ours).collect();
    let writes: Vec<_> = writes.iter().map(crate::rig::Entry::what).collect();
    // The finalizer, and then all the rest: the load balancer is found by its name if we die in between.
    assert_eq!(writes, ["patch services/status"; 2]);
}

#[tokio::test]
async fn nodes_that_join_become_members_even_if_they_come_with_a_host_name_only() {
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    let mut nodes = stage.nodes(&manager, 1).await;
    let service = stage.serve(&manager, "web").await.name_any();
    for n in 0..8 {
        let name = format!("late-{n}");
        stage.boot(&name);
        let hostname = format!("tainted ready:True Hostname={name}");
        nodes.push(stage.register(&name, &hostname).await);
        stage.members_are(&manager, &service, &nodes).await;
    }
    for member in stage.members(&service) {
        let server = stage.cloud.servers_named(&member.name).remove(0);
        assert_eq!(server.addresses, [member.address]);
    }
}

#[tokio::test]
async fn a_node_that_goes_is_a_member_no_longer() {
    let stage = Stage::new().await;
    let manager = stage.start(&["--node-deletion-grace-period=0s"]).await;
    let mut nodes = stage.nodes(&manager, 3).await;
    let service = stage.serve(&manager, "web").await.name_any();
    stage.members_are(&manager, &service, &nodes).await;
    let gone = nodes.remove(1);
    stage.cloud.delete_server(stage.cloud.servers_named(&gone)[0].id);
    stage.set_ready(&gone, "Unknown").await;
    stage.node_gone(&manager, &gone).await;
    stage.members_are(&manager, &service, &nodes).await;
}

#[tokio::test]
async fn a_service_can_change_and_nothing_is_left_of_it_in_the_end() {
    let stage = Stage::new().await;
    let guarded = stage.load_balancer("manage-security-groups=true\ncreate-monitor=true");
    let config = format!("{}{guarded}", stage.global(PASSWORD));
    let manager = stage.start_with(stage.manager_with(&config), &[]).await;
    let nodes = stage.nodes(&manager, 2).await;
    let name = stage.serve(&manager, "web").await.name_any();
    let before = stage.balancer(&name);
    let ports = |stage: &Stage| {
        let listeners = stage
            .balancers(&name)
            .into_iter()
            .flat_map(|balancer| balancer.listeners);
        listeners
            .map(|listener| (listener.protocol, listener.port))
            .collect::<Vec<_>>()
    };
    let group = format!(
        "lb-sg-{}-default-{name}",
        stage.services().get(&name).await.unwrap().uid().unwrap()
    );
    let has_group = |stage: &Stage| stage.cloud.security_groups().iter().any(|one| one.name == group);
    stage
        .cloud_until("the security group", &manager, |_| has_group(&stage))
        .await;

    let two = [port("TCP", 443), port("UDP", 53)].map(|mut port| {
        port.name = port.protocol.as_deref().map(str::to_lowercase);
        port
    });
    stage.change(&name, json!({ "ports": two })).await;
    let wanted = [("TCP".to_owned(), 443), ("UDP".to_owned(), 53)];
    stage
        .cloud_until("the new ports", &manager, |_| ports(&stage) == wanted)
        .await;
    let both = || stage.members(&name).len() == nodes.len() * 2;
    stage.cloud_until("their members", &manager, |_| both()).await;
    assert_eq!(stage.balancer(&name).id, before.id, "it is another one");

    stage.end(&manager, &name).await;
    stage.assert_clean();
    let grouped = stage.cloud.ports().into_iter().filter(|port| !port.tags.is_empty());
    assert_eq!(grouped.count(), 0, "a tag was left on a port");
}

/// <https://github.com/kubernetes/cloud-provider-openstack/issues/2751>
#[tokio::test]
async fn a_service_that_changes_its_type_and_back_works_again() {
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    stage.nodes(&manager, 1).await;
    let name = stage.serve(&manager, "web").await.name_any();
    let before = stage.balancer(&name).id;
    stage
        .change(&name, json!({"type": "ClusterIP", "loadBalancerClass": null}))
        .await;
    let services = stage.services();
    let look = async || {
        let service = services.get(&name).await.unwrap();
        let clean = service.finalizers().is_empty() && service_address(&service).is_none();
        if clean && annotation(&service, "load-balancer-id").is_none() {
            Ok(())
        } else {
            Err(json!(service).to_string())
        }
    };
    manager.until("the Service to be an ordinary one", look).await;
    stage.assert_clean();
    stage
        .change(&name, json!({"type": "LoadBalancer", "loadBalancerClass": stage.name}))
        .await;
    let service = stage.served(&manager, &name).await;
    let after = stage.balancer(&name).id;
    assert_ne!(after, before);
    let services = stage.services();
    let look = async || {
        let service = services.get(&name).await.unwrap();
        let id = annotation(&service, "load-balancer-id");
        if id == Some(after.to_string()) {
            Ok(())
        } else {
            Err(format!("{id:?}"))
        }
    };
    manager.until("the annotation", look).await;
    assert!(service_address(&service).is_some());
}

#[tokio::test]
async fn a_load_balancer_that_somebody_deleted_is_made_anew_when_its_service_is_looked_at() {
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    stage.nodes(&manager, 1).await;
    let name = stage.serve(&manager, "web").await.name_any();
    let before = stage.balancer(&name);
    stage.cloud.delete_load_balancer(before.id);
    let (params, patch) = (
        PatchParams::default(),
        Patch::Merge(json!({"metadata": {"annotations": {"loadbalancer.openstack.org/connection-limit": "7"}}})),
    );
    stage.services().patch(&name, &params, &patch).await.unwrap();
    stage
        .cloud_until("another load balancer", &manager, |_| {
            stage.balancers(&name).iter().any(|balancer| balancer.id != before.id)
        })
        .await;
    let services = stage.services();
    let look = async || {
        let service = services.get(&name).await.unwrap();
        let balancer = stage.balancer(&name);
        let attached = stage
            .cloud
            .floating_ips()
            .into_iter()
            .find(|ip| ip.port == Some(balancer.vip_port));
        let wanted = (Some(balancer.id.to_string()), attached.map(|ip| ip.address.to_string()));
        let found = (annotation(&service, "load-balancer-id"), service_address(&service));
        if found == wanted {
            Ok(())
        } else {
            Err(format!("{found:?} instead of {wanted:?}"))
        }
    };
    manager.until("the Service to say so", look).await;
    assert_eq!(stage.cloud.floating_ips().len(), 1, "a floating IP was left behind");
}

/// Of new hosts it hears first, and then that something is not there.
#[rstest]
#[case::a_listener(|cloud: &Cloud, there: &LoadBalancerView| cloud.delete_listener(there.listeners[0].id))]
#[case::a_pool(|cloud: &Cloud, there: &LoadBalancerView| cloud.delete_pool(there.listeners[0].pool.as_ref().unwrap().id))]
#[case::all_of_it(|cloud: &Cloud, there: &LoadBalancerView| cloud.delete_load_balancer(there.id))]
#[tokio::test]
async fn what_somebody_deleted_is_made_anew_when_nodes_change(#[case] delete: fn(&Cloud, &LoadBalancerView)) {
    let stage = Stage::new().await;
    let manager = stage.start(&[]).await;
    let mut nodes = stage.nodes(&manager, 1).await;
    let service = stage.serve(&manager, "web").await.name_any();
    stage.members_are(&manager, &service, &nodes).await;
    delete(&stage.cloud, &stage.balancer(&service));
    nodes.push(stage.join("late").await.0);
    stage.members_are(&manager, &service, &nodes).await;
}

#[tokio::test]
async fn calls_say_who_makes_them() {
    let stage = Stage::new().await;
    let manager = stage.start(&["--user-agent=one two"]).await;
    let (name, _) = stage.join("node").await;
    let node = stage.initialised(&manager, &name).await;
    assert!(is_initialised(&node));
    let calls = stage.cloud.calls();
    let agent = |call: &Call| call.agent.clone().unwrap_or_default();
    let is_ours = |text: &str| text.starts_with("one two ") && text.contains("openstack-cloud-controller-manager/");
    assert!(calls.iter().any(|call| call.service == Service::Keystone.name()));
    assert!(
        calls.iter().map(agent).all(|agent| is_ours(&agent)),
        "{:?}",
        agent(&calls[0])
    );
}
