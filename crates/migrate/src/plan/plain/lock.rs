//! The migration lock: the rights to use it, and the programs that take part.

use super::{
    super::{File, Step, change::Wanted, step::State},
    flag,
    programs::{Target, of_manager, of_manager_with},
};
use crate::{
    cluster::{Distribution, Program, in_tree},
    flags::Flags,
};
use runtime::leader_migration::{Config, ControllerLeader, FileVersion};

/// Where kube-controller-manager reads the configuration.
const FILE: &str = "/etc/kubernetes/leader-migration.yaml";
/// From this minor version on, kube-controller-manager reads `v1`.
const READS_V1: u32 = 24;
/// From this minor version on, controllers have the names that ours has. A program compares them literally.
const NEW_NAMES: u32 = 28;

/// The account of our manager without the operator.
const ACCOUNT: (&str, &str) = ("kube-system", "cloud-controller-manager");

/// Whether a step that prepares the lock is still needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// Two programs run the same controllers, or will.
    Needed,
    /// Only one does, as in the end.
    Unneeded,
}

/// Both programs may use the Lease.
pub(super) fn grant(target: &Target<'_>, lock: Lock) -> Step {
    let access = &target.cluster.snapshot.access;
    let name = Config::default().leader_name;
    let (namespace, account) = target.any_manager().map_or(ACCOUNT, |manager| {
        let account = manager.user.rsplit(':').next().unwrap_or(ACCOUNT.1);
        (manager.namespace.as_str(), account)
    });
    let file = File {
        path: "leader-migration-rbac.yaml".to_owned(),
        text: role(&name, namespace, account),
    };
    let can = |user: &str| format!("kubectl auth can-i update leases/{name} -n kube-system --as={user}   # yes");
    Step {
        title: "Let both controller managers use the migration lock".to_owned(),
        state: State::done_if(
            lock == Lock::Unneeded || (!access.is_empty() && access.iter().all(|access| access.allowed)),
        ),
        files: vec![file],
        commands: vec!["kubectl apply -f leader-migration-rbac.yaml".to_owned()],
        look: vec![
            can("system:kube-controller-manager"),
            can(&format!("system:serviceaccount:{namespace}:{account}")),
        ],
        back: vec!["kubectl delete -f leader-migration-rbac.yaml".to_owned()],
        ..Step::default()
    }
}

/// kube-controller-manager runs what migrates under the lock.
pub(super) fn controller_manager(target: &Target<'_>) -> Step {
    let replicas = target.replicas(Program::KubeControllerManager);
    let in_tree = replicas.into_iter().filter(|(_, flags)| in_tree(flags).is_some());
    let changes = target.changes_of(Program::KubeControllerManager, in_tree, &flags());
    Step {
        title: "Let kube-controller-manager run the cloud's controllers under the migration lock, the leader last"
            .to_owned(),
        state: State::done_if(changes.is_empty()),
        files: vec![file(target)],
        changes,
        notes: vec![mount(target)],
        look: vec![
            "a replica of kube-controller-manager holds the lock:".to_owned(),
            "  kubectl -n kube-system get lease cloud-provider-extraction-migration".to_owned(),
        ],
        back: vec!["remove the flags again, and the file".to_owned()],
        ..Step::default()
    }
}

/// Our manager runs what migrates under the lock.
pub(super) fn manager(target: &Target<'_>, lock: Lock) -> Step {
    let changes = of_manager(target, &[flag("enable-leader-migration", "true")]);
    Step {
        title: "Let the cloud controller manager run the controllers that migrate under the migration lock".to_owned(),
        state: State::done_if(lock == Lock::Unneeded || changes.is_empty()),
        changes,
        look: vec![
            "a Pod of it holds the lock:".to_owned(),
            "  kubectl -n kube-system get lease cloud-provider-extraction-migration".to_owned(),
        ],
        back: vec!["remove the flag again".to_owned()],
        ..Step::default()
    }
}

/// Without a second program the lock has no purpose.
pub(super) fn release(target: &Target<'_>) -> Step {
    let migrates = target.has_in_tree_controllers().then_some("true");
    let none = Flags::default();
    let flags = target.manager().map_or(&none, |manager| &manager.flags).clone();
    // As the third step leaves it.
    let flags = match migrates {
        Some(_) => flags.with("enable-leader-migration", migrates),
        None => flags,
    };
    let changes = of_manager_with(target, &flags, &without_lock());
    Step {
        title: "Remove the migration lock; optional".to_owned(),
        state: State::done_if(target.manager().is_some() && migrates.is_none() && changes.is_empty()),
        changes,
        commands: delete(),
        back: vec!["steps 1 and 3".to_owned()],
        ..Step::default()
    }
}

/// The same on the way back.
pub(super) fn release_in_tree(target: &Target<'_>) -> Step {
    let replicas = target.replicas(Program::KubeControllerManager);
    // A replica without the cloud gets the flags of the lock in the third step.
    let after = |flags: &Flags| {
        if in_tree(flags).is_some() {
            flags.clone()
        } else {
            with_lock(flags)
        }
    };
    let in_tree: Vec<_> = replicas.into_iter().map(|(node, flags)| (node, after(flags))).collect();
    let replicas = in_tree.iter().map(|(node, flags)| (*node, flags));
    let changes = target.changes_of(Program::KubeControllerManager, replicas, &without_lock());
    Step {
        title: "Remove the migration lock and the cloud controller manager".to_owned(),
        state: State::done_if(changes.is_empty() && target.has_in_tree_controllers()),
        changes,
        commands: [
            vec!["kubectl delete -f deploy/manager/deployment.yaml -f deploy/manager/rbac.yaml".to_owned()],
            delete(),
        ]
        .concat(),
        back: vec!["the plan of the other direction".to_owned()],
        ..Step::default()
    }
}

/// The flags of a replica of kube-controller-manager once it takes part.
pub(super) fn with_lock(replica: &Flags) -> Flags {
    flags().into_iter().fold(replica.clone(), |all, (name, value)| {
        if all.get(name).is_some() {
            all
        } else {
            all.with(name, value.as_deref())
        }
    })
}

/// The flags of a program that takes part no more.
pub(super) fn without_lock() -> Vec<Wanted> {
    vec![("enable-leader-migration", None), ("leader-migration-config", None)]
}

fn delete() -> Vec<String> {
    vec![
        "kubectl delete -f leader-migration-rbac.yaml".to_owned(),
        "kubectl -n kube-system delete lease cloud-provider-extraction-migration".to_owned(),
    ]
}

/// The flags of a program that takes part, with a file.
pub(super) fn flags() -> Vec<Wanted> {
    vec![
        flag("enable-leader-migration", "true"),
        flag("leader-migration-config", FILE),
    ]
}

/// The configuration of kube-controller-manager. Its default has names that some versions do not know.
pub(super) fn file(target: &Target<'_>) -> File {
    let minor = target.version.minor;
    let names = if minor < NEW_NAMES {
        ["route", "service", "cloud-node-lifecycle"]
    } else {
        [
            "node-route-controller",
            "service-lb-controller",
            "cloud-node-lifecycle-controller",
        ]
    };
    let config = Config {
        controller_leaders: names
            .map(|name| ControllerLeader {
                name: name.to_owned(),
                component: Program::KubeControllerManager.name().to_owned(),
            })
            .into(),
        ..Config::default()
    };
    let version = if minor < READS_V1 {
        FileVersion::V1Beta1
    } else {
        FileVersion::V1
    };
    File {
        path: format!("{FILE} on each node of kube-controller-manager"),
        text: config.document(version),
    }
}

/// How a static Pod reads the file.
pub(super) fn mount(target: &Target<'_>) -> String {
    match target.cluster.distribution {
        Distribution::Kubeadm => format!(
            "In the manifest, mount the file: a volume {{name: leader-migration, hostPath: {{path: {FILE}, type: File}}}} and a volumeMount \
             {{name: leader-migration, mountPath: {FILE}, readOnly: true}}."
        ),
        Distribution::OpenShift | Distribution::Other => {
            format!("kube-controller-manager must be able to read {FILE}.")
        }
    }
}

fn role(lease: &str, namespace: &str, account: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: outrigger:leader-migration
  namespace: kube-system
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{lease}]
  verbs: [get, list, update, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: outrigger:leader-migration
  namespace: kube-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: outrigger:leader-migration
subjects:
- kind: User
  apiGroup: rbac.authorization.k8s.io
  name: system:kube-controller-manager
- kind: ServiceAccount
  namespace: {namespace}
  name: {account}
"
    )
}
