//! Nodes of all kinds: both programs write the same on them.

use super::{Fixture, Maker, Swap, placeholders::Placeholders};
use k8s_openapi::api::core::v1::Node;
use kube::{ResourceExt, api::ListParams};
use openstack_sim::{ServerSpec, ServerView};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Neutron lists the ports of a server in any order.
const SORTED: &str = "[Networking]\naddress-sort-order=10.0.0.0/16,192.168.0.0/24\n";

/// A Node without a server.
const SERVERLESS: &str = "serverless";

/// Servers of all kinds, and what their kubelets report.
fn boot(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let cloud = &fixture.cloud;
    let boot = |name: &str, change: &dyn Fn(&mut ServerSpec)| -> ServerView {
        let mut spec = ServerSpec::new(&fixture.named(name));
        spec.networks.push(fixture.net.clone());
        change(&mut spec);
        cloud.boot_as(spec)
    };
    let plain = |name: &str| boot(name, &|_| {});
    let other = cloud.create_network("other", "192.168.0.0/24");
    cloud.add_flavor("g1.huge (gpu)", 4096, 8);

    let floating = plain("floating");
    let fip = cloud.create_floating_ip(cloud.public_network().unwrap(), None, "");
    cloud.move_floating_ip(fip.unwrap().id, Some(floating.ports[0]));
    let reachable = plain("reachable");
    cloud.set_access_addresses(reachable.id, Some([203, 0, 113, 200].into()), None);
    let identified = plain("identified").id;
    let regional = plain("regional").id;
    boot("two-networks", &|spec| spec.networks.push(other.clone()));
    boot("elsewhere", &|spec| spec.zone = "zone two".into());
    boot("zoneless", &|spec| spec.zone = String::new());
    boot("huge", &|spec| spec.flavor = "g1.huge (gpu)".into());
    boot("described", &|spec| {
        spec.metadata.insert("hostname".into(), "db.lab".into());
    });
    let given = plain("given").addresses[0];
    for name in ["plain", "hosted", "labelled"] {
        plain(name);
    }
    let node = |words: &str| format!("tainted ready:True {words}");
    vec![
        ("plain", node("")),
        ("floating", node("")),
        ("reachable", node("")),
        ("identified", node(&format!("id:openstack:///{identified}"))),
        ("regional", node(&format!("id:openstack://RegionOne/{regional}"))),
        ("two-networks", node("")),
        ("elsewhere", node("")),
        ("zoneless", node("")),
        ("huge", node("")),
        ("described", node("")),
        ("given", node(&format!("node-ip:{given} InternalIP={given}"))),
        ("hosted", node("Hostname=host.lab InternalIP=10.9.9.9")),
        (
            "labelled",
            node("topology.kubernetes.io/zone=mine beta.kubernetes.io/instance-type=mine"),
        ),
        (SERVERLESS, node("")),
    ]
}

/// The fields of every Node. Outrigger also reports why one is not initialized, in a condition and an event.
async fn written(of: Maker) -> BTreeMap<String, Value> {
    let fixture = Fixture::private().await;
    let kubelets = boot(&fixture);
    let swap = Swap::on(fixture, SORTED).await;
    let base = swap.base();
    for (name, words) in &kubelets {
        base.register(name, words).await;
    }
    let manager = swap.start(swap.program(of));
    for (name, _) in kubelets.iter().filter(|(name, _)| *name != SERVERLESS) {
        base.initialised(&manager, &base.named(name)).await;
    }
    swap.looked_at_all(&manager).await;
    let words = Placeholders::new(&[(base.name.clone(), "CLUSTER")]);
    let nodes = base.nodes().list(&ListParams::default()).await.unwrap();
    let look = |node: Node| {
        let (metadata, spec, status) = (json!(node.metadata), json!(node.spec), json!(node.status));
        let facts = json!([
            metadata["labels"],
            metadata["annotations"],
            spec["providerID"],
            spec["taints"],
            status["addresses"],
        ]);
        let text = words.replace_in(&facts.to_string());
        (words.replace_in(&node.name_any()), serde_json::from_str(&text).unwrap())
    };
    nodes.into_iter().map(look).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_the_same_in_both_programs() {
    let (theirs, ours) = tokio::join!(written(Maker::Theirs), written(Maker::Ours));
    assert_eq!(theirs.len(), ours.len());
    for (name, node) in &theirs {
        assert_eq!(node, &ours[name], "{name}");
    }
}
