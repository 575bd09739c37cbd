//! A cluster on vSphere, for either program.

use crate::fixture::{self, Launch, Manager};
use k8s_openapi::api::core::v1::Node;
use kube::{
    ResourceExt,
    api::{ListParams, PostParams},
};
use lab::vsphere::VCenter;
use serde_json::{Value, json};
use std::{collections::BTreeMap, os::unix::fs::symlink, path::PathBuf, time::Duration};

const NAME: &str = "vsphere-cloud-controller-manager";

/// Both programs read everything once when they start, and retry what fails after five seconds; after so long without a call they have.
const SILENCE: Duration = Duration::from_secs(6);

/// Which program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// vsphere-cloud-controller-manager.
    Go,
    /// This one, under that name.
    Outrigger,
}

/// A control plane and a vCenter of its own.
pub struct Cluster {
    pub api: fixture::Fixture,
    pub vcenter: VCenter,
    config: PathBuf,
}

impl Cluster {
    pub async fn new() -> Self {
        let tags = &[
            ["k8s-zone", "zone-a", "/DC0/host/DC0_C0"],
            ["k8s-region", "region-1", "/DC0"],
        ];
        let vcenter = tokio::task::spawn_blocking(move || VCenter::start(tags))
            .await
            .unwrap()
            .unwrap();
        let api = fixture::Fixture::private().await;
        let labels = "labels: {zone: k8s-zone, region: k8s-region}\n";
        let config = api.folder.write("vsphere.yaml", &vcenter.cloud_config(labels));
        symlink(env!("CARGO_BIN_EXE_outrigger"), api.folder.path().join(NAME)).unwrap();
        Self { api, vcenter, config }
    }

    /// Starts a program; both understand the same flags.
    pub async fn start(&self, program: Program) -> Manager {
        let path = match program {
            Program::Go => tokio::task::spawn_blocking(lab::peer::vsphere).await.unwrap().unwrap(),
            Program::Outrigger => self.api.folder.path().join(NAME),
        };
        let launch = Launch::new(self.api.folder.path())
            .program(&path)
            .flag("--v=4")
            .flag("--cloud-provider=vsphere")
            .flag(&format!("--cloud-config={}", self.config.display()))
            .flag(&format!("--kubeconfig={}", self.api.plane().kubeconfig().display()))
            .flag("--cluster-name=kubernetes")
            .flag("--node-labels=example.com/platform=vsphere")
            .flag("--use-service-account-credentials=false")
            .flag("--configure-cloud-routes=false")
            .flag("--node-monitor-period=1s")
            .flag("--leader-elect=false")
            .flag("--secure-port=0");
        let launch = match program {
            Program::Go => launch,
            // The Go program deletes at once.
            Program::Outrigger => launch.flag("--node-deletion-grace-period=0s"),
        };
        launch.start()
    }

    /// Creates the Node of this name, from the words of [`testkit::node::node`].
    pub async fn register(&self, name: &str, words: &str) {
        let mut node = testkit::node::node(name, words);
        (node.metadata.uid, node.metadata.creation_timestamp) = (None, None);
        self.api.nodes().create(&PostParams::default(), &node).await.unwrap();
    }

    /// What a user sees of every Node, by name.
    pub async fn nodes(&self) -> BTreeMap<String, Value> {
        let nodes = self.api.nodes().list(&ListParams::default()).await.unwrap();
        nodes
            .items
            .iter()
            .map(|node| (node.name_any(), written(node)))
            .collect()
    }

    /// How many calls the vCenter has answered.
    pub async fn count_calls(&self) -> u64 {
        self.vcenter.calls().await.unwrap().values().sum()
    }

    /// Waits until the program calls the vCenter no more.
    pub async fn at_rest(&self, manager: &Manager) {
        loop {
            let before = self.count_calls().await;
            tokio::time::sleep(SILENCE).await;
            assert!(manager.ended().is_none(), "it ended{}", manager.log_tail());
            if self.count_calls().await == before {
                return;
            }
        }
    }
}

/// What both programs write on a Node. Ours also reports why one is not initialised, in a condition and an event.
fn written(node: &Node) -> Value {
    let (metadata, spec, status) = (json!(node.metadata), json!(node.spec), json!(node.status));
    json!([
        metadata["labels"],
        spec["providerID"],
        spec["taints"],
        status["addresses"]
    ])
}
