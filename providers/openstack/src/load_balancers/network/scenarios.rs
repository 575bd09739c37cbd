//! What Neutron is asked about networks, on the simulation and on the real services.

use super::{
    rig::{Rig, Simulated, scenarios, simulated},
    *,
};
use cloud::{Address, AddressKind, Host, IpFamily};
use provider_kit::load_balancer::Ownership;
use serde_json::json;
use std::sync::Arc;

const V4: IpFamily = IpFamily::V4;
const V6: IpFamily = IpFamily::V6;

fn choice(annotations: &[(&str, &str)]) -> Choice {
    let pairs = annotations
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let spec = Spec {
        annotations: pairs.collect(),
        ..Spec::default()
    };
    let config = Config::default();
    choose(&spec, &Settings::of(&spec, &config).unwrap(), &config).unwrap()
}

/// A node with this address on no port at all.
fn adrift(name: &str, provider_id: Option<&str>) -> Arc<Host> {
    Arc::new(Host {
        name: name.to_owned(),
        provider_id: provider_id.and_then(cloud::ProviderId::parse),
        addresses: vec![Address::new(AddressKind::InternalIP, "10.99.0.1")],
        ..Host::default()
    })
}

/// Gives the nodes' network an IPv6 subnet.
async fn second_family(rig: &Rig) -> String {
    let subnet = json!({"subnet": {"network_id": rig.network, "ip_version": 6, "cidr": "2001:db8:77::/64"}});
    let made = rig::post(&rig.api, "subnets", subnet).await;
    made["subnet"]["id"].as_str().expect("an ID").to_owned()
}

async fn the_subnet_is_that_of_a_node_on_a_port(rig: &Rig) {
    let (networks, choice) = (Networks::default(), choice(&[]));
    let (node, _) = rig.node("a", json!({})).await;
    let hosts = [adrift("new", None), adrift("astray", Some("openstack:///b")), node];
    let place = networks.place(&rig.api, &choice, &hosts, &[V4]).await.unwrap();
    assert_eq!(place.subnet.as_ref(), Some(&rig.subnet), "{place:?}");

    let nowhere = networks.place(&rig.api, &choice, &hosts[..2], &[V4]).await.unwrap_err();
    assert_eq!(
        nowhere.report(),
        "the subnet of the nodes cannot be used: none of 2 nodes has an address on a port of its server: set subnet-id or \
         network-id"
    );
    let members = networks
        .members(&rig.api, &choice, Some("theirs"), Ownership::Guest, &hosts, Some(V4))
        .await;
    assert_eq!(
        members.unwrap().as_ref(),
        Some(&rig.subnet),
        "somebody else's balancer may be anywhere"
    );
}

/// Members of a balancer of our own are beside it as long as any node is, and otherwise where the nodes went.
async fn members_go_where_the_nodes_went(rig: &Rig) {
    let (old, detected) = (rig.subnet.clone(), choice(&[]));
    let new = json!({"subnet": {"network_id": rig.network, "ip_version": 4, "cidr": "10.88.0.0/24"}});
    let new = rig::post(&rig.api, "subnets", new).await["subnet"]["id"].clone();
    let (stayed, _) = rig.node("a", json!({"fixed_ips": [{"subnet_id": old}]})).await;
    let (moved, _) = rig.node("b", json!({"fixed_ips": [{"subnet_id": new}]})).await;
    for (hosts, expected) in [
        (vec![moved.clone(), stayed.clone()], old.as_str()),
        (vec![moved], new.as_str().expect("an ID")),
        (vec![], old.as_str()),
    ] {
        let members = Networks::default()
            .members(&rig.api, &detected, Some(&old), Ownership::Owner, &hosts, Some(V4))
            .await;
        assert_eq!(members.unwrap().as_deref(), Some(expected), "{} hosts", hosts.len());
    }
}

async fn a_second_family_has_a_subnet_of_its_own(rig: &Rig) {
    let networks = Networks::default();
    let by_network = choice(&[(key::NETWORK_ID.key, &rig.network)]);
    let one = networks.place(&rig.api, &by_network, &[], &[V4, V6]).await.unwrap();
    assert_eq!(
        (one.network.as_ref(), one.additional),
        (Some(&rig.network), vec![]),
        "there is none yet"
    );

    let other = second_family(rig).await;
    for asked in [(key::NETWORK_ID.key, &rig.network), (key::SUBNET_ID.key, &rig.subnet)] {
        let choice = choice(&[(asked.0, asked.1)]);
        let place = networks.place(&rig.api, &choice, &[], &[V4, V6]).await.unwrap();
        assert_eq!(place.additional, std::slice::from_ref(&other), "{asked:?}");
    }
    let first = networks.place(&rig.api, &by_network, &[], &[V6]).await.unwrap();
    assert_eq!(first.subnet, Some(other), "Octavia would take the IPv4 subnet");
}

async fn the_external_network_is_found(rig: &Rig) {
    let found = Networks::default()
        .external(&rig.api)
        .await
        .unwrap()
        .expect("a network");
    let network = rig.get(&["networks", &found]).await;
    assert_eq!(network["network"]["router:external"], true);
}

scenarios! {
    the_subnet_is_that_of_a_node_on_a_port
    members_go_where_the_nodes_went
    a_second_family_has_a_subnet_of_its_own
    the_external_network_is_found
}

#[tokio::test]
async fn what_is_known_is_not_asked_again() {
    let Simulated { rig, cloud, .. } = &simulated().await;
    let networks = Networks::default();
    let (node, _) = rig.node("a", json!({})).await;
    let hosts = [node];
    let detected = choice(&[]);
    for _ in 0..3 {
        networks.external(&rig.api).await.unwrap();
        networks.subnet(&rig.api, &rig.subnet).await.unwrap();
        networks.place(&rig.api, &detected, &hosts, &[V4]).await.unwrap();
    }
    let counts = ["network_list", "subnet_list", "subnet_get", "port_list"].map(|name| cloud.count(name));
    assert_eq!(counts, [1, 1, 1, 1]);

    let mark = cloud.mark();
    let by_network = choice(&[(key::NETWORK_ID.key, &rig.network)]);
    for choice in [&detected, &by_network] {
        let subnet = networks
            .members(&rig.api, choice, Some(&rig.subnet), Ownership::Owner, &hosts, Some(V4))
            .await;
        assert_eq!(
            subnet.unwrap().as_ref(),
            Some(&rig.subnet),
            "known from the balancer itself"
        );
    }
    let unknown = networks
        .members(&rig.api, &by_network, None, Ownership::Owner, &hosts, Some(V4))
        .await;
    assert_eq!(unknown.unwrap(), None, "Octavia has not chosen yet");
    assert_eq!(cloud.calls_since(mark).len(), 0);

    networks.doubt_external();
    networks.external(&rig.api).await.unwrap();
    assert_eq!(cloud.count("network_list"), 2);
}
