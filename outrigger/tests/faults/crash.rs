//! A leader that is killed, and replicas that try to lead at the same time: the end is that of an undisturbed run.

use crate::{
    fixture::{Entry, Fixture, Mark, is_initialised, service_address},
    replica::{ALONE, Replica, SHORT},
};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt;
use memory_sim::{Cloud, Fault};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use testkit::wait::until;

const NODES: usize = 30;
const SERVICES: usize = 8;

/// Creates machines and Services in turn.
async fn arrive(fixture: &Fixture) {
    for n in 0..NODES {
        fixture.join(&format!("node-{n}")).await;
        if n < SERVICES {
            fixture.create(fixture.balanced(&format!("web-{n}"))).await;
        }
    }
}

/// Waits until everything is complete.
async fn settled(fixture: &Fixture) {
    fixture.all_initialised(NODES).await;
    fixture.all_served(SERVICES).await;
    fixture
        .all_have_hosts((0..NODES).map(|n| fixture.named(&format!("node-{n}"))).collect())
        .await;
}

/// The end state, without the parts that differ between fixtures.
async fn outcome(fixture: &Fixture) -> BTreeMap<String, Value> {
    let nodes = fixture
        .own_nodes()
        .await
        .into_iter()
        .map(|node| (node.name_any(), node_outcome(&node)));
    let services = fixture.own_services().await.into_iter();
    let services = services.map(|service| (service.name_any(), service_outcome(fixture, &service)));
    let all: BTreeMap<String, Value> = nodes.chain(services).collect();
    serde_json::from_str(&json!(all).to_string().replace(&fixture.name, "fixture")).unwrap()
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

fn service_outcome(fixture: &Fixture, service: &Service) -> Value {
    let balancers = fixture.cloud.load_balancers().into_iter();
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

/// Slow enough that many operations are in progress at any time.
fn slow(cloud: &Cloud) {
    cloud.configure(|settings| settings.provisioning = Duration::from_secs(1));
    cloud.inject(Fault::delay(Duration::from_millis(100)));
}

async fn undisturbed() -> BTreeMap<String, Value> {
    let fixture = Fixture::shared().await;
    slow(&fixture.cloud);
    let _alone = Replica::start(&fixture, &[ALONE]).await;
    arrive(&fixture).await;
    settled(&fixture).await;
    outcome(&fixture).await
}

async fn killed_in_the_middle() -> BTreeMap<String, Value> {
    let fixture = Fixture::shared().await;
    slow(&fixture.cloud);
    let leader = Replica::start(&fixture, &SHORT).await;
    leader.leading().await;
    let standby = Replica::start(&fixture, &SHORT).await;
    standby.stands_by().await;
    let kill = async {
        fixture.cloud_until(|cloud| cloud.load_balancers().len() >= 4).await;
        assert_eq!(
            standby.changes(&fixture, Mark::default()),
            [""; 0],
            "it wrote while another one led"
        );
        leader.signal("KILL");
        let (nodes, services) = (fixture.own_nodes().await, fixture.own_services().await);
        assert!(nodes.len() < NODES || !nodes.iter().all(is_initialised), "all was done");
        assert!(
            services.iter().any(|service| service_address(service).is_none()),
            "all was done"
        );
    };
    tokio::join!(arrive(&fixture), kill);
    standby.leading().await;
    settled(&fixture).await;
    assert_eq!(fixture.balancers_made(), SERVICES, "a load balancer was made twice");
    let outcome = outcome(&fixture).await;
    for service in fixture.own_services().await {
        fixture.delete_service(&service.name_any()).await;
    }
    fixture.no_services().await;
    assert_eq!(fixture.cloud.load_balancers(), [], "a load balancer was left behind");
    outcome
}

#[tokio::test]
async fn after_a_killed_leader_the_work_is_finished_once_and_nothing_is_leaked() {
    let (disturbed, undisturbed) = tokio::join!(killed_in_the_middle(), undisturbed());
    assert_eq!(disturbed, undisturbed);
}

#[tokio::test]
async fn of_three_replicas_started_at_once_exactly_one_works() {
    let fixture = Fixture::shared().await;
    let replicas = [
        Replica::start(&fixture, &[]).await,
        Replica::start(&fixture, &[]).await,
        Replica::start(&fixture, &[]).await,
    ];
    fixture.holder_after("").await;
    for n in 0..10 {
        fixture.join(&format!("node-{n}")).await;
    }
    fixture.create(fixture.balanced("web")).await;
    fixture.all_initialised(10).await;
    fixture.all_served(1).await;
    for replica in &replicas {
        tried_again(&fixture, replica).await;
    }
    fixture.audited().await;
    let wrote = replicas
        .iter()
        .map(|replica| replica.changes(&fixture, Mark::default()));
    let wrote: Vec<_> = wrote.filter(|wrote| !wrote.is_empty()).collect();
    assert_eq!(wrote.len(), 1, "{wrote:?}");
    let asked = replicas.iter().filter(|replica| !replica.server.writes().is_empty());
    assert_eq!(asked.count(), 1, "two of them changed the cloud");
    let patches = wrote[0].iter().filter(|write| write.starts_with("patch nodes"));
    assert_eq!(patches.count(), 20, "two patches a node");
    assert_eq!(fixture.balancers_made(), 1);
}

/// Waits until a replica has checked the lease a few times, whether or not it is the holder.
async fn tried_again(fixture: &Fixture, replica: &Replica) {
    let is_try = |entry: &&Entry| entry.resource == "leases";
    let tries = || replica.requests(fixture, Mark::default()).iter().filter(is_try).count();
    let look = async || if tries() > 3 { Ok(()) } else { Err(tries()) };
    until("it to try to lead again", look).await;
}
