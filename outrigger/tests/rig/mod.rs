//! The world of a manager under test: a control plane, a cloud, and the program itself as a process.
//!
//! Start with [`Rig::shared`]. Everything of a rig bears its unique [`Rig::name`]: the lease, the user, the label of the
//! Nodes that its managers look after, and the class of their Services. So tests share a control plane and run at the
//! same time. The user may do exactly what `deploy/manager/rbac.yaml` grants.

#![allow(
    dead_code,
    unused_imports,
    clippy::panic,
    clippy::unwrap_used,
    reason = "every test binary uses its own part of this, and a rig that breaks ends the test"
)]

mod audit;
mod door;
mod folder;
mod launch;
mod objects;
mod port;
mod process;
mod rights;

pub use audit::{Entry, Mark};
pub use door::Door;
pub use folder::Folder;
pub use launch::{Launch, run};
pub use objects::{TAINT, is_initialised, is_ready, service_address};
pub use port::{Credentials, Port, Reply};
pub use process::{Exit, Manager};

use kube::{Client, Config, config::Kubeconfig};
use lab::ControlPlane;
use memory::{Cloud, Server};
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

/// The label by which Nodes belong to a rig.
pub const LABEL: &str = "outrigger.test/rig";

/// One control plane, one cloud, one name.
pub struct Rig {
    /// Unique; all that belongs to this rig is named after it.
    pub name: String,
    /// An administrator's client.
    pub client: Client,
    /// The cloud that the managers of this rig talk to.
    pub cloud: Cloud,
    /// Where the managers reach it.
    pub server: Server,
    /// For the files of this rig.
    pub folder: Folder,
    plane: Plane,
    kubeconfig: PathBuf,
}

/// The control plane under a rig.
enum Plane {
    Shared(&'static ControlPlane),
    Own(Arc<ControlPlane>),
}

impl Rig {
    /// On the control plane that all tests share: never stop that one.
    pub async fn shared() -> Self {
        let plane = tokio::task::spawn_blocking(ControlPlane::shared).await.unwrap();
        Self::on(Plane::Shared(plane)).await
    }

    /// On a control plane of its own, which takes seconds to start and may be destroyed.
    pub async fn private() -> Self {
        let plane = tokio::task::spawn_blocking(ControlPlane::start).await.unwrap().unwrap();
        Self::on(Plane::Own(Arc::new(plane))).await
    }

    async fn on(plane: Plane) -> Self {
        let name = lab::unique("rig");
        let (cloud, folder) = (Cloud::new(), Folder::new(&name));
        let server = Server::start(&cloud).await.unwrap();
        let control_plane = match &plane {
            Plane::Shared(plane) => *plane,
            Plane::Own(plane) => plane,
        };
        let rig = Self {
            kubeconfig: control_plane.kubeconfig_for(&name, &[]),
            client: control_plane.client(),
            name,
            cloud,
            server,
            folder,
            plane,
        };
        rig.authorise(&rig.name).await;
        rig
    }

    /// The control plane.
    pub fn plane(&self) -> &ControlPlane {
        match &self.plane {
            Plane::Shared(plane) => plane,
            Plane::Own(plane) => plane,
        }
    }

    /// Kills the API server of a private rig.
    pub async fn stop_apiserver(&self) {
        self.blocking(|plane| {
            plane.stop_apiserver();
            Ok(())
        })
        .await;
    }

    /// Starts it again and waits until it is ready.
    pub async fn start_apiserver(&self) {
        self.blocking(ControlPlane::start_apiserver).await;
    }

    /// Freezes etcd of a private rig.
    pub async fn pause_etcd(&self) {
        self.blocking(ControlPlane::pause_etcd).await;
    }

    /// Lets it go on.
    pub async fn resume_etcd(&self) {
        self.blocking(ControlPlane::resume_etcd).await;
    }

    /// The runtime goes on meanwhile: it serves the cloud.
    async fn blocking(&self, act: impl FnOnce(&ControlPlane) -> anyhow::Result<()> + Send + 'static) {
        let Plane::Own(plane) = &self.plane else {
            panic!("the control plane that all tests share may not be disturbed")
        };
        let plane = plane.clone();
        tokio::task::spawn_blocking(move || act(&plane)).await.unwrap().unwrap();
    }

    /// The kubeconfig of the managers: a user named as the rig, who may do what our manifests grant.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A kubeconfig of a user who may do nothing yet, and is named so.
    pub fn stranger(&self, suffix: &str) -> (String, PathBuf) {
        let user = format!("{}-{suffix}", self.name);
        let path = self.plane().kubeconfig_for(&user, &[]);
        (user, path)
    }

    /// A client of whoever a kubeconfig is for.
    pub async fn client_of(&self, kubeconfig: &Path) -> Client {
        let file = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default()).await;
        Client::try_from(config.unwrap()).unwrap()
    }

    /// A kubeconfig file with the given user, as in its `users[].user`, for the API server of this rig.
    pub fn kubeconfig_with(&self, user: &serde_json::Value) -> PathBuf {
        self.write_kubeconfig(self.plane().url(), &self.plane().ca_file(), user)
    }

    /// A kubeconfig file for this server, authority and user.
    pub fn write_kubeconfig(&self, server: &str, ca: &Path, user: &serde_json::Value) -> PathBuf {
        let config = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {"server": server, "certificate-authority": ca}}],
            "users": [{"name": "lab", "user": user}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            "current-context": "lab",
        });
        let path = self.folder.path().join(format!("{}.kubeconfig", lab::unique("user")));
        fs::write(&path, config.to_string()).unwrap();
        path
    }

    /// `--cloud-config` for the cloud of this rig.
    pub fn cloud_config(&self) -> PathBuf {
        let path = self.folder.path().join("cloud.yaml");
        fs::write(&path, format!("endpoint: {}\n", self.server.url())).unwrap();
        path
    }

    /// A manager that leads by itself, looks after the Nodes and Services of this rig only, and serves the secure port
    /// on an address of its own. Change its flags, then [`Launch::start`] it.
    pub fn manager(&self) -> Launch {
        let kubeconfig = self.kubeconfig().display();
        let port = free_port();
        Launch::new(self.folder.path())
            .arg("ccm")
            .flag("--cloud-provider=memory")
            .flag(&format!("--cloud-config={}", self.cloud_config().display()))
            .flag(&format!("--kubeconfig={kubeconfig}"))
            .flag(&format!("--authentication-kubeconfig={kubeconfig}"))
            .flag(&format!("--authorization-kubeconfig={kubeconfig}"))
            .flag(&format!("--leader-elect-resource-name={}", self.name))
            .flag(&format!("--cluster-name={}", self.name))
            .flag(&format!("--node-selector={LABEL}={}", self.name))
            .flag(&format!("--load-balancer-class={}", self.name))
            .flag("--load-balancer-without-class=false")
            .flag("--v=4")
            .listen(port)
    }
}

/// An address on loopback that nobody else uses: every call has an IP of its own, so that nothing else of this process
/// can take the port before it is used.
pub fn free_port() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let [high, low] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let process = 16 + u8::try_from(std::process::id() % 200).unwrap();
    let ip = Ipv4Addr::new(127, process, high, low.max(1));
    TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap()
}
