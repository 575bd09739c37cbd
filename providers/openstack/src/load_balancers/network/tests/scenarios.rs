//! The requests to Neutron about networks, on the simulation and on the real services.

use super::super::*;
use crate::load_balancers::tests::neutron::{self, Neutron, Simulated, scenarios, simulated};
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

/// A node whose address is on no port.
fn adrift(name: &str, provider_id: Option<&str>) -> Arc<Host> {
    Arc::new(Host {
        name: name.to_owned(),
        provider_id: provider_id.and_then(cloud::ProviderId::parse),
        addresses: vec![Address::new(AddressKind::InternalIP, "10.99.0.1")],
        ..Host::default()
    })
}

/// Adds an IPv6 subnet to the nodes' network.
async fn second_family(neutron: &Neutron) -> String {
    let subnet = json!({"subnet": {"network_id": neutron.network, "ip_version": 6, "cidr": "2001:db8:77::/64"}});
    let made = neutron::post(&neutron.api, "subnets", subnet).await;
    made["subnet"]["id"].as_str().expect("an ID").to_owned()
}

async fn the_subnet_is_that_of_a_node_on_a_port(neutron: &Neutron) {
    let (networks, choice) = (Networks::default(), choice(&[]));
    let (node, _) = neutron.node("a", json!({})).await;
    let hosts = [adrift("new", None), adrift("astray", Some("openstack:///b")), node];
    let placement = networks
        .vip_placement(&neutron.api, &choice, &hosts, &[V4])
        .await
        .unwrap();
    assert_eq!(placement.subnet.as_ref(), Some(&neutron.subnet), "{placement:?}");

    let nowhere = networks
        .vip_placement(&neutron.api, &choice, &hosts[..2], &[V4])
        .await
        .unwrap_err();
    assert_eq!(
        nowhere.report(),
        "the subnet of the nodes cannot be used: none of 2 nodes has an address on a port of its server: set subnet-id or \
         network-id"
    );
    let members = networks
        .members(
            &neutron.api,
            &choice,
            Some("theirs"),
            Ownership::Guest,
            &hosts,
            Some(V4),
        )
        .await;
    assert_eq!(
        members.unwrap().as_ref(),
        Some(&neutron.subnet),
        "the load balancer of another owner may be anywhere"
    );
}

/// Members of our own load balancer are in its subnet as long as any node is, and otherwise in the nodes' subnet.
async fn members_are_in_the_subnet_of_the_nodes(neutron: &Neutron) {
    let (old, detected) = (neutron.subnet.clone(), choice(&[]));
    let new = json!({"subnet": {"network_id": neutron.network, "ip_version": 4, "cidr": "10.88.0.0/24"}});
    let new = neutron::post(&neutron.api, "subnets", new).await["subnet"]["id"].clone();
    let (stayed, _) = neutron.node("a", json!({"fixed_ips": [{"subnet_id": old}]})).await;
    let (moved, _) = neutron.node("b", json!({"fixed_ips": [{"subnet_id": new}]})).await;
    for (hosts, expected) in [
        (vec![moved.clone(), stayed.clone()], old.as_str()),
        (vec![moved], new.as_str().expect("an ID")),
        (vec![], old.as_str()),
    ] {
        let members = Networks::default()
            .members(&neutron.api, &detected, Some(&old), Ownership::Owner, &hosts, Some(V4))
            .await;
        assert_eq!(members.unwrap().as_deref(), Some(expected), "{} hosts", hosts.len());
    }
}

async fn a_second_family_has_a_subnet_of_its_own(neutron: &Neutron) {
    let networks = Networks::default();
    let by_network = choice(&[(key::NETWORK_ID.key, &neutron.network)]);
    let one = networks
        .vip_placement(&neutron.api, &by_network, &[], &[V4, V6])
        .await
        .unwrap();
    assert_eq!(
        (one.network.as_ref(), one.additional),
        (Some(&neutron.network), vec![]),
        "there is none yet"
    );

    let other = second_family(neutron).await;
    for asked in [
        (key::NETWORK_ID.key, &neutron.network),
        (key::SUBNET_ID.key, &neutron.subnet),
    ] {
        let choice = choice(&[(asked.0, asked.1)]);
        let placement = networks
            .vip_placement(&neutron.api, &choice, &[], &[V4, V6])
            .await
            .unwrap();
        assert_eq!(placement.additional, std::slice::from_ref(&other), "{asked:?}");
    }
    let first = networks
        .vip_placement(&neutron.api, &by_network, &[], &[V6])
        .await
        .unwrap();
    assert_eq!(first.subnet, Some(other), "Octavia would take the IPv4 subnet");
}

async fn the_external_network_is_found(neutron: &Neutron) {
    let found = Networks::default()
        .external(&neutron.api)
        .await
        .unwrap()
        .expect("a network");
    let network = neutron.get(&["networks", &found]).await;
    assert_eq!(network["network"]["router:external"], true);
}

scenarios! {
    the_subnet_is_that_of_a_node_on_a_port
    members_are_in_the_subnet_of_the_nodes
    a_second_family_has_a_subnet_of_its_own
    the_external_network_is_found
}

#[tokio::test]
async fn known_networks_are_not_read_again() {
    let Simulated { neutron, cloud, .. } = &simulated().await;
    let networks = Networks::default();
    let (node, _) = neutron.node("a", json!({})).await;
    let hosts = [node];
    let detected = choice(&[]);
    for _ in 0..3 {
        networks.external(&neutron.api).await.unwrap();
        networks.subnet(&neutron.api, &neutron.subnet).await.unwrap();
        networks
            .vip_placement(&neutron.api, &detected, &hosts, &[V4])
            .await
            .unwrap();
    }
    let counts = ["network_list", "subnet_list", "subnet_get", "port_list"].map(|name| cloud.count(name));
    assert_eq!(counts, [1, 1, 1, 1]);

    let mark = cloud.mark();
    let by_network = choice(&[(key::NETWORK_ID.key, &neutron.network)]);
    for choice in [&detected, &by_network] {
        let subnet = networks
            .members(
                &neutron.api,
                choice,
                Some(&neutron.subnet),
                Ownership::Owner,
                &hosts,
                Some(V4),
            )
            .await;
        assert_eq!(
            subnet.unwrap().as_ref(),
            Some(&neutron.subnet),
            "known from the balancer itself"
        );
    }
    let unknown = networks
        .members(&neutron.api, &by_network, None, Ownership::Owner, &hosts, Some(V4))
        .await;
    assert_eq!(unknown.unwrap(), None, "Octavia has not chosen yet");
    assert_eq!(cloud.calls_since(mark).len(), 0);

    networks.doubt_external();
    networks.external(&neutron.api).await.unwrap();
    assert_eq!(cloud.count("network_list"), 2);
}
