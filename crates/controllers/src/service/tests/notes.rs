//! What a cloud wants to be noted on a Service.

use super::rig::Rig;
use crate::service::predicates::FINALIZER;
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

/// A cloud that puts the ID of a load balancer on its Service, takes it off again, and emits the events that it is
/// told to.
struct Scribe(Memory);

impl Provider for Scribe {
    fn name(&self) -> &'static str {
        "scribe"
    }

    fn instances(&self) -> &dyn Instances {
        self.0.instances()
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }
}

#[async_trait]
impl LoadBalancers for Scribe {
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

async fn rig() -> Rig {
    let mut rig = Rig::new().await;
    let cloud = rig.cloud.clone();
    rig.restart(|reconciler| reconciler.provider = Arc::new(Scribe(Memory::new(&cloud))));
    rig
}

fn annotations(service: &Service) -> BTreeMap<String, String> {
    service.metadata.annotations.clone().unwrap_or_default()
}

#[tokio::test]
async fn an_annotation_is_written_with_the_status_and_is_no_reason_to_ask_again() {
    let rig = rig().await;
    rig.create(load_balancer("web").annotation("example.org/mine", "kept"))
        .await;
    assert_eq!(rig.sync("web").await, Next::Done);
    assert_eq!(rig.calls(), ["ensure-load-balancer web"]);
    // The finalizer, and then all the rest.
    assert_eq!(rig.wire.patches().len(), 2);

    let written = rig.look("web").await.unwrap();
    let expected = [("example.org/mine", "kept"), (ID, "web")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(annotations(&written), expected.into());
    assert_eq!(rig.sync("web").await, Next::Done);
    assert_eq!(rig.calls(), [""; 0]);

    rig.change("web", json!({"metadata": {"annotations": {ID: "another"}}}))
        .await;
    rig.sync("web").await;
    assert_eq!(rig.calls(), ["ensure-load-balancer web"]);
    assert_eq!(annotations(&rig.look("web").await.unwrap())[ID], "web");
}

#[tokio::test]
async fn a_restart_writes_no_annotation_that_is_there() {
    let mut rig = rig().await;
    rig.create(load_balancer("web")).await;
    rig.sync("web").await;
    rig.look("web").await;
    let before = rig.wire.patches().len();
    rig.restart(|_| {});
    rig.sync("web").await;
    assert_eq!(rig.wire.patches().len(), before);
}

#[tokio::test]
async fn a_change_made_at_the_same_time_is_not_overlooked() {
    let rig = rig().await;
    rig.create(load_balancer("web")).await;
    // The reconciler has not seen this when it writes its annotation.
    rig.api()
        .patch(
            "web",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(json!({"spec": {"ports": [{"port": 81, "protocol": "TCP"}]}})),
        )
        .await
        .unwrap();
    rig.sync("web").await;
    rig.calls();
    rig.look("web").await;
    rig.sync("web").await;
    assert_eq!(rig.calls(), ["ensure-load-balancer web"]);
}

#[tokio::test]
async fn what_a_cloud_warns_of_is_told_once_and_in_its_name() {
    let mut rig = rig().await;
    rig.create(load_balancer("web").annotation("example.org/warn", "a cliff"))
        .await;
    rig.sync("web").await;
    let warnings = |rig: &mut Rig| {
        let events = rig.events().into_iter().filter(|event| event.reason == "Beware");
        events
            .map(|event| format!("{}: {}", event.component, event.message))
            .collect::<Vec<_>>()
    };
    assert_eq!(warnings(&mut rig), ["the-cloud: a cliff"]);
    rig.change("web", json!({"spec": {"ports": [{"port": 81, "protocol": "TCP"}]}}))
        .await;
    rig.sync("web").await;
    assert_eq!(warnings(&mut rig), [""; 0]);
    rig.change(
        "web",
        json!({"metadata": {"annotations": {"example.org/warn": "a reef"}}}),
    )
    .await;
    rig.sync("web").await;
    assert_eq!(warnings(&mut rig), ["the-cloud: a reef"]);
}

#[tokio::test]
async fn what_a_cloud_informs_of_is_a_normal_event() {
    let mut rig = rig().await;
    let service = load_balancer("web").annotation("example.org/warn", "a cliff");
    rig.create(service.annotation("example.org/inform", "a harbour")).await;
    rig.sync("web").await;
    let events = rig.events().into_iter().filter(|event| event.component == "the-cloud");
    let events: Vec<_> = events
        .map(|event| format!("{:?} {} {}", event.kind, event.reason, event.message))
        .collect();
    assert_eq!(events, ["Warning Beware a cliff", "Normal Changed a harbour"]);
}

#[tokio::test]
async fn an_annotation_goes_with_its_load_balancer() {
    let rig = rig().await;
    rig.create(load_balancer("retyped")).await;
    rig.sync("retyped").await;
    rig.look("retyped").await;
    rig.change("retyped", json!({"spec": {"type": "ClusterIP"}})).await;
    assert_eq!(rig.sync("retyped").await, Next::Done);
    let plain = rig.look("retyped").await.unwrap();
    assert_eq!(annotations(&plain), BTreeMap::default());

    rig.create(load_balancer("deleted").finalizer(FINALIZER)).await;
    rig.sync("deleted").await;
    rig.api().delete("deleted", &DeleteParams::default()).await.unwrap();
    rig.look("deleted").await;
    assert_eq!(rig.sync("deleted").await, Next::Done);
    assert!(rig.look("deleted").await.is_none());
}
