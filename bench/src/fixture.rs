//! What every measurement needs: an API server, and the two programs.

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use lab::ControlPlane;
use serde_json::json;
use std::path::{Path, PathBuf};

const AT_ONCE: usize = 64;
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

const EXCLUDED: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// What a node may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Everything,
    /// Everything but being behind a load balancer.
    NoLoadBalancer,
}

/// An API server, the two programs, and how they reach the cloud.
pub struct Fixture {
    pub plane: ControlPlane,
    pub client: Client,
    /// `--cloud-provider`
    pub provider: &'static str,
    /// The environment variables of both programs.
    pub variables: Vec<(&'static str, &'static str)>,
    /// Further flags that make this version of the peer faster.
    pub tuned: &'static [&'static str],
    pub cloud_config: PathBuf,
    pub ours: PathBuf,
    pub peer: PathBuf,
}

/// The binary that is measured: this one, or by default the one beside this program.
pub fn binary(ours: Option<&Path>) -> Result<PathBuf> {
    match ours {
        Some(path) => path
            .canonicalize()
            .with_context(|| format!("there is no {}", path.display())),
        None => Ok(std::env::current_exe()?.with_file_name("outrigger")),
    }
}

impl Fixture {
    /// Starts the API server; `ours` is the binary that is measured, by default the one beside this program.
    pub async fn start(ours: Option<&Path>, peer: PathBuf, provider: &'static str) -> Result<Self> {
        let ours = binary(ours)?;
        let plane = tokio::task::spawn_blocking(ControlPlane::start).await??;
        Ok(Self {
            client: plane.client(),
            cloud_config: plane.dir().join("cloud.conf"),
            plane,
            provider,
            variables: Vec::new(),
            tuned: &[],
            ours,
            peer,
        })
    }

    /// All nodes.
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// The Services of the benchmark.
    pub fn services(&self) -> Api<Service> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Nodes that have joined: tainted, ready, and of a size as they are in the field.
    pub async fn register(&self, names: &[String]) -> Result<()> {
        self.register_for(names, Use::Everything).await
    }

    /// The same, for this use.
    pub async fn register_for(&self, names: &[String], used: Use) -> Result<()> {
        stream::iter(names)
            .map(|name| async move {
                self.nodes().create(&PostParams::default(), &node(name, used)?).await?;
                self.nodes()
                    .patch_status(name, &PatchParams::default(), &Patch::Strategic(status()))
                    .await?;
                Ok::<_, anyhow::Error>(())
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Services of type `LoadBalancer` with so many ports.
    pub async fn publish(&self, names: &[String], ports: u16) -> Result<()> {
        self.publish_as(names, ports, None).await
    }

    /// The same, of a class.
    pub async fn publish_as(&self, names: &[String], ports: u16, class: Option<&str>) -> Result<()> {
        stream::iter(names)
            .map(|name| async move {
                let ports: Vec<_> = (80..80 + ports)
                    .map(|port| json!({"name": format!("p{port}"), "port": port}))
                    .collect();
                let service = serde_json::from_value(json!({
                    "metadata": {"name": name, "labels": {"app": name}},
                    "spec": {"type": "LoadBalancer", "loadBalancerClass": class, "selector": {"app": name}, "ports": ports},
                }))?;
                self.services().create(&PostParams::default(), &service).await?;
                Ok::<_, anyhow::Error>(())
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Waits until no node has the taint, or what is to do that has ended.
    pub async fn initialised(&self, check: impl Fn() -> Result<()>) -> Result<()> {
        let mut watch = std::pin::pin!(kube::runtime::watcher(
            self.nodes(),
            kube::runtime::watcher::Config::default()
        ));
        let mut tainted = std::collections::BTreeSet::new();
        let mut listed = Listed::No;
        while let Some(event) = watch.try_next().await? {
            use kube::runtime::watcher::Event;
            match event {
                Event::Apply(node) | Event::InitApply(node) => {
                    let name = node.metadata.name.clone().unwrap_or_default();
                    if is_tainted(&node) {
                        tainted.insert(name)
                    } else {
                        tainted.remove(&name)
                    };
                }
                Event::InitDone => listed = Listed::Yes,
                Event::Delete(_) | Event::Init => {}
            }
            if matches!(listed, Listed::Yes) && tainted.is_empty() {
                return Ok(());
            }
            check()?;
        }
        anyhow::bail!("the watch ended")
    }

    /// Removes all nodes and Services, whatever holds them, and the lease.
    pub async fn clear_cluster(&self) -> Result<()> {
        for service in self.services().list(&ListParams::default()).await? {
            let name = service.metadata.name.context("no name")?;
            let open = json!({"metadata": {"finalizers": null}});
            self.services()
                .patch(&name, &PatchParams::default(), &Patch::Merge(open))
                .await?;
            if name != "kubernetes" {
                self.services().delete(&name, &DeleteParams::default()).await?;
            }
        }
        self.nodes()
            .delete_collection(&DeleteParams::default(), &ListParams::default())
            .await?;
        let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
            Api::namespaced(self.client.clone(), "kube-system");
        leases
            .delete("cloud-controller-manager", &DeleteParams::default())
            .await
            .map(drop)
            .or_else(gone)?;
        Ok(())
    }
}

enum Listed {
    Yes,
    No,
}

fn gone(error: kube::Error) -> Result<(), kube::Error> {
    match error {
        kube::Error::Api(status) if status.code == 404 => Ok(()),
        other => Err(other),
    }
}

fn is_tainted(node: &Node) -> bool {
    node.spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten())
        .any(|taint| taint.key == UNINITIALIZED)
}

fn node(name: &str, used: Use) -> Result<Node> {
    let mut labels =
        json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"});
    if used == Use::NoLoadBalancer {
        labels[EXCLUDED] = json!("");
    }
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]},
    }))?)
}

/// As much as a kubelet reports: conditions, capacity, and forty images.
fn status() -> serde_json::Value {
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": format!("Kubelet{kind}"), "message": format!("kubelet says {kind} is {status}"),
               "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let images: Vec<_> = (0..40)
        .map(|n| json!({"names": [format!("registry.example/team/image-{n}@sha256:{n:064}"), format!("registry.example/team/image-{n}:v1.{n}")], "sizeBytes": 1_000_000 * n}))
        .collect();
    let resources = json!({"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"});
    json!({"status": {
        "conditions": [condition("Ready", "True"), condition("MemoryPressure", "False"), condition("DiskPressure", "False"), condition("PIDPressure", "False")],
        "capacity": resources, "allocatable": resources, "images": images,
        "nodeInfo": {"machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.1", "osImage": "Linux", "containerRuntimeVersion": "containerd://2.0",
                     "kubeletVersion": "v1.35.4", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64"},
    }})
}
