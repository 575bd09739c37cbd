//! One Service at a time, on a real API server.

use super::fixture::{Fixture, condition, ingress};
use crate::service::{
    hosts::HostSet,
    spec::predicates::{self, FINALIZER},
};
use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;
use memory::{Failure, Fault, Operation};
use rstest::rstest;
use runtime::queue::Next;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use testkit::service::{Builder, cluster_ip, load_balancer, port};

/// How the Service is prepared.
enum Given {
    New(Box<Builder>),
    /// It had a load balancer, and then its type was changed.
    Retyped,
    /// It had a load balancer, and then it was deleted.
    Deleted,
}

fn new(service: Builder) -> Given {
    Given::New(Box::new(service))
}

// upstream: TestSyncLoadBalancerIfNeeded
#[rstest]
#[case("doesn't want LB (ClusterIP)", new(cluster_ip("s")), "nothing", &[], 0)]
#[case("udp wants LB", new(load_balancer("s").ports([port("UDP", 80)])), "ensure", &["ensure-load-balancer s"], 2)]
#[case("tcp", new(load_balancer("s")), "ensure", &["ensure-load-balancer s"], 2)]
#[case("sctp", new(load_balancer("s").ports([port("SCTP", 80)])), "ensure", &["ensure-load-balancer s"], 2)]
#[case("specifies loadBalancerClass", new(load_balancer("s").class("example.com/custom")), "nothing", &[], 0)]
#[case("finalizer but ClusterIP", Given::Retyped, "delete", &["delete-load-balancer s"], 2)]
#[case("needs cleanup", Given::Deleted, "delete", &["delete-load-balancer s"], 2)]
#[case("finalizer present and wants LB", new(load_balancer("s").finalizer(FINALIZER)), "ensure", &["ensure-load-balancer s"], 1)]
#[tokio::test]
async fn syncs_if_needed(
    #[case] name: &str,
    #[case] given: Given,
    #[case] step: &str,
    #[case] calls: &[&str],
    #[case] patches: usize,
) {
    let fixture = Fixture::new().await;
    let service = prepare(&fixture, given).await;
    let no_hosts = HostSet::of([], |_| true);
    let planned = fixture.reconciler.plan(&fixture.key("s"), Some(&service), &no_hosts);
    assert_eq!(planned.to_string(), step, "{name}");
    assert_eq!(fixture.reconcile("s").await, Next::Done, "{name}");
    assert_eq!(fixture.calls(), calls, "{name}");
    assert_eq!(fixture.patches.count(), patches, "{name}");
    if step == "ensure" {
        assert_created(&fixture, &service).await;
    } else {
        assert!(fixture.cloud.load_balancers().is_empty(), "{name}");
    }
}

async fn prepare(fixture: &Fixture, given: Given) -> Arc<Service> {
    if let Given::New(service) = given {
        return fixture.create(*service).await;
    }
    fixture.create(load_balancer("s")).await;
    fixture.reconcile("s").await;
    if let Given::Deleted = given {
        fixture.api().delete("s", &DeleteParams::default()).await.unwrap();
    } else {
        fixture.change("s", json!({"spec": {"type": "ClusterIP"}})).await;
    }
    fixture.calls();
    fixture.patches.clear();
    fixture.refresh("s").await.unwrap()
}

async fn assert_created(fixture: &Fixture, service: &Service) {
    let balancer = fixture
        .cloud
        .load_balancer(service.metadata.uid.as_ref().unwrap())
        .unwrap();
    assert_eq!(
        balancer.name,
        cloud::default_name(service.metadata.uid.as_ref().unwrap())
    );
    assert_eq!(balancer.ports[0].port, 80);
    let after = fixture.refresh("s").await.unwrap();
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
    let fixture = Fixture::new().await;
    let at = |ip: &str| load_balancer("s").spec(|spec| spec.load_balancer_ip = Some(ip.to_owned()));
    fixture.create(at("198.18.0.1")).await;
    assert_eq!(fixture.reconcile("s").await, Next::Done, "{name}");
    if let Some(ip) = moved_to {
        fixture.change("s", json!({"spec": {"loadBalancerIP": ip}})).await;
        assert_eq!(fixture.reconcile("s").await, Next::Done, "{name}");
    }
    let kept = fixture
        .reconciler
        .states
        .with(&fixture.key("s"), |state| state.service.clone())
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
    let mut fixture = Fixture::new().await;
    fixture.create(load_balancer("s").finalizer(FINALIZER)).await;
    fixture.patches.refuse(code, reason);
    assert_eq!(fixture.reconcile("s").await, next, "{name}");
    let failures = fixture
        .events()
        .into_iter()
        .filter(|event| event.reason == "SyncLoadBalancerFailed");
    assert_eq!(failures.map(|event| event.message).next().as_deref(), message, "{name}");
}

// upstream: TestSyncService
#[rstest]
#[case("key only in cache, not in lister")]
#[tokio::test]
async fn the_load_balancer_of_a_service_that_does_not_exist_is_deleted(#[case] name: &str) {
    let mut fixture = Fixture::new().await;
    fixture.create(load_balancer("s")).await;
    fixture.reconcile("s").await;
    fixture.reconciler.services.remove(&fixture.key("s"));
    fixture.reasons();
    assert_eq!(fixture.reconcile("s").await, Next::Done, "{name}");
    assert!(!fixture.has_state("s"), "{name}");
    assert_eq!(
        fixture.reasons(),
        ["DeletingLoadBalancer", "DeletedLoadBalancer"],
        "{name}"
    );
    assert!(fixture.cloud.load_balancers().is_empty(), "{name}");
}

// upstream: TestProcessServiceDeletion
#[rstest]
#[case("not cached", None, Next::Done, &[])]
#[case("cloud delete fails", Some(Failure::Unavailable("error Deleting the Loadbalancer".into())), Next::Retry, &["DeletingLoadBalancer", "DeleteLoadBalancerFailed"])]
#[case("success", Some(Failure::NotFound), Next::Done, &["DeletingLoadBalancer", "DeletedLoadBalancer"])]
#[tokio::test]
async fn deletes_for_a_service_that_does_not_exist(
    #[case] name: &str,
    #[case] failure: Option<Failure>,
    #[case] next: Next,
    #[case] reasons: &[&str],
) {
    let mut fixture = Fixture::new().await;
    if let Some(failure) = failure {
        fixture.create(load_balancer("s")).await;
        fixture.reconcile("s").await;
        fixture.reconciler.services.remove(&fixture.key("s"));
        if next == Next::Retry {
            fixture
                .cloud
                .inject(Fault::fail(failure).operation(Operation::DeleteLoadBalancer));
        }
    }
    fixture.reasons();
    assert_eq!(fixture.reconcile("s").await, next, "{name}");
    assert_eq!(fixture.has_state("s"), next == Next::Retry, "{name}");
    assert_eq!(fixture.reasons(), reasons, "{name}");
}

// upstream: TestServiceQueueDelay
#[rstest]
#[case("success", None, Next::Done)]
#[case("plain error", Some(Failure::Unavailable("no".into())), Next::Retry)]
#[case("RetryError 42 s", Some(Failure::Throttled { retry_after: Some(Duration::from_secs(42)) }), Next::After(Duration::from_secs(42)))]
#[tokio::test]
async fn retries_as_the_error_says(#[case] name: &str, #[case] failure: Option<Failure>, #[case] next: Next) {
    let fixture = Fixture::new().await;
    fixture.create(load_balancer("s")).await;
    for operation in [
        Operation::EnsureLoadBalancer,
        Operation::UpdateHosts,
        Operation::DeleteLoadBalancer,
    ] {
        fixture.cloud.withdraw_all();
        make_next(&fixture, operation).await;
        fixture.refresh("s").await;
        if let Some(failure) = &failure {
            fixture.cloud.inject(Fault::fail(failure.clone()));
        }
        assert_eq!(fixture.reconcile("s").await, next, "{name}: {operation}");
        assert_eq!(
            fixture.calls().last().unwrap().split(' ').next(),
            Some(operation.as_str()),
            "{name}"
        );
    }
}

/// Makes this operation the next one.
async fn make_next(fixture: &Fixture, operation: Operation) {
    match operation {
        Operation::UpdateHosts => {
            fixture.refresh("s").await;
            fixture.reconcile("s").await;
            fixture.set_nodes(&["node1"]);
        }
        Operation::DeleteLoadBalancer => drop(fixture.api().delete("s", &DeleteParams::default()).await.unwrap()),
        _ => {}
    }
}
