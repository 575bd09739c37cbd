//! The changes in a cluster without `OpenShift`.

use super::{Scenario, Snapshot};
use crate::{
    objects::kind,
    process_fixture::{ApiProxy, Folder, Manager},
    standalone::cluster::Cluster,
};
use kube::Client;
use serde_json::{Value, json};

/// The manager.
const NAME: &str = "lab";

/// What changes in a cluster while no operator runs.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// Nothing exists yet.
    Install,
    /// Fewer replicas, another argument, and another configuration.
    Update,
    /// Another cloud, with a configuration and credentials of its own, and other nodes.
    Switch,
    /// The manager is removed.
    Remove,
}

impl Change {
    /// The cluster before the change.
    async fn before(self, world: &mut Cluster) {
        world.move_on().await;
        world.config("cloud", "{}").await;
        if let Self::Install = self {
            return;
        }
        world.manager(NAME, spec()).await;
        let operator = start(world, None);
        operator
            .until("the beginning", async || Self::Install.is_done(world).await)
            .await;
    }

    async fn make(self, world: &Cluster) {
        let mut spec = spec();
        match self {
            Self::Install => {}
            Self::Update => {
                world.config("cloud", r#"{"machines": []}"#).await;
                spec["replicas"] = json!(1);
                spec["extraArgs"] = json!(["--node-monitor-period=10s"]);
            }
            Self::Switch => {
                let secret = kind("Secret");
                for name in ["cloud", "keys"] {
                    let data = json!({"stringData": {"cloud.conf": "[Global]\nuse-clouds=true\n", "clouds.yaml": "clouds: {}"}});
                    world.apply(&secret, &world.namespace, name, data).await;
                }
                spec = json!({
                    "provider": "openstack", "cloudConfig": {"secret": {"name": "cloud"}},
                    "credentials": {"secret": {"name": "keys"}}, "scope": {"providerIDSchemes": ["openstack"]},
                });
            }
            Self::Remove => spec["managementState"] = json!("Removed"),
        }
        world.manager(NAME, spec).await;
    }

    /// Whether the operator reports that everything is complete; simulates the cluster's other controllers.
    async fn is_done(self, world: &Cluster) -> Result<(), String> {
        match self {
            Self::Install | Self::Update | Self::Switch => world.is_rolled_out(NAME).await,
            Self::Remove => {
                let removed = ["Available=False Removed", "Degraded=False", "Progressing=False"];
                world.has_conditions(NAME, removed).await
            }
        }
    }
}

/// A cluster with a change.
pub struct Standalone {
    change: Change,
    world: Cluster,
}

impl Standalone {
    pub async fn new(change: Change) -> Self {
        Self {
            change,
            world: Cluster::new().await,
        }
    }
}

impl Scenario for Standalone {
    async fn begin(&mut self, _: Option<&Snapshot>) {
        self.change.before(&mut self.world).await;
        self.change.make(&self.world).await;
    }

    fn tools(&self) -> (&Client, &Folder) {
        (&self.world.client, &self.world.folder)
    }

    fn start(&self, proxy: Option<&ApiProxy>) -> Manager {
        start(&self.world, proxy)
    }

    async fn is_done(&self) -> Result<(), String> {
        self.change.is_done(&self.world).await
    }

    async fn settled(&self) {
        self.world.settled().await;
    }

    async fn snapshot(&self) -> Snapshot {
        self.world.snapshot(NAME).await
    }
}

fn spec() -> Value {
    let map = json!({"name": "cloud", "key": "cloud.conf"});
    json!({"provider": "memory", "cloudConfig": {"configMap": map}})
}

fn start(world: &Cluster, proxy: Option<&ApiProxy>) -> Manager {
    let launch = match proxy {
        Some(proxy) => world.operator_as(&proxy.kubeconfig),
        None => world.operator(),
    };
    launch.flag("--leader-elect=false").start()
}
