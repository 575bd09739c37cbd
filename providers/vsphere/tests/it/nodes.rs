//! What nodes get.

use crate::fixture::{LABELS, Lab, describe, found, refused};
use base64::{Engine, engine::general_purpose::STANDARD};
use cloud::{Answer, Detail, NodeRef, Power, Provider};
use serde_json::json;

fn addresses(instance: &cloud::Instance) -> Vec<String> {
    let addresses = instance.addresses.iter();
    addresses.map(|one| format!("{} {}", one.kind, one.address)).collect()
}

#[tokio::test]
async fn a_node_gets_everything() {
    let lab = Lab::start().await;
    let node = lab.machine_with("a", json!({"GuestID": "ubuntu64Guest"})).await;
    let instance = found(&lab.provider(), &node).await;
    assert_eq!(instance.provider_id, node.provider_id);
    assert_eq!(
        instance.instance_type.as_deref(),
        Some("vsphere-vm.cpu-2.mem-4gb.os-ubuntu")
    );
    assert_eq!(
        addresses(&instance),
        ["Hostname a", "InternalIP 10.0.0.2", "ExternalIP 10.0.0.2"]
    );
    assert_eq!(
        (instance.zone, instance.region, instance.power),
        (None, None, Power::On)
    );
    assert_eq!(instance.labels["example.com/platform"], "vsphere");
}

#[tokio::test]
async fn a_new_node_is_found_by_its_system_uuid_in_both_byte_orders_and_by_its_name() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let provider = lab.provider();
    let known_by = |name: &str, uuid: Option<&str>| NodeRef {
        system_uuid: uuid.map(str::to_owned),
        ..NodeRef::named(name)
    };
    for (name, uuid) in [
        ("other-name", Some("42060000-8E4F-1B2C-8000-000000000001")),
        ("other-name", Some("00000642-4f8e-2c1b-8000-000000000001")),
        ("a", None),
        ("a", Some("ec2f0000-0000-0000-0000-000000000000")),
        ("10.0.0.2", None),
    ] {
        let instance = found(&provider, &known_by(name, uuid)).await;
        assert_eq!(instance.provider_id, node.provider_id, "{name} {uuid:?}");
    }
    let answer = describe(&provider, &known_by("b", None), Detail::Full).await.unwrap();
    assert_eq!(answer, Answer::Missing);
}

#[tokio::test]
async fn two_machines_with_one_host_name_are_named() {
    let lab = Lab::start().await;
    lab.machine("a").await;
    lab.machine_with("b", json!({"Hostname": "a", "Datacenter": 1})).await;
    let why = refused(&lab.provider(), &NodeRef::named("a"), Detail::Full).await;
    assert!(why.contains("virtual machine a, virtual machine b"), "{why}");
}

#[tokio::test]
async fn addresses_are_those_of_the_configured_networks() {
    let lab = Lab::start().await;
    let nics = json!([
        {"Network": "docker0", "IPs": ["172.17.0.1"], "Device": -1},
        {"Network": "storage", "IPs": ["192.168.0.7", "fe80::1"]},
        {"Network": "VM Network", "IPs": ["10.0.0.7", "2001:db8::7"]},
    ]);
    let node = lab.machine_with("a", json!({"Nics": nics})).await;
    let config = "nodes: {internalNetworkSubnetCidr: 10.0.0.0/8, externalVmNetworkName: Storage}\n";
    let instance = found(&lab.provider_with(config), &node).await;
    assert_eq!(
        addresses(&instance),
        ["Hostname a", "InternalIP 10.0.0.7", "ExternalIP 192.168.0.7"]
    );
}

#[tokio::test]
async fn addresses_in_the_metadata_come_first() {
    let lab = Lab::start().await;
    let metadata = STANDARD.encode("network: {ethernets: {nic0: {addresses: [10.0.0.9/24]}}}");
    let node = lab
        .machine_with(
            "a",
            json!({
                "Nics": [{"Network": "VM Network", "IPs": ["10.0.0.8", "10.0.0.9"]}],
                "Options": {"guestinfo.metadata": metadata, "guestinfo.metadata.encoding": "base64"},
            }),
        )
        .await;
    let instance = found(&lab.provider(), &node).await;
    assert_eq!(
        addresses(&instance)[1..],
        ["InternalIP 10.0.0.9", "ExternalIP 10.0.0.9"]
    );
}

#[tokio::test]
async fn zones_are_the_tags_above_a_machine() {
    let tags = &[
        ["k8s-zone", "zone-a", "/DC0/host/DC0_C0"],
        ["k8s-region", "region-1", "/DC0"],
        ["other", "x", "/DC0"],
        ["k8s-zone", "zone-b", "/DC1/host/DC1_C0"],
    ];
    let lab = Lab::with_tags(tags).await;
    let [placed, lost] = [
        lab.machine("a").await,
        lab.machine_with("b", json!({"Datacenter": 1})).await,
    ];
    let provider = lab.provider_with(LABELS);
    let instance = found(&provider, &placed).await;
    assert_eq!(
        (instance.zone.as_deref(), instance.region.as_deref()),
        (Some("zone-a"), Some("region-1"))
    );
    let why = refused(&provider, &lost, Detail::Full).await;
    assert!(
        why.contains("virtual machine b") && why.contains("\"k8s-zone\" and \"k8s-region\""),
        "{why}"
    );
    assert!(matches!(
        describe(&provider, &lost, Detail::Liveness).await,
        Ok(Answer::Found(_))
    ));
}

#[tokio::test]
async fn a_datacenter_that_does_not_exist_is_named() {
    let lab = Lab::start().await;
    let node = lab.machine("a").await;
    let config = |name: &str| {
        lab.vcenter
            .cloud_config(&format!("global: {{datacenters: [{name}]}}\n"))
    };
    assert_eq!(
        found(&lab.configured(&config("DC0")), &node).await.provider_id,
        node.provider_id
    );
    let why = refused(&lab.configured(&config("DC7")), &node, Detail::Full).await;
    assert!(
        why.contains("datacenter \"DC7\"") && why.contains("it has DC0, DC1"),
        "{why}"
    );
}

#[tokio::test]
async fn many_nodes_cost_few_calls() {
    let lab = Lab::start().await;
    let mut nodes = Vec::new();
    for number in 0..25 {
        nodes.push(lab.machine(&format!("n{number}")).await);
    }
    let provider = lab.provider();
    lab.vcenter.reset().await.unwrap();
    for expected in [2, 3] {
        let answers = provider.instances().describe(&nodes, Detail::Full).await;
        assert!(
            answers.iter().all(|answer| matches!(answer, Ok(Answer::Found(_)))),
            "{answers:?}"
        );
        // The first time, one lists the UUIDs of all machines. Then it is known where the machines are.
        assert_eq!(lab.calls("RetrievePropertiesEx").await, expected);
    }
    assert_eq!((lab.calls("Login").await, lab.calls("FindAllByUuid").await), (1, 0));
}
