//! Nodes for tests, from words: a row of a table reads as data.

use cloud::{Address, AddressKind, Instance, Power, ProviderId};
use k8s_openapi::{
    api::core::v1::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};

/// A Node from words, for example `tainted Hostname=h InternalIP=10.0.0.1 id:x ready:False a.b/c=d`.
///
/// | word | means |
/// |---|---|
/// | `tainted` | the taint of a Node that is not initialized |
/// | `shutdown` | the taint of a Node whose machine is shut down |
/// | `taint:K` | a taint with key `K`, value `true` and effect `NoSchedule` |
/// | `id:X` | `spec.providerID` |
/// | `uid:X` | `metadata.uid`, instead of `uid-NAME` |
/// | `node-ip:X` | the annotation of the kubelet's `--node-ip` |
/// | `ready:S` | the condition `Ready` with status `S` |
/// | `born:T` | `metadata.creationTimestamp`, instead of a time long ago |
/// | `going` | `metadata.deletionTimestamp` |
/// | `uuid:X` | `status.nodeInfo.systemUUID` |
/// | `cidr:X` | one more of `spec.podCIDRs` |
/// | `Kind=A` | an address of a kind of Kubernetes |
/// | `K=V` | a label |
///
/// # Panics
/// If a word is none of these.
#[must_use]
pub fn node(name: &str, words: &str) -> Node {
    let mut node = Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            uid: Some(format!("uid-{name}")),
            creation_timestamp: Some(time("2012-01-01T00:00:00Z")),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec::default()),
        status: Some(NodeStatus::default()),
    };
    for word in words.split_whitespace() {
        apply(&mut node, word);
    }
    node
}

/// A machine from words: `id:X`, `type:X`, `zone:X`, `region:X`, `off`, `Kind=A` for an address and `K=V` for a label.
///
/// # Panics
/// If a word is none of these.
#[must_use]
pub fn machine(words: &str) -> Instance {
    let mut machine = Instance {
        power: Power::On,
        ..Instance::default()
    };
    for word in words.split_whitespace() {
        match (word.split_once('='), word.split_once(':')) {
            (Some((kind, address)), _) if AddressKind::parse(kind).is_some() => {
                machine
                    .addresses
                    .extend(AddressKind::parse(kind).map(|kind| Address::new(kind, address)));
            }
            (Some((key, value)), _) => drop(machine.labels.insert(key.to_owned(), value.to_owned())),
            (None, Some(("id", id))) => machine.provider_id = ProviderId::parse(id),
            (None, Some(("type", text))) => machine.instance_type = Some(text.to_owned()),
            (None, Some(("zone", text))) => machine.zone = Some(text.to_owned()),
            (None, Some(("region", text))) => machine.region = Some(text.to_owned()),
            _ if word == "off" => machine.power = Power::Off,
            _ => unknown(word),
        }
    }
    machine
}

fn apply(node: &mut Node, word: &str) {
    let spec = node.spec.get_or_insert_default();
    let status = node.status.get_or_insert_default();
    match (word.split_once('='), word.split_once(':')) {
        (Some((kind, address)), _) if AddressKind::parse(kind).is_some() => {
            let address = NodeAddress {
                type_: kind.to_owned(),
                address: address.to_owned(),
            };
            status.addresses.get_or_insert_default().push(address);
        }
        (Some((key, value)), _) => {
            node.metadata
                .labels
                .get_or_insert_default()
                .insert(key.to_owned(), value.to_owned());
        }
        (None, Some(("taint", key))) => spec.taints.get_or_insert_default().push(taint(key, Some("true"))),
        (None, Some(("id", id))) => spec.provider_id = Some(id.to_owned()),
        (None, Some(("cidr", cidr))) => spec.pod_cidrs.get_or_insert_default().push(cidr.to_owned()),
        (None, Some(("uid", uid))) => node.metadata.uid = Some(uid.to_owned()),
        (None, Some(("born", at))) => node.metadata.creation_timestamp = Some(time(at)),
        (None, Some(("node-ip", ip))) => {
            let annotations = node.metadata.annotations.get_or_insert_default();
            annotations.insert("alpha.kubernetes.io/provided-node-ip".to_owned(), ip.to_owned());
        }
        (None, Some(("ready", value))) => status
            .conditions
            .get_or_insert_default()
            .push(condition("Ready", value)),
        (None, Some(("uuid", uuid))) => {
            status.node_info = Some(NodeSystemInfo {
                system_uuid: uuid.to_owned(),
                ..NodeSystemInfo::default()
            });
        }
        _ if word == "tainted" => {
            let key = "node.cloudprovider.kubernetes.io/uninitialized";
            spec.taints.get_or_insert_default().push(taint(key, Some("true")));
        }
        _ if word == "shutdown" => {
            spec.taints
                .get_or_insert_default()
                .push(taint("node.cloudprovider.kubernetes.io/shutdown", None));
        }
        _ if word == "going" => node.metadata.deletion_timestamp = Some(time("2020-01-01T00:00:00Z")),
        _ => unknown(word),
    }
}

/// A condition of a Node, with times long ago.
#[must_use]
pub fn condition(type_: &str, status: &str) -> NodeCondition {
    NodeCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        last_heartbeat_time: Some(time("2015-01-01T12:00:00Z")),
        last_transition_time: Some(time("2015-01-01T12:00:00Z")),
        ..NodeCondition::default()
    }
}

fn taint(key: &str, value: Option<&str>) -> Taint {
    Taint {
        key: key.to_owned(),
        value: value.map(str::to_owned),
        effect: "NoSchedule".to_owned(),
        time_added: None,
    }
}

fn time(text: &str) -> Time {
    Time(text.parse::<Timestamp>().expect("a time in a test"))
}

#[expect(clippy::panic, reason = "this is how a test fails")]
fn unknown(word: &str) {
    panic!("unknown word {word:?}");
}
