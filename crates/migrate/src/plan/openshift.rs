//! `OpenShift`: the annotation decides, and the operators of kube-controller-manager, kube-apiserver and of the machines follow.

use super::{
    Change, Plan, Refused, Step, To,
    change::{Wanted, changes, wanted},
    step::State,
};
use crate::{
    Cluster, Snapshot,
    cluster::{Program, Role},
};
use operator::observer::{ANNOTATION, Inputs, Operands, Outcome, Owner, Place, Volumes, observe};
use operator_api::infrastructure::PlatformStatus;
use serde_json::Value;

/// What the config observer reads in this cluster.
pub struct Observation<'a> {
    platform: &'a PlatformStatus,
    annotation: Option<&'a str>,
    kubernetes: u32,
    cloud_config: Option<&'a str>,
    owner: Owner,
}

impl<'a> Observation<'a> {
    /// Reads the Infrastructure; `None` if it does not exist or has no platform, or the version is not known.
    #[must_use]
    pub fn of(cluster: &'a Cluster<'a>) -> Option<Self> {
        let infrastructure = cluster.snapshot.infrastructure.as_ref()?;
        let config = &infrastructure.spec.cloud_config;
        let key = if config.key.is_empty() {
            "cloud.conf"
        } else {
            config.key.as_str()
        };
        let annotations = infrastructure.metadata.annotations.as_ref();
        Some(Self {
            platform: infrastructure.status.platform_status.as_ref()?,
            annotation: annotations
                .and_then(|annotations| annotations.get(ANNOTATION))
                .map(String::as_str),
            kubernetes: cluster.version.as_ref()?.minor,
            cloud_config: (!config.name.is_empty()).then_some(key),
            owner: owner(cluster.snapshot),
        })
    }

    /// What holds now.
    #[must_use]
    pub fn now(&self) -> Outcome {
        self.with(self.annotation, self.owner)
    }

    /// What holds with this annotation, once this program runs the controllers.
    fn with(&self, annotation: Option<&str>, owner: Owner) -> Outcome {
        observe(&Inputs {
            platform: Some(self.platform),
            annotation,
            gates: None,
            kubernetes: self.kubernetes,
            cloud_config: self.cloud_config,
            volumes: Volumes::Csi,
            owner,
        })
    }
}

/// Which program runs the cloud's controllers, by the conditions of the operators.
#[must_use]
pub fn owner(snapshot: &Snapshot) -> Owner {
    let status = |object: &Option<Value>| {
        let conditions = object.as_ref()?["status"]["conditions"].as_array()?;
        let is_owner = |condition: &&Value| condition["type"] == "CloudControllerOwner";
        conditions.iter().find(is_owner)?["status"].as_str().map(str::to_owned)
    };
    let ours = status(&snapshot.cluster_operator);
    Owner::of(status(&snapshot.kube_controller_manager).as_deref(), ours.as_deref())
}

pub(super) fn plan(cluster: &Cluster<'_>, to: To) -> Result<Plan, Refused> {
    let observation = Observation::of(cluster).ok_or(Refused::NoPlatform)?;
    let (value, before) = match to {
        To::External => ("true", Owner::InTree),
        To::InTree => ("false", Owner::External),
    };
    let first = observation.with(Some(value), before);
    let last = observation.with(Some(value), Owner::None);
    if let (To::InTree, Place::External | Place::Nowhere) = (to, last.place) {
        let reason = last.problem.unwrap_or_else(|| "its platform has no cloud".to_owned());
        return Err(Refused::NoInTree(reason));
    }
    let title = match last.place {
        Place::InTree(name) => format!("From a cloud controller manager to the in-tree provider {name}, on OpenShift"),
        Place::External | Place::Nowhere => "To an external cloud controller manager, on OpenShift".to_owned(),
    };
    let annotate = annotate(&observation, value, &last);
    let operands = operands(cluster, &last);
    let core =
        [Program::KubeControllerManager, Program::KubeApiserver].map(|program| control_plane(cluster, program, &last));
    let kubelets = kubelets(cluster, &last);
    // The operands stop before any other program starts, and start after all others have stopped.
    let steps = match first.operands {
        Operands::Remove => [vec![annotate, operands], core.into(), vec![kubelets]].concat(),
        Operands::Run | Operands::Wait => [vec![annotate], core.into(), vec![operands, kubelets]].concat(),
    };
    let notes = vec![
        "You do the first step; the operators do the others, in this order. `outrigger migrate watch` shows the state."
            .to_owned(),
    ];
    Ok(Plan { title, notes, steps })
}

fn annotate(observation: &Observation<'_>, value: &str, last: &Outcome) -> Step {
    let is_set = observation.annotation.is_some() && observation.now().place == last.place;
    // The platform alone may decide the same.
    let is_decided = observation.now().place == last.place;
    let before = match observation.annotation {
        Some(before) => format!("{ANNOTATION}={before}"),
        None => format!("{ANNOTATION}-"),
    };
    Step {
        title: "Decide where the cloud code runs".to_owned(),
        state: State::done_if(is_set || is_decided),
        commands: vec![format!(
            "oc annotate infrastructure cluster {ANNOTATION}={value} --overwrite"
        )],
        look: vec![
            "oc get clusteroperator cloud-controller-manager kube-controller-manager kube-apiserver machine-config"
                .to_owned(),
        ],
        back: vec![format!("oc annotate infrastructure cluster {before} --overwrite")],
        ..Step::default()
    }
}

fn control_plane(cluster: &Cluster<'_>, program: Program, last: &Outcome) -> Step {
    let flags = match program {
        Program::KubeApiserver => &last.kube_apiserver,
        Program::KubeControllerManager => &last.kube_controller_manager,
    };
    let replicas = cluster
        .replicas(program)
        .filter_map(|replica| Some((replica.node.as_deref(), replica.flags.as_ref()?)));
    let changes = changes(program.name(), None, replicas, &wanted(flags));
    follow(
        format!("{program} follows"),
        changes,
        format!("oc get clusteroperator {program}   # Progressing is False"),
    )
}

/// The workers and the control plane have a `MachineConfig` each.
fn kubelets(cluster: &Cluster<'_>, last: &Outcome) -> Step {
    let wanted: Vec<Wanted> = wanted(&last.kubelet);
    let mut kubelets: Vec<_> = cluster.kubelets.iter().collect();
    kubelets.sort_by_key(|kubelet| (kubelet.role == Role::ControlPlane, &kubelet.node));
    let replicas = kubelets
        .into_iter()
        .filter_map(|kubelet| Some((Some(kubelet.node.as_str()), kubelet.flags.as_ref()?)));
    let changes = changes("kubelet", None, replicas, &wanted);
    follow(
        "kubelet follows, on one node after the other".to_owned(),
        changes,
        "oc get machineconfigpools   # UPDATED is True".to_owned(),
    )
}

fn operands(cluster: &Cluster<'_>, last: &Outcome) -> Step {
    let runs = !cluster.managers.is_empty();
    let (title, done) = match last.operands {
        Operands::Run | Operands::Wait => ("The operator starts the cloud controller manager", runs),
        Operands::Remove => ("The operator deletes the cloud controller manager", !runs),
    };
    Step {
        title: title.to_owned(),
        state: State::done_if(done),
        look: vec![
            "oc get clusteroperator cloud-controller-manager   # its message says what it waits for".to_owned(),
            "oc -n openshift-cloud-controller-manager get pods".to_owned(),
        ],
        ..Step::default()
    }
}

fn follow(title: String, changes: Vec<Change>, look: String) -> Step {
    Step {
        title,
        state: State::done_if(changes.is_empty()),
        changes,
        look: vec![look],
        ..Step::default()
    }
}
