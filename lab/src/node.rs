//! A real node: kubelet, containerd and runc, on a control plane of ours.
//!
//! Everything is in one folder and ends with the process that started it, however that ends: processes, containers, mounts,
//! cgroups, network. Needs root, Debian's package tools, and for the network `ip`.

mod host;
mod kubelet;
mod packages;
mod pod_log;
mod runtime;

use crate::{ControlPlane, Patience, Purpose, process::Guarded, unique};
use anyhow::{Context, Result, bail};
use host::Undo;
use serde_json::{Value, json};
use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

const FOLDER: &str = "outrigger-node";
/// The longest time for which the kubelet may log nothing new before the node is ready.
const STALLED_AFTER: Duration = Duration::from_mins(1);

/// What a node is like. The default is one as a cloud controller manager finds it: tainted, and with no address but its name.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its name in the cluster.
    pub name: String,
    /// Who initialises it.
    pub cloud: Cloud,
    /// `--node-ip`; not a loopback one.
    pub ip: Option<IpAddr>,
    /// `spec.providerID`, as some installers give it to the kubelet.
    pub provider_id: Option<String>,
    /// Labels that an administrator gives it once it is registered, for example its role.
    pub labels: Vec<(String, String)>,
    /// What pods have that are not on the host's network.
    pub network: Network,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "lab-node".to_owned(),
            cloud: Cloud::External,
            ip: None,
            provider_id: None,
            labels: Vec::new(),
            network: Network::Bridge,
        }
    }
}

/// `--cloud-provider` of the kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloud {
    /// A cloud controller manager: the node is tainted until that has been there.
    External,
    /// None.
    None,
}

/// The network of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// An address for each pod and nothing more: no way out, no Services, no names.
    Bridge,
    /// None, as before a cluster's network is installed: the node stays not ready.
    None,
}

/// A running node. Dropping it stops it and removes everything it left on the machine, but not its Node object.
#[derive(Debug)]
pub struct Node {
    folder: PathBuf,
    options: Options,
    kubelet: Mutex<Option<Guarded>>,
    containerd: Option<Guarded>,
    // The last one: it waits for the others to be gone.
    undo: Undo,
}

/// Builds and fetches what a node needs and the cache lacks.
///
/// # Errors
/// If something cannot be fetched or built.
pub fn prepare() -> Result<()> {
    crate::assets::prepare(&["kubelet"])?;
    packages::folder()?;
    packages::pause_image().map(drop)
}

/// A control plane with its controllers, and one node.
#[derive(Debug)]
pub struct Cluster {
    /// The node; it ends first.
    pub node: Node,
    /// The control plane.
    pub plane: ControlPlane,
}

impl Cluster {
    /// Starts all of it, and waits until the node is there, and ready if it has a network.
    ///
    /// # Errors
    /// If something cannot be fetched, built or started; the message has the reason, for example that it needs root.
    pub fn start(options: Options) -> Result<Self> {
        host::require_root()?;
        let plane = ControlPlane::start_for(Purpose::Nodes)?;
        plane.start_controllers()?;
        let node = Node::start(&plane, options)?;
        Ok(Self { node, plane })
    }
}

impl Node {
    /// Starts a node of this control plane, which must be for [`Purpose::Nodes`], and waits until it is there, and ready if it
    /// has a network. Several nodes share the host's ports.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start(plane: &ControlPlane, options: Options) -> Result<Self> {
        host::require_root()?;
        host::sweep(&std::env::temp_dir(), FOLDER);
        let packages = packages::folder()?;
        let folder = std::env::temp_dir().join(unique(FOLDER));
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        let undo = Undo::prepare(&folder)?;
        let mut node = Self {
            folder,
            options,
            kubelet: Mutex::default(),
            containerd: None,
            undo,
        };
        node.containerd = Some(runtime::start(&node.folder, &packages, node.options.network)?);
        node.import_image(&packages::pause_image()?, packages::PAUSE)?;
        kubelet::configure(&node, plane)?;
        node.start_kubelet()?;
        node.wait_until_there(plane)?;
        host::restore_sysctls(&node.folder);
        node.label(plane)?;
        Ok(node)
    }

    /// Its name in the cluster.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// The folder with all its state and logs.
    pub fn dir(&self) -> &Path {
        &self.folder
    }

    /// The folder of static pods. A manifest must appear in it in one step, as [`Self::run_static_pod`] does it.
    pub fn manifests(&self) -> PathBuf {
        self.folder.join("manifests")
    }

    /// Gives the kubelet a static pod. It has no service account.
    ///
    /// # Errors
    /// If the manifest cannot be written.
    pub fn run_static_pod(&self, name: &str, manifest: &str) -> Result<()> {
        let unfinished = self.folder.join(format!("{name}.yaml"));
        fs::write(&unfinished, manifest)?;
        fs::rename(&unfinished, self.manifests().join(format!("{name}.yaml")))?;
        Ok(())
    }

    /// Loads an archive, as `docker save` or `make image` writes it, under this name, which begins with a host part
    /// (`localhost/outrigger:lab`). A pod needs `imagePullPolicy: Never`, or `IfNotPresent`.
    ///
    /// # Errors
    /// If containerd does not take it.
    pub fn import_image(&self, archive: &Path, name: &str) -> Result<()> {
        runtime::import(&self.folder, &packages::folder()?, archive, name)
    }

    /// The log of a container of a pod, with those of its earlier runs; empty if it has not started yet.
    pub fn pod_log(&self, namespace: &str, pod: &str, container: &str) -> String {
        pod_log::read(&self.folder.join("pods"), namespace, pod, container)
    }

    /// Kills the kubelet; its containers stay.
    pub fn stop_kubelet(&self) {
        drop(self.kubelet().take());
    }

    /// Starts the kubelet once more.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_kubelet(&self) -> Result<()> {
        *self.kubelet() = Some(kubelet::start(self)?);
        Ok(())
    }

    fn kubelet(&self) -> MutexGuard<'_, Option<Guarded>> {
        self.kubelet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until_there(&self, plane: &ControlPlane) -> Result<()> {
        let path = format!("/api/v1/nodes/{}", self.options.name);
        let mut patience = Patience::new(STALLED_AFTER);
        loop {
            let node: Option<Value> = plane.get(&path).and_then(|text| serde_json::from_str(&text).ok());
            let done = node.is_some_and(|node| self.options.network == Network::None || is_ready(&node));
            if done {
                return Ok(());
            }
            let kubelet = self.kubelet();
            let (running, tail) = kubelet.as_ref().map_or((false, String::new()), |kubelet| {
                (kubelet.is_running(), kubelet.log_tail(15))
            });
            if !running {
                bail!("the kubelet ended:\n{tail}");
            }
            if patience.is_over(&tail) {
                bail!("the node is not ready after {} s:\n{tail}", patience.waited().as_secs());
            }
            drop(kubelet);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A kubelet may not give itself a role.
    fn label(&self, plane: &ControlPlane) -> Result<()> {
        if self.options.labels.is_empty() {
            return Ok(());
        }
        let labels: serde_json::Map<String, Value> = self
            .options
            .labels
            .iter()
            .map(|(key, value)| (key.clone(), value.clone().into()))
            .collect();
        let request = http::Request::patch(format!("/api/v1/nodes/{}", self.options.name))
            .header("Content-Type", "application/merge-patch+json")
            .body(json!({"metadata": {"labels": labels}}).to_string().into_bytes())?;
        plane.request(request).context("cannot label the node").map(drop)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop_kubelet();
        drop(self.containerd.take());
        self.undo.now();
    }
}

fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
