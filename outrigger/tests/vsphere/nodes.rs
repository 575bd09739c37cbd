//! Nodes of all kinds: both programs write the same on them, and delete the same ones.

use crate::cluster::{Cluster, Program};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where ours differs on purpose, and why.
const DIFFERENCES: [(&str, &str); 1] = [(
    "named-otherwise",
    "the Go program does not find a Node whose name is not the host name of the guest, although it knows its UUID",
)];

/// What becomes of a Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Initialised,
    Tainted,
}

/// A machine and the kubelet on it.
struct Case {
    /// The Node's name, and that of the machine.
    name: &'static str,
    /// How the machine differs from others.
    machine: Value,
    /// What the kubelet reports, in the words of [`testkit::node::node`].
    words: &'static str,
    ends: Ends,
}

fn cases() -> Vec<Case> {
    let case = |name, machine, words, ends| Case {
        name,
        machine,
        words,
        ends,
    };
    let ready = "tainted ready:True";
    let nics = json!([
        {"Network": "docker0", "IPs": ["172.17.0.1"], "Device": -1},
        {"Network": "VM Network", "IPs": ["fe80::7", "10.7.0.1"]},
        {"Network": "storage", "IPs": ["192.168.7.1"]},
    ]);
    vec![
        case("plain", json!({}), ready, Ends::Initialised),
        case("ubuntu", json!({"GuestID": "ubuntu64Guest"}), ready, Ends::Initialised),
        case("several-nics", json!({"Nics": nics}), ready, Ends::Initialised),
        case(
            "labelled",
            json!({}),
            "tainted ready:True topology.kubernetes.io/zone=mine",
            Ends::Initialised,
        ),
        case(
            "off",
            json!({"Power": "poweredOff"}),
            "tainted ready:Unknown",
            Ends::Initialised,
        ),
        case(
            "suspended",
            json!({"Power": "suspended"}),
            "tainted ready:Unknown",
            Ends::Initialised,
        ),
        case("no-tools", json!({"NoTools": true, "Nics": []}), ready, Ends::Tainted),
        case(
            "local",
            json!({"Nics": [{"Network": "a", "IPs": ["169.254.0.1"]}]}),
            ready,
            Ends::Tainted,
        ),
        case(
            "v6-only",
            json!({"Nics": [{"Network": "a", "IPs": ["2001:db8::1"]}]}),
            ready,
            Ends::Tainted,
        ),
        case("elsewhere", json!({"Datacenter": 1}), ready, Ends::Tainted),
        case(
            "named-otherwise",
            json!({"Hostname": "another-name"}),
            ready,
            Ends::Tainted,
        ),
    ]
}

/// What stands on every Node in the end.
async fn end_state(program: Program) -> BTreeMap<String, Value> {
    let cluster = Cluster::new().await;
    let manager = cluster.start(program).await;
    for (case, number) in cases().iter().zip(1..) {
        let uuid = format!("42060000-8e4f-1b2c-8000-{number:012}");
        let mut machine = json!({
            "Name": case.name, "Hostname": case.name, "UUID": uuid,
            "Nics": [{"Network": "VM Network", "IPs": [format!("10.0.0.{number}")]}],
        });
        for (key, value) in case.machine.as_object().unwrap() {
            machine[key] = value.clone();
        }
        cluster.vcenter.create(&machine).await.unwrap();
        cluster
            .register(case.name, &format!("{} uuid:{uuid}", case.words))
            .await;
    }
    for case in cases() {
        if case.ends == Ends::Initialised {
            cluster.api.initialised(&manager, case.name).await;
        }
    }
    for name in ["off", "suspended"] {
        let is_shut_down = |node: &k8s_openapi::api::core::v1::Node| {
            json!(node.spec)["taints"]
                .to_string()
                .contains("node.cloudprovider.kubernetes.io/shutdown")
        };
        cluster
            .api
            .node_until(&manager, name, "tainted as shut down", is_shut_down)
            .await;
    }
    // The one whose machine is deleted goes, and only that one.
    cluster.vcenter.delete("off").await.unwrap();
    cluster.api.node_gone(&manager, "off").await;
    cluster.nodes().await
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_alike() {
    let (theirs, ours) = tokio::join!(end_state(Program::Go), end_state(Program::Outrigger));
    let names: Vec<&String> = theirs.keys().collect();
    assert_eq!(names, ours.keys().collect::<Vec<_>>());
    let differs = |name: &&String| theirs[*name] != ours[*name];
    let different: Vec<&str> = theirs.keys().filter(differs).map(String::as_str).collect();
    let listed: Vec<&str> = DIFFERENCES.iter().map(|(name, _)| *name).collect();
    let show = |name: &&str| format!("{name}:\n  ours   {}\n  theirs {}\n", ours[*name], theirs[*name]);
    assert_eq!(different, listed, "{}", different.iter().map(show).collect::<String>());
}
