//! What follows from a snapshot: the distribution, the programs of the control plane, the kubelets, the managers, and where the cloud
//! code runs now.

mod kubelets;
mod managers;
mod programs;

pub use kubelets::{Kubelet, Role};
pub use managers::{Manager, Origin};
pub use programs::{Component, Program};

use crate::{Snapshot, flags::Flags, version::Version};
use operator::observer::InTree;

/// The value of kubelet's `--cloud-provider` with a cloud controller manager.
pub const EXTERNAL: &str = "external";

/// How the control plane is installed, and so where its flags are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// By kubeadm: static Pods in `/etc/kubernetes/manifests`.
    Kubeadm,
    /// By the operators of `OpenShift`.
    OpenShift,
    /// In another way.
    Other,
}

/// Where the cloud code of a cluster runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Now {
    /// In kube-controller-manager, under this name; on at least one replica.
    InTree(String),
    /// In a cloud controller manager.
    External,
    /// No program runs it.
    Nowhere,
    /// The flags of kube-controller-manager cannot be read.
    Unknown,
}

/// A cluster, as far as a migration depends on it.
#[derive(Debug, Clone)]
pub struct Cluster<'a> {
    /// Everything that was read.
    pub snapshot: &'a Snapshot,
    /// How the control plane is installed.
    pub distribution: Distribution,
    /// The version of the API server.
    pub version: Option<Version>,
    /// The replicas of kube-apiserver and kube-controller-manager.
    pub components: Vec<Component>,
    /// The kubelets, by node.
    pub kubelets: Vec<Kubelet>,
    /// The cloud controller managers.
    pub managers: Vec<Manager>,
}

impl<'a> Cluster<'a> {
    /// Reads a snapshot.
    #[must_use]
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let distribution = distribution(snapshot);
        Self {
            snapshot,
            distribution,
            version: snapshot.version.as_deref().and_then(Version::parse),
            components: programs::of(snapshot, distribution),
            kubelets: kubelets::of(snapshot),
            managers: managers::of(snapshot),
        }
    }

    /// The replicas of one program.
    pub fn replicas(&self, program: Program) -> impl Iterator<Item = &Component> {
        self.components
            .iter()
            .filter(move |component| component.program == program)
    }

    /// The flags of kube-controller-manager: those of the first replica that can be read.
    #[must_use]
    pub fn controller_manager(&self) -> Option<&Flags> {
        self.replicas(Program::KubeControllerManager)
            .find_map(|replica| replica.flags.as_ref())
    }

    /// Where the cloud code runs.
    #[must_use]
    pub fn now(&self) -> Now {
        let known: Vec<&Flags> = self
            .replicas(Program::KubeControllerManager)
            .filter_map(|replica| replica.flags.as_ref())
            .collect();
        let in_tree = known.iter().find_map(|flags| in_tree(flags));
        match in_tree {
            Some(name) => Now::InTree(name.to_owned()),
            None if known.is_empty() => Now::Unknown,
            None if self.managers.is_empty() => Now::Nowhere,
            None => Now::External,
        }
    }

    /// The in-tree provider that runs, that ran, or that belongs to the cloud: of kube-controller-manager, of kubelets, of the
    /// platform, or of a manager.
    #[must_use]
    pub fn in_tree(&self) -> Option<InTree> {
        let of_platform = || {
            let status = self.snapshot.infrastructure.as_ref()?.status.platform_status.as_ref()?;
            InTree::of_platform(&status.type_)
        };
        let running = match self.now() {
            Now::InTree(name) => InTree::named(&name),
            _ => None,
        };
        let kubelets = self.kubelets.iter().filter_map(|kubelet| kubelet.flags.as_ref());
        let of_kubelets = kubelets.filter_map(in_tree).find_map(InTree::named);
        let of_managers = || {
            self.managers
                .iter()
                .find_map(|manager| InTree::named(manager.provider.as_deref()?))
        };
        running.or(of_kubelets).or_else(of_platform).or_else(of_managers)
    }

    /// The name of the cluster in its cloud: `--cluster-name` of kube-controller-manager, or its default.
    #[must_use]
    pub fn name(&self) -> &str {
        let of_managers = || self.managers.iter().find_map(|manager| manager.cluster_name.as_deref());
        let given = self.controller_manager().and_then(|flags| flags.get("cluster-name"));
        given.or_else(of_managers).unwrap_or(DEFAULT_NAME)
    }
}

/// The default of `--cluster-name`.
pub const DEFAULT_NAME: &str = "kubernetes";

/// The in-tree provider that the flags of a program name.
#[must_use]
pub fn in_tree(flags: &Flags) -> Option<&str> {
    flags.get("cloud-provider").filter(|name| *name != EXTERNAL)
}

fn distribution(snapshot: &Snapshot) -> Distribution {
    let by_kubeadm = |node: &k8s_openapi::api::core::v1::Node| {
        let annotations = node.metadata.annotations.iter().flatten();
        annotations
            .into_iter()
            .any(|(key, _)| key.starts_with("kubeadm.alpha.kubernetes.io/"))
    };
    if snapshot.infrastructure.is_some() {
        Distribution::OpenShift
    } else if snapshot.config_map("kube-system", "kubeadm-config").is_some() || snapshot.nodes.iter().any(by_kubeadm) {
        Distribution::Kubeadm
    } else {
        Distribution::Other
    }
}
