//! Another cloud controller manager runs: ours takes its place, with the same flags and the same lease.

use super::{Plan, Step, step::State};
use crate::{
    Cluster,
    cluster::{Manager, Origin},
};

pub(super) fn plan(cluster: &Cluster<'_>) -> Plan {
    let others = cluster
        .managers
        .iter()
        .filter(|manager| manager.origin == Origin::Other);
    let mut steps = vec![rehearse(cluster)];
    steps.extend(others.map(swap));
    Plan {
        title: "From another cloud controller manager to Outrigger's".to_owned(),
        notes: vec![
            "The manager has the flags, the names and the lease of the one that it replaces, so that only the image changes; \
             the components of Kubernetes do not change."
                .to_owned(),
        ],
        steps,
    }
}

fn rehearse(cluster: &Cluster<'_>) -> Step {
    let provider = cluster
        .managers
        .iter()
        .find_map(|manager| manager.provider.as_deref())
        .unwrap_or("NAME");
    Step {
        title: "Rehearse".to_owned(),
        state: State::done_if(cluster.snapshot.cloud.is_some()),
        commands: vec![format!(
            "outrigger migrate check --cloud-provider={provider} --cloud-config=FILE --cluster-name={}",
            cluster.name()
        )],
        look: vec!["each Service keeps its load balancer, and each Node has its instance".to_owned()],
        ..Step::default()
    }
}

fn swap(manager: &Manager) -> Step {
    let Manager {
        kind,
        namespace,
        name,
        user,
        ..
    } = manager;
    let object = format!("{}/{name}", kind.to_lowercase());
    let account = user.rsplit(':').next().unwrap_or_default();
    let commands = match *kind {
        "Pod" => vec![format!("set the image of ours in the manifest of static Pod {name}")],
        _ => vec![
            format!("kubectl -n {namespace} set image {object} '*=registry.example.com/outrigger:VERSION'"),
            format!("kubectl -n {namespace} rollout status {object}"),
        ],
    };
    let back = match *kind {
        "Pod" => "restore the image in the manifest".to_owned(),
        _ => format!("kubectl -n {namespace} rollout undo {object}"),
    };
    Step {
        title: format!("Replace the image of {manager}"),
        commands,
        notes: vec![format!(
            "Account {namespace}/{account} needs the rights in deploy/manager/rbac.yaml: bind ClusterRole outrigger:cloud-controller-manager and Role \
             outrigger-cloud-controller-manager to it."
        )],
        look: vec![
            "one of its new Pods holds the lease: kubectl -n kube-system get lease cloud-controller-manager".to_owned(),
            "the addresses of Services are the same: kubectl get services --all-namespaces".to_owned(),
        ],
        back: vec![back],
        ..Step::default()
    }
}
