//! The flags that each program has in the end, and the changes until then.

use super::{
    super::{
        Change, File, Step,
        change::{Wanted, changes, wanted},
        step::State,
    },
    flag,
};
use crate::{
    Cluster,
    cluster::{Distribution, Kubelet, Manager, Origin, Program, Role, in_tree},
    flags::Flags,
    version::Version,
};
use manager::controllers_flag::{CLOUD_NODE_LIFECYCLE, NODE_ROUTE, SERVICE_LB, canonical};
use operator::observer::{self, Outcome, Place};

/// Where kubeadm has the flags of kubelet.
const KUBELET_FLAGS: &str = "/var/lib/kubelet/kubeadm-flags.env";
/// Where the programs read the configuration of the cloud, if none of them says.
const CLOUD_CONFIG: &str = "/etc/kubernetes/cloud.conf";
/// The flags that the route controller of both managers depends on.
const SAME: [&str; 3] = ["allocate-node-cidrs", "configure-cloud-routes", "cluster-cidr"];

/// The state after a migration.
pub(super) struct Target<'a> {
    pub(super) cluster: &'a Cluster<'a>,
    pub(super) version: &'a Version,
    outcome: Outcome,
}

impl<'a> Target<'a> {
    pub(super) fn new(cluster: &'a Cluster<'a>, version: &'a Version, outcome: Outcome) -> Self {
        Self {
            cluster,
            version,
            outcome,
        }
    }

    /// The flags about the cloud of a program, with the configuration where this cluster has it.
    pub(super) fn wanted(&self, program: Program) -> Vec<Wanted> {
        let flags = match program {
            Program::KubeApiserver => &self.outcome.kube_apiserver,
            Program::KubeControllerManager => &self.outcome.kube_controller_manager,
        };
        self.here(flags)
    }

    /// The replicas of a program, the leader of kube-controller-manager last.
    pub(super) fn replicas(&self, program: Program) -> Vec<(Option<&'a str>, &'a Flags)> {
        let all = self.cluster.replicas(program);
        let mut all: Vec<_> = all
            .filter_map(|replica| Some((replica.node.as_deref(), replica.flags.as_ref()?)))
            .collect();
        let leader = self.leader();
        if program == Program::KubeControllerManager {
            all.sort_by_key(|(node, _)| node.is_some() && *node == leader);
        }
        all
    }

    /// The changes of all replicas of a program.
    pub(super) fn changes(&self, program: Program, wanted: &[Wanted]) -> Vec<Change> {
        self.changes_of(program, self.replicas(program), wanted)
    }

    /// The changes of these replicas of a program.
    pub(super) fn changes_of<'f>(
        &self,
        program: Program,
        replicas: impl IntoIterator<Item = (Option<&'f str>, &'f Flags)>,
        wanted: &[Wanted],
    ) -> Vec<Change> {
        let file = match self.cluster.distribution {
            Distribution::Kubeadm => Some(format!("/etc/kubernetes/manifests/{program}.yaml")),
            Distribution::OpenShift | Distribution::Other => None,
        };
        changes(program.name(), file.as_deref(), replicas, wanted)
    }

    /// Our manager, if it is installed.
    pub(super) fn manager(&self) -> Option<&'a Manager> {
        self.cluster
            .managers
            .iter()
            .find(|manager| manager.origin == Origin::Ours)
    }

    /// Our manager, or another one.
    pub(super) fn any_manager(&self) -> Option<&'a Manager> {
        self.manager().or_else(|| self.cluster.managers.first())
    }

    /// Whether a replica of kube-controller-manager runs the cloud's controllers.
    pub(super) fn has_in_tree_controllers(&self) -> bool {
        let replicas = self.replicas(Program::KubeControllerManager);
        replicas.into_iter().any(|(_, flags)| in_tree(flags).is_some())
    }

    /// The flags of our manager: the cluster is the same one, and so are the controllers that run.
    pub(super) fn manager_flags(&self) -> Vec<Wanted> {
        let mut flags = Vec::new();
        let unnamed = |manager: &Manager| manager.provider.is_none();
        if self
            .manager()
            .is_none_or(|manager| !unnamed(manager) || manager.flags.get("cloud-provider").is_none())
        {
            let cloud = self.cluster.in_tree().map_or("NAME", |in_tree| ours(in_tree.name));
            flags.push(flag("cloud-provider", cloud));
        }
        // A manifest may take the name from another object, which is not compared.
        if self.manager().is_none_or(|manager| manager.cluster_name.is_some()) {
            flags.push(flag("cluster-name", self.cluster.name()));
        }
        let Some(theirs) = self
            .cluster
            .controller_manager()
            .filter(|flags| in_tree(flags).is_some())
        else {
            return flags;
        };
        flags.extend(SAME.iter().filter_map(|name| Some(flag(name, theirs.get(name)?))));
        let moving = [CLOUD_NODE_LIFECYCLE, NODE_ROUTE, SERVICE_LB].map(|controller| controller.name);
        let given = theirs.list("controllers");
        let off = given.iter().filter_map(|item| item.strip_prefix('-')).map(canonical);
        let off: Vec<String> = off
            .filter(|name| moving.contains(name))
            .map(|name| format!("-{name}"))
            .collect();
        if !off.is_empty() {
            flags.push(flag("controllers", format!("*,{}", off.join(","))));
        }
        flags
    }

    /// The configuration of the cloud on each node, which the in-tree provider reads.
    pub(super) fn cloud_config_file(&self) -> File {
        File {
            path: format!("{} on each node, if it does not exist", self.cloud_config()),
            text: "the configuration that the cloud controller manager has".to_owned(),
        }
    }

    /// Where the programs of this cluster read the configuration of the cloud.
    fn cloud_config(&self) -> &'a str {
        let components = self
            .cluster
            .components
            .iter()
            .filter_map(|component| component.flags.as_ref());
        let kubelets = self
            .cluster
            .kubelets
            .iter()
            .filter_map(|kubelet| kubelet.flags.as_ref());
        components
            .chain(kubelets)
            .find_map(|flags| flags.get("cloud-config"))
            .unwrap_or(CLOUD_CONFIG)
    }

    /// The node of the replica that leads: the first part of its identity.
    fn leader(&self) -> Option<&'a str> {
        let lease = self.cluster.snapshot.lease(Program::KubeControllerManager.name())?;
        let holder = lease.spec.as_ref()?.holder_identity.as_deref()?;
        holder.split('_').next()
    }

    fn here(&self, flags: &observer::Flags) -> Vec<Wanted> {
        let mut flags = flags.clone();
        // The observer knows the paths of OpenShift.
        flags.cloud_config = flags.cloud_config.map(|_| self.cloud_config().to_owned());
        wanted(&flags)
    }
}

/// The name of a cloud in our manager, which has the name of its Go program.
fn ours(in_tree: &'static str) -> &'static str {
    if in_tree == "gce" { "gcp" } else { in_tree }
}

/// The changes of our manager.
pub(super) fn of_manager(target: &Target<'_>, wanted: &[Wanted]) -> Vec<Change> {
    let none = Flags::default();
    let flags = target.manager().map_or(&none, |manager| &manager.flags);
    of_manager_with(target, flags, wanted)
}

/// The changes of our manager once it has these flags.
pub(super) fn of_manager_with(target: &Target<'_>, flags: &Flags, wanted: &[Wanted]) -> Vec<Change> {
    let manager = target.manager();
    let name = manager.map_or_else(
        || "the manager, deploy/manager/deployment.yaml".to_owned(),
        ToString::to_string,
    );
    changes(&name, None, [(None, flags)], wanted)
}

pub(super) fn api_server(target: &Target<'_>) -> Step {
    let changes = target.changes(Program::KubeApiserver, &target.wanted(Program::KubeApiserver));
    let title = match target.outcome.place {
        Place::InTree(_) => "Give kube-apiserver the cloud",
        Place::External | Place::Nowhere => "Remove the cloud from kube-apiserver",
    };
    Step {
        title: title.to_owned(),
        state: State::done_if(changes.is_empty()),
        changes,
        look: vec!["after each node: kubectl get --raw=/readyz prints ok".to_owned()],
        back: vec!["restore these flags".to_owned()],
        ..Step::default()
    }
}

/// The kubelets of workers first, then those of the control plane.
pub(super) fn kubelets(target: &Target<'_>, notes: &[&str]) -> Step {
    let mut kubelets: Vec<&Kubelet> = target.cluster.kubelets.iter().collect();
    kubelets.sort_by_key(|kubelet| (kubelet.role == Role::ControlPlane, &kubelet.node));
    let kubelets = kubelets.into_iter();
    let replicas = kubelets.filter_map(|kubelet| Some((Some(kubelet.node.as_str()), kubelet.flags.as_ref()?)));
    let file = (target.cluster.distribution == Distribution::Kubeadm).then_some(KUBELET_FLAGS);
    let changes = changes("kubelet", file, replicas, &target.here(&target.outcome.kubelet));
    Step {
        title: "Change kubelet, on one node after the other".to_owned(),
        state: State::done_if(changes.is_empty()),
        changes,
        notes: std::iter::once("Then restart it: systemctl restart kubelet")
            .chain(notes.iter().copied())
            .map(str::to_owned)
            .collect(),
        look: vec![
            "the node is Ready, and its provider ID and addresses are the same:".to_owned(),
            "  kubectl get node NODE -o jsonpath='{.spec.providerID} {.status.addresses}'".to_owned(),
        ],
        back: vec!["restore these flags, and restart kubelet".to_owned()],
        ..Step::default()
    }
}
