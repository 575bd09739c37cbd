//! A cluster of kubeadm, or of another installer: the user changes each program, and leader migration hands the controllers over.

mod lock;
mod programs;

use super::{Plan, Refused, Step, To, change::Wanted, step::State};
use crate::{
    Cluster,
    cluster::{Distribution, Manager, Program, in_tree},
    flags::Flags,
    version::Version,
};
use lock::Lock;
use operator::observer::{self, Inputs, Outcome, Owner, Place, Volumes};
use operator_api::infrastructure::PlatformStatus;
use programs::Target;

pub(super) fn plan(cluster: &Cluster<'_>, version: &Version, to: To) -> Result<Plan, Refused> {
    let target = Target::new(cluster, version, outcome(cluster, version, to)?);
    let cloud = cluster.in_tree().map_or("the in-tree provider", |in_tree| in_tree.name);
    let (title, steps) = match to {
        To::External => (
            format!("From {cloud} to an external cloud controller manager"),
            outwards(&target),
        ),
        To::InTree => (
            format!("From a cloud controller manager to the in-tree provider {cloud}"),
            inwards(&target),
        ),
    };
    let mut notes = vec![
        "Do one step at a time, on one node after the other, and check before the next one. `outrigger migrate watch` shows the state."
            .to_owned(),
    ];
    if cluster.distribution == Distribution::Kubeadm {
        notes.push(
            "`kubeadm upgrade` writes the manifests again: change apiServer.extraArgs and controllerManager.extraArgs in ConfigMap \
             kube-system/kubeadm-config, too."
                .to_owned(),
        );
    }
    Ok(Plan { title, notes, steps })
}

/// The flags that all programs have in the end.
fn outcome(cluster: &Cluster<'_>, version: &Version, to: To) -> Result<Outcome, Refused> {
    let in_tree = cluster.in_tree();
    let platform = PlatformStatus {
        // A cloud that never was in the tree.
        type_: in_tree.map_or("External", |in_tree| in_tree.platform).to_owned(),
        ..PlatformStatus::default()
    };
    let outcome = observer::observe(&Inputs {
        platform: Some(&platform),
        annotation: Some(match to {
            To::External => "true",
            To::InTree => "false",
        }),
        gates: None,
        kubernetes: version.minor,
        cloud_config: Some("cloud.conf"),
        volumes: Volumes::Csi,
        owner: Owner::None,
    });
    match (to, outcome.place, in_tree) {
        (To::External, ..) | (To::InTree, Place::InTree(_), _) => Ok(outcome),
        (To::InTree, _, Some(in_tree)) => Err(Refused::NoInTree(format!(
            "Kubernetes {version} has none for {}, which was removed in 1.{}",
            in_tree.name, in_tree.gone
        ))),
        (To::InTree, _, None) => Err(Refused::NoInTree(
            "its cloud never had one, or no program names it".to_owned(),
        )),
    }
}

fn outwards(target: &Target<'_>) -> Vec<Step> {
    let lock = if target.has_in_tree_controllers() {
        Lock::Needed
    } else {
        Lock::Unneeded
    };
    vec![
        lock::grant(target, lock),
        lock::controller_manager(target),
        standby(target),
        hand_over(target),
        programs::api_server(target),
        programs::kubelets(target, &[]),
        lock::release(target),
    ]
}

fn inwards(target: &Target<'_>) -> Vec<Step> {
    let lock = if target.any_manager().is_some() {
        Lock::Needed
    } else {
        Lock::Unneeded
    };
    vec![
        lock::grant(target, lock),
        lock::manager(target, lock),
        candidate(target),
        stop(target),
        programs::api_server(target),
        programs::kubelets(
            target,
            &[
                "Until this step is done, a new node whose kubelet has --cloud-provider=external stays uninitialized: add none.",
            ],
        ),
        lock::release_in_tree(target),
    ]
}

/// The manager runs, and waits for the lock.
fn standby(target: &Target<'_>) -> Step {
    let migrates = target.has_in_tree_controllers();
    let mut wanted = target.manager_flags();
    if migrates {
        wanted.push(("enable-leader-migration", Some("true".to_owned())));
    }
    let changes = programs::of_manager(target, &wanted);
    let waits = if migrates { ", as a standby" } else { "" };
    Step {
        title: format!("Start the cloud controller manager{waits}"),
        state: State::done_if(target.manager().is_some() && changes.is_empty()),
        commands: vec!["kubectl apply -f deploy/manager/rbac.yaml -f deploy/manager/deployment.yaml".to_owned()],
        changes,
        notes: vec![
            "Without --leader-migration-config the manager moves the same controllers by the same lock; the file would be the one of the step before, with \
             component: cloud-controller-manager."
                .to_owned(),
            "Its nodes controller works from now on: `outrigger migrate check --cloud-config=FILE` lists what it writes to Nodes.".to_owned(),
        ],
        look: [
            "its Pods are ready: kubectl -n kube-system get pods -l app.kubernetes.io/name=cloud-controller-manager",
            "it holds Lease cloud-controller-manager, and kube-controller-manager still holds cloud-provider-extraction-migration:",
            "  kubectl -n kube-system get lease cloud-controller-manager cloud-provider-extraction-migration",
        ]
        .map(str::to_owned)
        .to_vec(),
        back: vec!["kubectl delete -f deploy/manager/deployment.yaml".to_owned()],
        ..Step::default()
    }
}

/// The last replica that loses its flags gives the lock away.
fn hand_over(target: &Target<'_>) -> Step {
    let mut wanted = target.wanted(Program::KubeControllerManager);
    wanted.extend(lock::without_lock());
    let replicas = target.replicas(Program::KubeControllerManager);
    // As the second step leaves them.
    let after = |flags: &Flags| {
        if in_tree(flags).is_some() {
            lock::with_lock(flags)
        } else {
            flags.clone()
        }
    };
    let replicas: Vec<_> = replicas.into_iter().map(|(node, flags)| (node, after(flags))).collect();
    let replicas = replicas.iter().map(|(node, flags)| (*node, flags));
    let changes = target.changes_of(Program::KubeControllerManager, replicas, &wanted);
    Step {
        title: "Remove the cloud from kube-controller-manager, the leader last".to_owned(),
        state: State::done_if(changes.is_empty()),
        changes,
        look: [
            "after each node: kube-controller-manager runs there again",
            "after the last one: a Pod of the cloud controller manager holds Lease cloud-provider-extraction-migration, within 15 seconds",
            "the addresses of Services are the same: kubectl get services --all-namespaces",
        ]
        .map(str::to_owned)
        .to_vec(),
        back: vec![
            "restore these flags, and those of step 2, on the same nodes; then stop the cloud controller manager:".to_owned(),
            format!("  {}", stop_command(target.manager())),
        ],
        ..Step::default()
    }
}

/// kube-controller-manager has the cloud again, and waits for the lock.
fn candidate(target: &Target<'_>) -> Step {
    let mut wanted = target.wanted(Program::KubeControllerManager);
    wanted.extend(lock::flags());
    let changes = target.changes(Program::KubeControllerManager, &wanted);
    // The flags of the lock are removed in the last step.
    let is_done = target
        .changes(
            Program::KubeControllerManager,
            &target.wanted(Program::KubeControllerManager),
        )
        .is_empty();
    Step {
        title: "Give kube-controller-manager the cloud, as a standby".to_owned(),
        state: State::done_if(is_done),
        files: vec![target.cloud_config_file(), lock::file(target)],
        changes,
        notes: vec![lock::mount(target)],
        look: vec![
            "kube-controller-manager runs on each node again, and the cloud controller manager still holds Lease cloud-provider-extraction-migration"
                .to_owned(),
        ],
        back: vec!["restore the flags on the same nodes".to_owned()],
        ..Step::default()
    }
}

fn stop(target: &Target<'_>) -> Step {
    let manager = target.any_manager();
    Step {
        title: "Stop the cloud controller manager".to_owned(),
        state: State::done_if(manager.is_none()),
        commands: vec![stop_command(manager)],
        look: vec![
            "kube-controller-manager holds Lease cloud-provider-extraction-migration, within 15 seconds".to_owned(),
            "the addresses of Services are the same: kubectl get services --all-namespaces".to_owned(),
        ],
        back: vec![match manager {
            Some(manager) if manager.kind == "Deployment" => {
                format!(
                    "kubectl -n {} scale deployment {} --replicas=2",
                    manager.namespace, manager.name
                )
            }
            _ => "start it again".to_owned(),
        }],
        ..Step::default()
    }
}

/// Stops all replicas of a manager, and keeps its object.
fn stop_command(manager: Option<&Manager>) -> String {
    const OURS: &str = "outrigger-cloud-controller-manager";
    let (kind, namespace, name) = manager.map_or(("Deployment", "kube-system", OURS), |manager| {
        (manager.kind, &manager.namespace, &manager.name)
    });
    match kind {
        "Deployment" => format!("kubectl -n {namespace} scale deployment {name} --replicas=0"),
        "DaemonSet" => format!(
            "kubectl -n {namespace} patch daemonset {name} --type=merge \
             -p '{{\"spec\":{{\"template\":{{\"spec\":{{\"nodeSelector\":{{\"outrigger.dev/stopped\":\"true\"}}}}}}}}}}'"
        ),
        _ => format!("move the manifest of the static Pod {name} out of the folder of manifests"),
    }
}

/// A wanted flag without the name of its type.
fn flag(name: &'static str, value: impl Into<String>) -> Wanted {
    (name, Some(value.into()))
}
