//! Services: from the creation of their load balancer to its deletion.

use crate::{
    fixture::{Fixture, PASSWORD, annotation, summaries},
    process_fixture::{is_initialised, service_address},
};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use openstack_sim::{Call, Cloud, LoadBalancerView, Service};
use rstest::rstest;
use serde_json::json;
use testkit::service::port;

/// The calls for a Service, once the process has read the cloud.
const COST: [&str; 5] = [
    "loadbalancer_list",
    "loadbalancer_create",
    "loadbalancer_get",
    "floating_ip_list",
    "floating_ip_create",
];

#[tokio::test]
async fn a_service_gets_a_load_balancer_in_one_reconcile() {
    let fixture = Fixture::private().await;
    let manager = fixture.start(&[]).await;
    let nodes = fixture.nodes(&manager, 2).await;
    fixture.serve(&manager, "first").await;
    let (mark, requests) = (fixture.cloud.mark(), fixture.mark());
    let service = fixture.serve(&manager, "web").await;
    // Once this one is complete, the work that our own writes to the other one caused is complete, too.
    fixture.serve(&manager, "marker").await;

    let name = service.name_any();
    let balancer = fixture.balancer(&name);
    let floating = fixture.cloud.floating_ips().into_iter();
    let floating: Vec<_> = floating.filter(|ip| ip.port == Some(balancer.vip_port)).collect();
    assert_eq!(floating.len(), 1);
    let address = floating[0].address.to_string();
    assert_eq!(service_address(&service).as_deref(), Some(address.as_str()));
    let service = fixture.services().get(&name).await.unwrap();
    assert_eq!(annotation(&service, "load-balancer-id"), Some(balancer.id.to_string()));
    assert_eq!(annotation(&service, "load-balancer-address"), Some(address));
    assert!(balancer.tags.contains(&balancer.name), "{:?}", balancer.tags);
    let cluster = &fixture.name;
    let text = format!("Kubernetes external service default/{name} from cluster {cluster}");
    assert_eq!(balancer.description, text);
    assert_eq!(floating[0].description, format!("Floating IP for {text}"));
    fixture.members_are(&manager, &name, &nodes).await;

    let mut asked = summaries(&fixture.cloud.calls_since(mark));
    let mut expected = [COST, COST].concat();
    asked.sort();
    expected.sort_unstable();
    assert_eq!(asked, expected, "a request was sent twice");
    fixture.audited().await;
    let ours = |entry: &crate::process_fixture::Entry| entry.is_write() && entry.name == name;
    let writes: Vec<_> = fixture.requests_since(requests).into_iter().filter(ours).collect();
    let writes: Vec<_> = writes.iter().map(crate::process_fixture::Entry::what).collect();
    // The finalizer, and then everything else: the load balancer is found by its name if the process ends in between.
    assert_eq!(writes, ["patch services/status"; 2]);
}

#[tokio::test]
async fn nodes_that_join_become_members_even_if_they_come_with_a_host_name_only() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    let mut nodes = fixture.nodes(&manager, 1).await;
    let service = fixture.serve(&manager, "web").await.name_any();
    for n in 0..8 {
        let name = format!("late-{n}");
        fixture.boot(&name);
        let hostname = format!("tainted ready:True Hostname={name}");
        nodes.push(fixture.register(&name, &hostname).await);
        fixture.members_are(&manager, &service, &nodes).await;
    }
    for member in fixture.members(&service) {
        let server = fixture.cloud.servers_named(&member.name).remove(0);
        assert_eq!(server.addresses, [member.address]);
    }
}

#[tokio::test]
async fn a_deleted_node_is_not_a_member() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&["--node-deletion-grace-period=0s"]).await;
    let mut nodes = fixture.nodes(&manager, 3).await;
    let service = fixture.serve(&manager, "web").await.name_any();
    fixture.members_are(&manager, &service, &nodes).await;
    let gone = nodes.remove(1);
    fixture.cloud.delete_server(fixture.cloud.servers_named(&gone)[0].id);
    fixture.set_ready(&gone, "Unknown").await;
    fixture.node_gone(&manager, &gone).await;
    fixture.members_are(&manager, &service, &nodes).await;
}

#[tokio::test]
async fn a_service_can_change_and_is_deleted_completely() {
    let fixture = Fixture::new().await;
    let guarded = fixture.load_balancer("manage-security-groups=true\ncreate-monitor=true");
    let config = format!("{}{guarded}", fixture.global(PASSWORD));
    let manager = fixture.start_with(fixture.manager_with(&config), &[]).await;
    let nodes = fixture.nodes(&manager, 2).await;
    let name = fixture.serve(&manager, "web").await.name_any();
    let before = fixture.balancer(&name);
    let ports = |fixture: &Fixture| {
        let listeners = fixture
            .balancers(&name)
            .into_iter()
            .flat_map(|balancer| balancer.listeners);
        listeners
            .map(|listener| (listener.protocol, listener.port))
            .collect::<Vec<_>>()
    };
    let group = format!(
        "lb-sg-{}-default-{name}",
        fixture.services().get(&name).await.unwrap().uid().unwrap()
    );
    let has_group = |fixture: &Fixture| fixture.cloud.security_groups().iter().any(|one| one.name == group);
    fixture
        .cloud_until("the security group", &manager, |_| has_group(&fixture))
        .await;

    let two = [port("TCP", 443), port("UDP", 53)].map(|mut port| {
        port.name = port.protocol.as_deref().map(str::to_lowercase);
        port
    });
    fixture.change(&name, json!({ "ports": two })).await;
    let wanted = [("TCP".to_owned(), 443), ("UDP".to_owned(), 53)];
    fixture
        .cloud_until("the new ports", &manager, |_| ports(&fixture) == wanted)
        .await;
    let both = || fixture.members(&name).len() == nodes.len() * 2;
    fixture.cloud_until("their members", &manager, |_| both()).await;
    assert_eq!(fixture.balancer(&name).id, before.id, "it is another one");

    fixture.end(&manager, &name).await;
    fixture.assert_clean();
    let grouped = fixture.cloud.ports().into_iter().filter(|port| !port.tags.is_empty());
    assert_eq!(grouped.count(), 0, "a tag was left on a port");
}

/// <https://github.com/kubernetes/cloud-provider-openstack/issues/2751>
#[tokio::test]
async fn a_service_that_changes_its_type_and_back_works_again() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    fixture.nodes(&manager, 1).await;
    let name = fixture.serve(&manager, "web").await.name_any();
    let before = fixture.balancer(&name).id;
    fixture
        .change(&name, json!({"type": "ClusterIP", "loadBalancerClass": null}))
        .await;
    let services = fixture.services();
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
    fixture.assert_clean();
    fixture
        .change(
            &name,
            json!({"type": "LoadBalancer", "loadBalancerClass": fixture.name}),
        )
        .await;
    let service = fixture.served(&manager, &name).await;
    let after = fixture.balancer(&name).id;
    assert_ne!(after, before);
    let services = fixture.services();
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
async fn a_load_balancer_that_another_client_deleted_is_recreated() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    fixture.nodes(&manager, 1).await;
    let name = fixture.serve(&manager, "web").await.name_any();
    let before = fixture.balancer(&name);
    fixture.cloud.delete_load_balancer(before.id);
    let (params, patch) = (
        PatchParams::default(),
        Patch::Merge(json!({"metadata": {"annotations": {"loadbalancer.openstack.org/connection-limit": "7"}}})),
    );
    fixture.services().patch(&name, &params, &patch).await.unwrap();
    fixture
        .cloud_until("another load balancer", &manager, |_| {
            fixture.balancers(&name).iter().any(|balancer| balancer.id != before.id)
        })
        .await;
    let services = fixture.services();
    let look = async || {
        let service = services.get(&name).await.unwrap();
        let balancer = fixture.balancer(&name);
        let attached = fixture
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
    assert_eq!(fixture.cloud.floating_ips().len(), 1, "a floating IP was left behind");
}

/// It gets the new hosts first, and then finds that a part is missing.
#[rstest]
#[case::a_listener(|cloud: &Cloud, there: &LoadBalancerView| cloud.delete_listener(there.listeners[0].id))]
#[case::a_pool(|cloud: &Cloud, there: &LoadBalancerView| cloud.delete_pool(there.listeners[0].pool.as_ref().unwrap().id))]
#[case::all_of_it(|cloud: &Cloud, there: &LoadBalancerView| cloud.delete_load_balancer(there.id))]
#[tokio::test]
async fn objects_deleted_by_another_client_are_recreated_when_nodes_change(
    #[case] delete: fn(&Cloud, &LoadBalancerView),
) {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&[]).await;
    let mut nodes = fixture.nodes(&manager, 1).await;
    let service = fixture.serve(&manager, "web").await.name_any();
    fixture.members_are(&manager, &service, &nodes).await;
    delete(&fixture.cloud, &fixture.balancer(&service));
    nodes.push(fixture.join("late").await.0);
    fixture.members_are(&manager, &service, &nodes).await;
}

#[tokio::test]
async fn calls_have_a_user_agent() {
    let fixture = Fixture::new().await;
    let manager = fixture.start(&["--user-agent=one two"]).await;
    let (name, _) = fixture.join("node").await;
    let node = fixture.initialised(&manager, &name).await;
    assert!(is_initialised(&node));
    let calls = fixture.cloud.calls();
    let agent = |call: &Call| call.agent.clone().unwrap_or_default();
    let is_ours = |text: &str| text.starts_with("one two ") && text.contains("openstack-cloud-controller-manager/");
    assert!(calls.iter().any(|call| call.service == Service::Keystone.name()));
    assert!(
        calls.iter().map(agent).all(|agent| is_ours(&agent)),
        "{:?}",
        agent(&calls[0])
    );
}
