//! Compares the same Services on equal clouds, one served by occm and one by Outrigger: their status, events and objects in the cloud are the
//! same after creation, after changes, and after Nodes joined and left.

use super::{Fixture, Maker, Swap, placeholders::Placeholders, services};
use crate::process_fixture::Manager;
use k8s_openapi::api::core::v1::Service;
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use openstack_sim::{GroupView, LoadBalancerView};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use testkit::service::Builder;

/// The state of every Service, one fact in each line.
type Snapshot = BTreeMap<String, Seen>;

#[derive(Debug, Default)]
struct Seen {
    /// On the Service and in the cloud.
    facts: Vec<String>,
    /// Its events.
    events: BTreeSet<String>,
}

/// A Service that has no load balancer any more: occm leaves the ID and the address of the deleted one.
const NO_MORE: &str = "eastern";

/// A cluster and its cloud at the end of each phase: created, changed, with other Nodes.
async fn phases(of: Maker) -> [Snapshot; 3] {
    let fixture = Fixture::private().await;
    let wanted = numbered([services::common(), services::rare(&fixture)].concat());
    let more = services::classes(&fixture);
    let swap = Swap::on(fixture, &more).await;
    let manager = swap.start(swap.program(of));
    for (n, words) in ["lab/first=", "", ""].iter().enumerate() {
        swap.join(&manager, &format!("node-{n}"), words).await;
    }
    for service in wanted {
        swap.base().create(service).await;
    }
    at_rest(&swap, &manager).await;
    let made = snapshot(&swap.environment).await;

    let api = swap.base().services();
    for (name, change) in services::changes() {
        let patched = api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await;
        assert!(patched.is_ok(), "cannot change {name}: {patched:?}");
    }
    for name in services::DELETED {
        swap.base().end(&manager, name).await;
    }
    at_rest(&swap, &manager).await;
    let changed = snapshot(&swap.environment).await;

    swap.join(&manager, "late", "").await;
    let gone = swap.base().named("node-1");
    let nodes = swap.base().nodes();
    nodes.delete(&gone, &DeleteParams::default()).await.unwrap();
    at_rest(&swap, &manager).await;
    [made, changed, snapshot(&swap.environment).await]
}

/// Waits until the program has no more work. Failures are retried after five seconds, during which there are no calls.
async fn at_rest(swap: &Swap<Fixture>, manager: &Manager) {
    for _ in 0..2 {
        swap.looked_at_all(manager).await;
    }
}

/// With the same node ports on both clusters, which are chosen at random otherwise.
fn numbered(services: Vec<Builder>) -> Vec<Builder> {
    let number = |(first, service): (i32, Builder)| {
        service.spec(|spec| {
            if spec.allocate_load_balancer_node_ports == Some(false) {
                return;
            }
            for (port, number) in spec.ports.iter_mut().flatten().zip(first..) {
                port.node_port = Some(number);
            }
            if spec.external_traffic_policy.as_deref() == Some("Local") {
                spec.health_check_node_port = Some(first + 9);
            }
        })
    };
    (30_000..).step_by(10).zip(services).map(number).collect()
}

async fn snapshot(fixture: &Fixture) -> Snapshot {
    let services = fixture.services().list(&ListParams::default()).await.unwrap();
    let mut all = Snapshot::new();
    for service in services.items.iter().filter(|it| it.name_any() != "kubernetes") {
        all.insert(service.name_any(), seen(fixture, service).await);
    }
    let cloud = &fixture.cloud;
    let counts = [
        format!("{} load balancers", cloud.load_balancers().len()),
        format!("{} floating IPs", cloud.floating_ips().len()),
        format!("{} security groups", cloud.security_groups().len()),
    ];
    let facts = counts.into();
    all.insert(
        "in all".to_owned(),
        Seen {
            facts,
            ..Seen::default()
        },
    );
    all
}

async fn seen(fixture: &Fixture, service: &Service) -> Seen {
    let (name, uid) = (service.name_any(), service.uid().unwrap());
    let mut facts = object(service);
    let mut words = vec![
        (uid.clone(), "UID"),
        (fixture.name.clone(), "CLUSTER"),
        (fixture.net.subnet.to_string(), "SUBNET"),
    ];
    for balancer in fixture
        .cloud
        .load_balancers_named(&format!("kube_service_{}_default_{name}", fixture.name))
    {
        words.push((balancer.vip_address.to_string(), "VIP"));
        let all = fixture.cloud.floating_ips().into_iter();
        for fip in all.filter(|fip| fip.port == Some(balancer.vip_port)) {
            words.push((fip.address.to_string(), "FIP"));
            facts.push(format!("floating IP {} {:?}", fip.description, fip.tags));
        }
        facts.extend(load_balancer(balancer));
    }
    let groups = fixture.cloud.security_groups().into_iter();
    facts.extend(
        groups
            .filter(|group| group.name.contains(&uid))
            .flat_map(|it| group(&it)),
    );
    let words = Placeholders::new(&words);
    let events = fixture.events(&name).await.into_iter();
    Seen {
        facts: facts.iter().map(|line| words.replace_in(line)).collect(),
        events: events
            .map(|(reason, message)| words.replace_in(&format!("{reason}: {message}")))
            .collect(),
    }
}

fn object(service: &Service) -> Vec<String> {
    let notes = service.annotations().iter();
    let theirs = notes.filter(|(key, _)| !key.starts_with("outrigger.dev/"));
    let mut facts: Vec<_> = theirs.map(|(key, value)| format!("{key}={value}")).collect();
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    facts.push(format!(
        "finalizers {:?}, status {}",
        service.finalizers(),
        json!(status)
    ));
    facts
}

fn load_balancer(mut balancer: LoadBalancerView) -> Vec<String> {
    balancer.tags.retain(|tag| !tag.starts_with("kubernetes_service_uid_"));
    let text = format!("{balancer:#?}");
    text.lines().map(|line| line.trim().to_owned()).collect()
}

fn group(group: &GroupView) -> Vec<String> {
    let rules = group.rules.iter().map(|rule| {
        let (direction, family) = (&rule.direction, &rule.ethertype);
        format!(
            "{direction} {family} {:?} {:?} {:?} {:?}",
            rule.protocol, rule.min, rule.max, rule.prefix
        )
    });
    let mut facts: Vec<_> = rules.collect();
    facts.push(format!("{} {}", group.name, group.description));
    facts.sort();
    facts
}

/// The differences of ours, one line per Service.
fn differences(theirs: &Snapshot, ours: &Snapshot) -> Vec<String> {
    let only = |one: &Seen, other: &Seen| -> Vec<String> {
        let lacks = |fact: &&String| !other.facts.contains(fact);
        one.facts.iter().filter(lacks).cloned().collect()
    };
    let mut all = Vec::new();
    for (name, theirs) in theirs {
        let ours = &ours[name];
        let (less, more) = (only(theirs, ours), only(ours, theirs));
        if !(less.is_empty() && more.is_empty() && theirs.facts.len() == ours.facts.len()) {
            all.push(format!("{name}: {more:#?} instead of {less:#?}"));
        }
    }
    all
}

/// Events that only Outrigger emits. occm may emit more: it fails now and then when two of its workers conflict.
fn only_reported_by_ours(theirs: &Snapshot, ours: &Snapshot) -> Vec<String> {
    let mut all = Vec::new();
    for (name, ours) in ours {
        let more = ours.events.difference(&theirs[name].events);
        all.extend(more.map(|event| format!("{name}: {event}")));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn services_are_the_same_in_both_programs() {
    let (theirs, mut ours) = tokio::join!(phases(Maker::Theirs), phases(Maker::Ours));
    for (theirs, ours) in theirs.iter().zip(&mut ours).skip(1) {
        let left = theirs[NO_MORE]
            .facts
            .iter()
            .filter(|fact| fact.contains("/load-balancer-"));
        let left: Vec<_> = left.cloned().collect();
        assert_eq!(left.len(), 2, "{left:#?}");
        ours.get_mut(NO_MORE).unwrap().facts.extend(left);
    }
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert_eq!(differences(theirs, ours), [""; 0]);
    }
    // When Nodes join and leave, occm does not emit all events.
    for (theirs, ours) in theirs.iter().zip(&ours).take(2) {
        assert_eq!(only_reported_by_ours(theirs, ours), [""; 0]);
    }
}
