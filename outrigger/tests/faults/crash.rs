//! A leader that is killed, and replicas that want to lead at the same time: the end is that of an undisturbed run.

use crate::{
    replica::{ALONE, Replica, SHORT},
    rig::{Entry, Mark, Rig, is_initialised, service_address},
};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt;
use memory::{Cloud, Fault};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use testkit::wait::until;

const NODES: usize = 30;
const SERVICES: usize = 8;

/// Machines and Services come one after the other.
async fn arrive(rig: &Rig) {
    for n in 0..NODES {
        rig.join(&format!("node-{n}")).await;
        if n < SERVICES {
            rig.create(rig.balanced(&format!("web-{n}"))).await;
        }
    }
}

/// Everything has come to an end.
async fn settled(rig: &Rig) {
    rig.all_initialised(NODES).await;
    rig.all_served(SERVICES).await;
    rig.all_have_hosts((0..NODES).map(|n| rig.named(&format!("node-{n}"))).collect())
        .await;
}

/// What became of everything, without what differs from rig to rig.
async fn outcome(rig: &Rig) -> BTreeMap<String, Value> {
    let nodes = rig
        .own_nodes()
        .await
        .into_iter()
        .map(|node| (node.name_any(), node_outcome(&node)));
    let services = rig.own_services().await.into_iter();
    let services = services.map(|service| (service.name_any(), service_outcome(rig, &service)));
    let all: BTreeMap<String, Value> = nodes.chain(services).collect();
    serde_json::from_str(&json!(all).to_string().replace(&rig.name, "rig")).unwrap()
}

fn node_outcome(node: &Node) -> Value {
    let (spec, status) = (node.spec.as_ref().unwrap(), node.status.as_ref().unwrap());
    let addresses = status.addresses.iter().flatten().map(|address| address.type_.as_str());
    json!({
        "labels": node.labels(),
        "taints": spec.taints,
        "hasProviderId": spec.provider_id.is_some(),
        "addresses": addresses.collect::<Vec<_>>(),
    })
}

fn service_outcome(rig: &Rig, service: &Service) -> Value {
    let balancers = rig.cloud.load_balancers().into_iter();
    let balancers = balancers.filter(|balancer| balancer.service.name == service.name_any());
    let balancers = balancers.map(|one| json!([one.host_names(), one.ports.len(), format!("{:?}", one.phase)]));
    let conditions = service
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let conditions = conditions.map(|condition| format!("{}={}", condition.type_, condition.status));
    json!({
        "finalizers": service.finalizers(),
        "hasAddress": service_address(service).is_some(),
        "conditions": conditions.collect::<Vec<_>>(),
        "balancers": balancers.collect::<Vec<_>>(),
    })
}

/// Slow enough that much is under way at any moment.
fn slow(cloud: &Cloud) {
    cloud.configure(|settings| settings.provisioning = Duration::from_secs(1));
    cloud.inject(Fault::delay(Duration::from_millis(100)));
}

async fn undisturbed() -> BTreeMap<String, Value> {
    let rig = Rig::shared().await;
    slow(&rig.cloud);
    let _alone = Replica::start(&rig, &[ALONE]).await;
    arrive(&rig).await;
    settled(&rig).await;
    outcome(&rig).await
}

async fn killed_in_the_middle() -> BTreeMap<String, Value> {
    let rig = Rig::shared().await;
    slow(&rig.cloud);
    let leader = Replica::start(&rig, &SHORT).await;
    leader.leading().await;
    let standby = Replica::start(&rig, &SHORT).await;
    standby.stands_by().await;
    let kill = async {
        rig.cloud_until(|cloud| cloud.load_balancers().len() >= 4).await;
        assert_eq!(
            standby.changes(&rig, Mark::default()),
            [""; 0],
            "it wrote while another one led"
        );
        leader.signal("KILL");
        let (nodes, services) = (rig.own_nodes().await, rig.own_services().await);
        assert!(nodes.len() < NODES || !nodes.iter().all(is_initialised), "all was done");
        assert!(
            services.iter().any(|service| service_address(service).is_none()),
            "all was done"
        );
    };
    tokio::join!(arrive(&rig), kill);
    standby.leading().await;
    settled(&rig).await;
    assert_eq!(rig.balancers_made(), SERVICES, "a load balancer was made twice");
    let outcome = outcome(&rig).await;
    for service in rig.own_services().await {
        rig.delete_service(&service.name_any()).await;
    }
    rig.no_services().await;
    assert_eq!(rig.cloud.load_balancers(), [], "a load balancer was left behind");
    outcome
}

#[tokio::test]
async fn a_leader_killed_in_the_middle_of_its_work_leaves_nothing_undone_doubled_or_behind() {
    let (disturbed, undisturbed) = tokio::join!(killed_in_the_middle(), undisturbed());
    assert_eq!(disturbed, undisturbed);
}

#[tokio::test]
async fn of_three_replicas_started_at_once_exactly_one_works() {
    let rig = Rig::shared().await;
    let replicas = [
        Replica::start(&rig, &[]).await,
        Replica::start(&rig, &[]).await,
        Replica::start(&rig, &[]).await,
    ];
    rig.holder_after("").await;
    for n in 0..10 {
        rig.join(&format!("node-{n}")).await;
    }
    rig.create(rig.balanced("web")).await;
    rig.all_initialised(10).await;
    rig.all_served(1).await;
    for replica in &replicas {
        tried_again(&rig, replica).await;
    }
    rig.audited().await;
    let wrote = replicas.iter().map(|replica| replica.changes(&rig, Mark::default()));
    let wrote: Vec<_> = wrote.filter(|wrote| !wrote.is_empty()).collect();
    assert_eq!(wrote.len(), 1, "{wrote:?}");
    let asked = replicas.iter().filter(|replica| !replica.door.writes().is_empty());
    assert_eq!(asked.count(), 1, "two of them changed the cloud");
    let patches = wrote[0].iter().filter(|write| write.starts_with("patch nodes"));
    assert_eq!(patches.count(), 20, "two patches a node");
    assert_eq!(rig.balancers_made(), 1);
}

/// Waits until a replica has looked after the lease a few times, whoever has it.
async fn tried_again(rig: &Rig, replica: &Replica) {
    let is_try = |entry: &&Entry| entry.resource == "leases";
    let tries = || replica.requests(rig, Mark::default()).iter().filter(is_try).count();
    let look = async || if tries() > 3 { Ok(()) } else { Err(tries()) };
    until("it to try to lead again", look).await;
}
