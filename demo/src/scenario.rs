//! The scenario, step by step. A step ends when the API server or the cloud shows its result.

use crate::{
    fixture::Fixture,
    kubelet,
    screen::{Screen, seconds},
};
use anyhow::{Result, ensure};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams},
    runtime::wait::await_condition,
};
use serde_json::json;
use std::time::{Duration, Instant};

const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// The defaults of `--leader-elect-lease-duration` and, twice because of its jitter, `--leader-elect-retry-period`: the lease
/// may have been renewed so long before the leader was killed.
const LEASE: Duration = Duration::from_secs(15);
const BETWEEN_RENEWALS: Duration = Duration::from_secs(4);

/// Runs all steps.
pub async fn run(screen: &Screen, fixture: &Fixture<'_>) -> Result<()> {
    let first = screen.step("three replicas of the manager", replicas(fixture)).await?;
    screen.step("three machines join", machines_join(fixture)).await?;
    screen
        .step(
            "the nodes are initialised",
            initialised(fixture, &["node-1", "node-2", "node-3"]),
        )
        .await?;
    screen.step("a Service gets an address", service(fixture)).await?;
    screen
        .step("a fourth machine becomes a backend", fourth(fixture))
        .await?;
    screen.step("routes appear", routes(fixture)).await?;
    screen.step("a machine is powered off", powered_off(fixture)).await?;
    screen.step("a machine is deleted", deleted(fixture)).await?;
    let second = screen.step("the leader is stopped", stopped(fixture, &first)).await?;
    screen.step("the leader is killed", killed(fixture, &second)).await?;
    screen.step("the Service is deleted", service_deleted(fixture)).await
}

async fn replicas(fixture: &Fixture<'_>) -> Result<(String, String)> {
    fixture.start_replica()?;
    let leader = fixture.leader_after("").await?;
    fixture.start_replica()?;
    fixture.start_replica()?;
    let done = format!("three replicas of the manager run; {leader} leads, two stand by");
    Ok((leader, done))
}

async fn machines_join(fixture: &Fixture<'_>) -> Result<((), String)> {
    let names = ["node-1", "node-2", "node-3"];
    try_join_all(names.map(|name| fixture.cloud.boot(name))).await?;
    for name in names {
        kubelet::join(&fixture.client, name).await?;
    }
    Ok((
        (),
        "three machines joined; their nodes are tainted: nothing may run on them yet".to_owned(),
    ))
}

async fn initialised(fixture: &Fixture<'_>, names: &[&str]) -> Result<((), String)> {
    let mut joined = Vec::new();
    for name in names {
        let is_initialised = |node: Option<&Node>| node.is_some_and(|node| !has_taint(node, UNINITIALIZED));
        let node = found(await_condition(nodes(fixture), name, is_initialised).await?)?;
        let label = |key: &str| node.labels().get(key).cloned().unwrap_or_default();
        let (zone, kind) = (
            label("topology.kubernetes.io/zone"),
            label("node.kubernetes.io/instance-type"),
        );
        let id = node
            .spec
            .as_ref()
            .and_then(|spec| spec.provider_id.clone())
            .unwrap_or_default();
        let ip = address(&node);
        ensure!(
            ![&zone, &kind, &id, &ip].iter().any(|text| text.is_empty()),
            "{name} lacks one of zone, type, ID and address"
        );
        joined.push(format!("{name} {ip}"));
    }
    // All of it would not fit into a line.
    let done = format!(
        "initialised: taint removed, zone, type and ID set; {}",
        joined.join(", ")
    );
    Ok(((), done))
}

async fn service(fixture: &Fixture<'_>) -> Result<((), String)> {
    let wanted = serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }))?;
    services(fixture).create(&PostParams::default(), &wanted).await?;
    let service = found(
        await_condition(services(fixture), "web", |service: Option<&Service>| {
            service.and_then(ingress).is_some()
        })
        .await?,
    )?;
    let hosts = fixture.cloud.backends().await?;
    ensure!(
        hosts == ["node-1", "node-2", "node-3"],
        "the load balancer's hosts are {hosts:?}"
    );
    Ok((
        (),
        format!(
            "Service web has the address {}, with {} backends",
            ingress(&service).unwrap_or_default(),
            hosts.len()
        ),
    ))
}

async fn fourth(fixture: &Fixture<'_>) -> Result<((), String)> {
    fixture.cloud.boot("node-4").await?;
    kubelet::join(&fixture.client, "node-4").await?;
    let joined = |hosts: &[String]| hosts.iter().any(|host| host == "node-4");
    fixture.cloud.until_backends(joined).await?;
    initialised(fixture, &["node-4"]).await?;
    Ok((
        (),
        "a fourth machine joined, was initialised and is a backend of web".to_owned(),
    ))
}

async fn routes(fixture: &Fixture<'_>) -> Result<((), String)> {
    let routes = fixture.cloud.until_routes(4).await?;
    for name in ["node-1", "node-2", "node-3", "node-4"] {
        let reachable = |node: Option<&Node>| node.is_some_and(|node| condition(node, "NetworkUnavailable") == "False");
        await_condition(nodes(fixture), name, reachable).await?;
    }
    Ok((
        (),
        format!(
            "every node has a pod range and the cloud a route to it: {}",
            routes.join(" ")
        ),
    ))
}

async fn powered_off(fixture: &Fixture<'_>) -> Result<((), String)> {
    fixture.cloud.power_off("node-2").await?;
    kubelet::ready(&fixture.client, "node-2", "Unknown").await?;
    await_condition(nodes(fixture), "node-2", |node: Option<&Node>| {
        node.is_some_and(|node| has_taint(node, SHUTDOWN))
    })
    .await?;
    Ok((
        (),
        "node-2 was powered off; it has the shutdown taint and is not deleted".to_owned(),
    ))
}

async fn deleted(fixture: &Fixture<'_>) -> Result<((), String)> {
    fixture.cloud.delete("node-3").await?;
    kubelet::ready(&fixture.client, "node-3", "Unknown").await?;
    await_condition(nodes(fixture), "node-3", |node: Option<&Node>| node.is_none()).await?;
    let left = |hosts: &[String]| hosts.iter().all(|host| host != "node-3");
    fixture.cloud.until_backends(left).await?;
    fixture.cloud.until_routes(3).await?;
    Ok((
        (),
        "node-3's machine was deleted; the node, its backend and its route are deleted, too".to_owned(),
    ))
}

async fn stopped(fixture: &Fixture<'_>, leader: &str) -> Result<(String, String)> {
    let start = Instant::now();
    fixture.signal(leader, "TERM")?;
    let next = fixture.leader_after(leader).await?;
    let took = start.elapsed();
    ensure!(
        took < Duration::from_secs(1),
        "the standby took {}: a clean stop should hand over in under a second",
        seconds(took)
    );
    Ok((
        next.clone(),
        format!("the leader was stopped; it released the lease, and {next} leads"),
    ))
}

async fn killed(fixture: &Fixture<'_>, leader: &str) -> Result<((), String)> {
    fixture.signal(leader, "KILL")?;
    let start = Instant::now();
    let next = fixture.leader_after(leader).await?;
    check_expiry(start.elapsed())?;
    Ok((
        (),
        format!("the leader was killed with -9; the lease expired, and {next} leads"),
    ))
}

/// A replica that leads earlier than this after the leader was killed did not wait until the lease expired.
fn check_expiry(took: Duration) -> Result<()> {
    ensure!(
        took + BETWEEN_RENEWALS >= LEASE,
        "the standby took only {}: it did not wait until the lease of {} expired",
        seconds(took),
        seconds(LEASE)
    );
    Ok(())
}

async fn service_deleted(fixture: &Fixture<'_>) -> Result<((), String)> {
    services(fixture).delete("web", &DeleteParams::default()).await?;
    await_condition(services(fixture), "web", |service: Option<&Service>| service.is_none()).await?;
    let left = fixture.cloud.service_objects().await?;
    ensure!(left.is_empty(), "something is left in the cloud: {left:?}");
    Ok((
        (),
        "Service web was deleted; nothing is left of it in the cloud".to_owned(),
    ))
}

fn nodes(fixture: &Fixture<'_>) -> Api<Node> {
    Api::all(fixture.client.clone())
}

fn services(fixture: &Fixture<'_>) -> Api<Service> {
    Api::namespaced(fixture.client.clone(), "default")
}

fn found<T>(object: Option<T>) -> Result<T> {
    object.ok_or_else(|| anyhow::anyhow!("it does not exist"))
}

fn has_taint(node: &Node, key: &str) -> bool {
    node.spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten())
        .any(|taint| taint.key == key)
}

fn condition(node: &Node, kind: &str) -> String {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|condition| condition.type_ == kind)
        .map(|condition| condition.status.clone())
        .next()
        .unwrap_or_default()
}

fn address(node: &Node) -> String {
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    addresses
        .filter(|address| address.type_ == "InternalIP")
        .map(|address| address.address.clone())
        .next()
        .unwrap_or_default()
}

/// The address of its load balancer, or its name.
fn ingress(service: &Service) -> Option<String> {
    let status = service.status.as_ref()?.load_balancer.as_ref()?;
    let first = status.ingress.as_ref()?.first()?;
    first.ip.clone().or_else(|| first.hostname.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_waits_until_the_lease_expires() {
        for (took, expired) in [(0, false), (10, false), (11, true), (16, true)] {
            assert_eq!(check_expiry(Duration::from_secs(took)).is_ok(), expired, "{took} s");
        }
    }
}
