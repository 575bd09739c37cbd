//! Annotations and events of a cloud on a Service.

use super::fixture::Fixture;
use crate::service::spec::predicates::FINALIZER;
use async_trait::async_trait;
use cloud::{Instances, LoadBalancers, Noted, Owned, Progress, Provider, Result as CloudResult, Spec, Status};
use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;
use memory::Memory;
use runtime::queue::Next;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};
use testkit::service::load_balancer;

const ID: &str = "example.org/load-balancer-id";

/// A cloud that annotates a Service with the ID of its load balancer, and emits events from annotations.
struct Annotator(Memory);

impl Provider for Annotator {
    fn name(&self) -> &'static str {
        "annotator"
    }

    fn instances(&self) -> &dyn Instances {
        self.0.instances()
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }
}

#[async_trait]
impl LoadBalancers for Annotator {
    async fn find(&self, spec: &Spec) -> CloudResult<Option<Status>> {
        LoadBalancers::find(&self.0, spec).await
    }

    async fn ensure(&self, spec: &Spec) -> CloudResult<Noted<Progress<Status>>> {
        let mut noted = self.0.ensure(spec).await?;
        noted.notes.annotate(ID, spec.service.name.clone());
        if let Some(what) = spec.annotations.get("example.org/warn") {
            noted.notes.warn("Beware", what);
        }
        if let Some(what) = spec.annotations.get("example.org/inform") {
            noted.notes.inform("Changed", what);
        }
        Ok(noted)
    }

    async fn delete(&self, spec: &Spec) -> CloudResult<Noted<Progress<()>>> {
        let mut noted = LoadBalancers::delete(&self.0, spec).await?;
        noted.notes.remove(ID);
        Ok(noted)
    }

    async fn owned(&self, cluster: &str) -> CloudResult<Vec<Owned>> {
        self.0.owned(cluster).await
    }
}

async fn annotated() -> Fixture {
    let mut fixture = Fixture::new().await;
    let cloud = fixture.cloud.clone();
    fixture.restart(|reconciler| reconciler.provider = Arc::new(Annotator(Memory::new(&cloud))));
    fixture
}

fn annotations(service: &Service) -> BTreeMap<String, String> {
    service.metadata.annotations.clone().unwrap_or_default()
}

#[tokio::test]
async fn an_annotation_is_written_with_the_status_and_causes_no_call() {
    let fixture = annotated().await;
    fixture
        .create(load_balancer("web").annotation("example.org/mine", "kept"))
        .await;
    assert_eq!(fixture.reconcile("web").await, Next::Done);
    assert_eq!(fixture.calls(), ["ensure-load-balancer web"]);
    // The finalizer, and then the rest.
    assert_eq!(fixture.patches.count(), 2);

    let written = fixture.refresh("web").await.unwrap();
    let expected = [("example.org/mine", "kept"), (ID, "web")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(annotations(&written), expected.into());
    assert_eq!(fixture.reconcile("web").await, Next::Done);
    assert_eq!(fixture.calls(), [""; 0]);

    fixture
        .change("web", json!({"metadata": {"annotations": {ID: "another"}}}))
        .await;
    fixture.reconcile("web").await;
    assert_eq!(fixture.calls(), ["ensure-load-balancer web"]);
    assert_eq!(annotations(&fixture.refresh("web").await.unwrap())[ID], "web");
}

#[tokio::test]
async fn a_restart_writes_no_existing_annotation() {
    let mut fixture = annotated().await;
    fixture.create(load_balancer("web")).await;
    fixture.reconcile("web").await;
    fixture.refresh("web").await;
    let before = fixture.patches.count();
    fixture.restart(|_| {});
    fixture.reconcile("web").await;
    assert_eq!(fixture.patches.count(), before);
}

#[tokio::test]
async fn a_concurrent_change_is_not_lost() {
    let fixture = annotated().await;
    fixture.create(load_balancer("web")).await;
    // Not cached when the annotation is written.
    fixture
        .api()
        .patch(
            "web",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(json!({"spec": {"ports": [{"port": 81, "protocol": "TCP"}]}})),
        )
        .await
        .unwrap();
    fixture.reconcile("web").await;
    fixture.calls();
    fixture.refresh("web").await;
    fixture.reconcile("web").await;
    assert_eq!(fixture.calls(), ["ensure-load-balancer web"]);
}

#[tokio::test]
async fn a_warning_of_the_cloud_is_emitted_once_with_its_source() {
    let mut fixture = annotated().await;
    fixture
        .create(load_balancer("web").annotation("example.org/warn", "a cliff"))
        .await;
    fixture.reconcile("web").await;
    let warnings = |fixture: &mut Fixture| {
        let events = fixture.events().into_iter().filter(|event| event.reason == "Beware");
        events
            .map(|event| format!("{}: {}", event.component, event.message))
            .collect::<Vec<_>>()
    };
    assert_eq!(warnings(&mut fixture), ["the-cloud: a cliff"]);
    fixture
        .change("web", json!({"spec": {"ports": [{"port": 81, "protocol": "TCP"}]}}))
        .await;
    fixture.reconcile("web").await;
    assert_eq!(warnings(&mut fixture), [""; 0]);
    fixture
        .change(
            "web",
            json!({"metadata": {"annotations": {"example.org/warn": "a reef"}}}),
        )
        .await;
    fixture.reconcile("web").await;
    assert_eq!(warnings(&mut fixture), ["the-cloud: a reef"]);
}

#[tokio::test]
async fn information_of_the_cloud_is_a_normal_event() {
    let mut fixture = annotated().await;
    let service = load_balancer("web").annotation("example.org/warn", "a cliff");
    fixture
        .create(service.annotation("example.org/inform", "a harbour"))
        .await;
    fixture.reconcile("web").await;
    let events = fixture
        .events()
        .into_iter()
        .filter(|event| event.component == "the-cloud");
    let events: Vec<_> = events
        .map(|event| format!("{:?} {} {}", event.kind, event.reason, event.message))
        .collect();
    assert_eq!(events, ["Warning Beware a cliff", "Normal Changed a harbour"]);
}

#[tokio::test]
async fn an_annotation_is_removed_with_its_load_balancer() {
    let fixture = annotated().await;
    fixture.create(load_balancer("retyped")).await;
    fixture.reconcile("retyped").await;
    fixture.refresh("retyped").await;
    fixture.change("retyped", json!({"spec": {"type": "ClusterIP"}})).await;
    assert_eq!(fixture.reconcile("retyped").await, Next::Done);
    let plain = fixture.refresh("retyped").await.unwrap();
    assert_eq!(annotations(&plain), BTreeMap::default());

    fixture.create(load_balancer("deleted").finalizer(FINALIZER)).await;
    fixture.reconcile("deleted").await;
    fixture.api().delete("deleted", &DeleteParams::default()).await.unwrap();
    fixture.refresh("deleted").await;
    assert_eq!(fixture.reconcile("deleted").await, Next::Done);
    assert!(fixture.refresh("deleted").await.is_none());
}
