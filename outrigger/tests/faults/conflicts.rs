//! Another client writes the same objects continuously.

use crate::{
    fixture::{Fixture, TAINT, is_initialised},
    replica::{ALONE, Replica},
};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const NODES: usize = 8;

/// A client that writes a Node as fast as possible.
struct Storm {
    task: JoinHandle<()>,
    written: Arc<AtomicU32>,
    stop: CancellationToken,
}

impl Storm {
    fn over(nodes: Api<Node>, name: String) -> Self {
        let (written, stop) = (Arc::<AtomicU32>::default(), CancellationToken::new());
        let task = tokio::spawn(blow(nodes, name, written.clone(), stop.clone()));
        Self { task, written, stop }
    }

    fn written(&self) -> u32 {
        self.written.load(Ordering::Relaxed)
    }

    async fn ends(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// Writes a label, and a taint that is added before the others and removed again.
async fn blow(nodes: Api<Node>, name: String, written: Arc<AtomicU32>, stop: CancellationToken) {
    let label = |n: u32| json!({"op": "add", "path": "/metadata/labels/storm", "value": n.to_string()});
    let taint = json!({"op": "add", "path": "/spec/taints/0", "value": {"key": "storm", "effect": "NoSchedule"}});
    let untaint = json!({"op": "remove", "path": "/spec/taints/0"});
    for n in 0.. {
        let patch = json!([label(n), if n % 2 == 0 { &taint } else { &untaint }]);
        let patch: Patch<()> = Patch::Json(serde_json::from_value(patch).unwrap());
        nodes.patch(&name, &PatchParams::default(), &patch).await.unwrap();
        written.store(n, Ordering::Relaxed);
        if stop.is_cancelled() && n % 2 == 1 {
            return;
        }
    }
}

fn taints(node: &Node) -> Vec<&str> {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.map(|taint| taint.key.as_str()).collect()
}

#[tokio::test]
async fn nodes_are_initialised_while_another_client_writes_them() {
    let fixture = Fixture::shared().await;
    let mut storms = Vec::new();
    for n in 0..NODES {
        let name = fixture.named(&format!("node-{n}"));
        fixture.cloud.boot(&name);
        fixture
            .register(&format!("node-{n}"), "taint:mine tainted taint:too ready:True mine=yes")
            .await;
        storms.push(Storm::over(fixture.nodes(), name));
    }
    let manager = Replica::start(&fixture, &[ALONE]).await;
    manager.logged("started controller").await;
    let before: Vec<_> = storms.iter().map(Storm::written).collect();
    fixture.all_initialised(NODES).await;
    for (storm, before) in storms.into_iter().zip(before) {
        assert!(storm.written() > before, "that was no storm");
        storm.ends().await;
    }
    for node in fixture.own_nodes().await {
        assert!(is_initialised(&node));
        assert_eq!(
            taints(&node),
            ["mine", "too", "node.kubernetes.io/not-ready"],
            "{TAINT} went, and nothing else"
        );
        assert_eq!(node.labels()["mine"], "yes");
        assert!(node.labels().contains_key("storm") && node.labels().contains_key("topology.kubernetes.io/zone"));
        assert!(node.spec.unwrap().provider_id.is_some());
        assert!(
            node.status
                .unwrap()
                .addresses
                .is_some_and(|addresses| !addresses.is_empty())
        );
    }
}

/// Changes a Service's port and an annotation many times, and returns the last port.
async fn shake(services: &Api<Service>, name: &str) -> u16 {
    let ports = 1000..1150;
    for port in ports.clone() {
        let annotations = json!({"shaken": port.to_string()});
        let spec = json!({"ports": [{"port": port, "protocol": "TCP"}]});
        let change = Patch::Merge(json!({"metadata": {"annotations": annotations}, "spec": spec}));
        services.patch(name, &PatchParams::default(), &change).await.unwrap();
    }
    ports.end - 1
}

#[tokio::test]
async fn a_service_that_changes_continuously_ends_in_its_last_state() {
    let fixture = Fixture::shared().await;
    let manager = Replica::start(&fixture, &[ALONE]).await;
    let node = fixture.join("node").await;
    fixture.initialised(&manager, &node).await;
    let name = fixture.create(fixture.balanced("web")).await.name_any();
    let last = shake(&fixture.services(), &name).await;
    fixture.has_port(last).await;
    let service = fixture.served(&manager, &name).await;
    assert_eq!(service.annotations()["shaken"], last.to_string());
    assert_eq!(service.finalizers().len(), 1);
    assert_eq!(service.spec.unwrap().ports.unwrap().len(), 1);
    assert_eq!(fixture.balancers_made(), 1);
    fixture.delete_service(&name).await;
    fixture.no_services().await;
    assert_eq!(fixture.cloud.load_balancers(), []);
}
