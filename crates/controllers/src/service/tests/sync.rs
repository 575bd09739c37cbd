//! One Service at a time, on a real API server.

use super::rig::Rig;
use crate::service::{
    conditions,
    hosts::HostSet,
    plan::Step,
    predicates::{self, FINALIZER},
    status,
};
use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use runtime::queue::Next;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use testkit::service::{Builder, cluster_ip, load_balancer, port};

pub fn condition(service: &Service) -> String {
    conditions::find(service)
        .map(|one| format!("{} {}", one.status, one.reason))
        .unwrap_or_default()
}

pub fn ingress(service: &Service) -> Vec<String> {
    status::of(service)
        .ingress
        .into_iter()
        .filter_map(|ingress| ingress.ip)
        .collect()
}

/// How the Service came to be as it is.
enum Story {
    New(Box<Builder>),
    /// It had a load balancer, and then its type was changed.
    Retyped,
    /// It had a load balancer, and then it was deleted.
    Deleted,
}

fn new(service: Builder) -> Story {
    Story::New(Box::new(service))
}

// upstream: TestSyncLoadBalancerIfNeeded
#[rstest]
#[case("doesn't want LB (ClusterIP)", new(cluster_ip("s")), "nothing", &[], 0)]
#[case("udp wants LB", new(load_balancer("s").ports([port("UDP", 80)])), "ensure", &["ensure-load-balancer s"], 2)]
#[case("tcp", new(load_balancer("s")), "ensure", &["ensure-load-balancer s"], 2)]
#[case("sctp", new(load_balancer("s").ports([port("SCTP", 80)])), "ensure", &["ensure-load-balancer s"], 2)]
#[case("specifies loadBalancerClass", new(load_balancer("s").class("example.com/custom")), "nothing", &[], 0)]
#[case("finalizer but ClusterIP", Story::Retyped, "clean up", &["delete-load-balancer s"], 2)]
#[case("needs cleanup", Story::Deleted, "clean up", &["delete-load-balancer s"], 2)]
#[case("finalizer present and wants LB", new(load_balancer("s").finalizer(FINALIZER)), "ensure", &["ensure-load-balancer s"], 1)]
#[tokio::test]
async fn syncs_if_needed(
    #[case] name: &str,
    #[case] story: Story,
    #[case] step: &str,
    #[case] calls: &[&str],
    #[case] patches: usize,
) {
    let rig = Rig::new().await;
    let service = tell(&rig, story).await;
    assert_eq!(plan(&rig, &service).to_string(), step, "{name}");
    assert_eq!(rig.sync("s").await, Next::Done, "{name}");
    assert_eq!(rig.calls(), calls, "{name}");
    assert_eq!(rig.wire.patches().len(), patches, "{name}");
    if step == "ensure" {
        assert_created(&rig, &service).await;
    } else {
        assert!(rig.cloud.load_balancers().is_empty(), "{name}");
    }
}

async fn tell(rig: &Rig, story: Story) -> Arc<Service> {
    if let Story::New(service) = story {
        return rig.create(*service).await;
    }
    rig.create(load_balancer("s")).await;
    rig.sync("s").await;
    if let Story::Deleted = story {
        rig.api().delete("s", &DeleteParams::default()).await.unwrap();
    } else {
        rig.change("s", json!({"spec": {"type": "ClusterIP"}})).await;
    }
    rig.calls();
    rig.wire.forget();
    rig.look("s").await.unwrap()
}

fn plan(rig: &Rig, service: &Service) -> Step {
    let nobody = HostSet::of([], |_| true).fingerprint();
    rig.reconciler
        .ledger
        .plan(&rig.key("s"), Some(service), &rig.reconciler.options.classes, nobody)
}

async fn assert_created(rig: &Rig, service: &Service) {
    let balancer = rig.cloud.load_balancer(service.metadata.uid.as_ref().unwrap()).unwrap();
    assert_eq!(
        balancer.name,
        cloud::default_name(service.metadata.uid.as_ref().unwrap())
    );
    assert_eq!(balancer.ports[0].port, 80);
    let after = rig.look("s").await.unwrap();
    assert!(predicates::has_finalizer(&after));
    assert_eq!(ingress(&after), [balancer.ips[0].to_string()]);
    assert_eq!(condition(&after), "True Ensured");
}

// upstream: TestProcessServiceCreateOrUpdate
#[rstest]
#[case("valid service", None)]
#[case("loadBalancerIP changed 192.168.1.1→.11", Some("198.18.0.11"))]
#[tokio::test]
async fn creates_or_updates(#[case] name: &str, #[case] moved_to: Option<&str>) {
    let rig = Rig::new().await;
    let at = |ip: &str| load_balancer("s").spec(|spec| spec.load_balancer_ip = Some(ip.to_owned()));
    rig.create(at("198.18.0.1")).await;
    assert_eq!(rig.sync("s").await, Next::Done, "{name}");
    if let Some(ip) = moved_to {
        rig.change("s", json!({"spec": {"loadBalancerIP": ip}})).await;
        assert_eq!(rig.sync("s").await, Next::Done, "{name}");
    }
    let kept = rig
        .reconciler
        .ledger
        .with(&rig.key("s"), |known| known.service.clone())
        .unwrap();
    let ip = kept.spec.as_ref().unwrap().load_balancer_ip.as_deref();
    assert_eq!(ip, Some(moved_to.unwrap_or("198.18.0.1")), "{name}");
}

// upstream: TestProcessServiceCreateOrUpdateK8sError
#[rstest]
#[case(
    "conflict",
    409,
    "Conflict",
    Next::Retry,
    Some("Error syncing load balancer: failed to update load balancer status: refused: Conflict")
)]
#[case("not found", 404, "NotFound", Next::Poll(Duration::ZERO), None)]
#[tokio::test]
async fn api_server_refuses(
    #[case] name: &str,
    #[case] code: u16,
    #[case] reason: &'static str,
    #[case] next: Next,
    #[case] message: Option<&str>,
) {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s").finalizer(FINALIZER)).await;
    rig.wire.refuse(code, reason);
    assert_eq!(rig.sync("s").await, next, "{name}");
    let failures = rig
        .events()
        .into_iter()
        .filter(|event| event.reason == "SyncLoadBalancerFailed");
    assert_eq!(failures.map(|event| event.message).next().as_deref(), message, "{name}");
}

// upstream: TestSyncService
#[rstest]
#[case("key only in cache, not in lister")]
#[tokio::test]
async fn a_service_that_vanished_is_deleted(#[case] name: &str) {
    let mut rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    rig.sync("s").await;
    rig.reconciler.services.remove(&rig.key("s"));
    rig.reasons();
    assert_eq!(rig.sync("s").await, Next::Done, "{name}");
    assert!(!rig.reconciler.ledger.knows(&rig.key("s")), "{name}");
    assert_eq!(rig.reasons(), ["DeletingLoadBalancer", "DeletedLoadBalancer"], "{name}");
    assert!(rig.cloud.load_balancers().is_empty(), "{name}");
}

// upstream: TestProcessServiceDeletion
#[rstest]
#[case("not cached", None, Next::Done, &[])]
#[case("cloud delete fails", Some(Failure::Unavailable("error Deleting the Loadbalancer".into())), Next::Retry, &["DeletingLoadBalancer", "DeleteLoadBalancerFailed"])]
#[case("success", Some(Failure::NotFound), Next::Done, &["DeletingLoadBalancer", "DeletedLoadBalancer"])]
#[tokio::test]
async fn deletes_what_is_gone(
    #[case] name: &str,
    #[case] failure: Option<Failure>,
    #[case] next: Next,
    #[case] reasons: &[&str],
) {
    let mut rig = Rig::new().await;
    if let Some(failure) = failure {
        rig.create(load_balancer("s")).await;
        rig.sync("s").await;
        rig.reconciler.services.remove(&rig.key("s"));
        if next == Next::Retry {
            rig.cloud
                .inject(Fault::fail(failure).operation(Operation::DeleteLoadBalancer));
        }
    }
    rig.reasons();
    assert_eq!(rig.sync("s").await, next, "{name}");
    assert_eq!(
        rig.reconciler.ledger.knows(&rig.key("s")),
        next == Next::Retry,
        "{name}"
    );
    assert_eq!(rig.reasons(), reasons, "{name}");
}

// upstream: TestServiceQueueDelay
#[rstest]
#[case("success", None, Next::Done)]
#[case("plain error", Some(Failure::Unavailable("no".into())), Next::Retry)]
#[case("RetryError 42 s", Some(Failure::Throttled { retry_after: Some(Duration::from_secs(42)) }), Next::After(Duration::from_secs(42)))]
#[tokio::test]
async fn retries_as_the_error_says(#[case] name: &str, #[case] failure: Option<Failure>, #[case] next: Next) {
    let rig = Rig::new().await;
    rig.create(load_balancer("s")).await;
    for operation in [
        Operation::EnsureLoadBalancer,
        Operation::UpdateHosts,
        Operation::DeleteLoadBalancer,
    ] {
        rig.cloud.withdraw_all();
        prepare(&rig, operation).await;
        rig.look("s").await;
        if let Some(failure) = &failure {
            rig.cloud.inject(Fault::fail(failure.clone()));
        }
        assert_eq!(rig.sync("s").await, next, "{name}: {operation}");
        assert_eq!(
            rig.calls().last().unwrap().split(' ').next(),
            Some(operation.as_str()),
            "{name}"
        );
    }
}

/// So that this operation is next.
async fn prepare(rig: &Rig, operation: Operation) {
    match operation {
        Operation::UpdateHosts => {
            rig.look("s").await;
            rig.sync("s").await;
            rig.set_nodes([super::node("node1", "")]);
        }
        Operation::DeleteLoadBalancer => drop(rig.api().delete("s", &DeleteParams::default()).await.unwrap()),
        _ => {}
    }
}
