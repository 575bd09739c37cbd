//! The programs of the control plane and their flags.

use super::Distribution;
use crate::{Snapshot, flags::Flags, snapshot::Given, version::Version};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use serde_json::Value;
use std::fmt;

/// A program of the control plane that had cloud code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// `kube-apiserver`
    KubeApiserver,
    /// `kube-controller-manager`
    KubeControllerManager,
}

impl Program {
    /// Both.
    pub const ALL: [Self; 2] = [Self::KubeApiserver, Self::KubeControllerManager];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
        }
    }

    /// Where `OpenShift` has its configuration: a namespace, and a key in the file `config.yaml`.
    fn openshift(self) -> (&'static str, &'static str) {
        match self {
            Self::KubeApiserver => ("openshift-kube-apiserver", "apiServerArguments"),
            Self::KubeControllerManager => ("openshift-kube-controller-manager", "extendedArguments"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One replica of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// The program.
    pub program: Program,
    /// Its node, if it is known.
    pub node: Option<String>,
    /// The version in the tag of its image, if there is one.
    pub version: Option<Version>,
    /// Its flags; `None` if they could not be read.
    pub flags: Option<Flags>,
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(f, "{} on {node}", self.program),
            None => self.program.fmt(f),
        }
    }
}

/// All replicas, by program and node.
pub(super) fn of(snapshot: &Snapshot, distribution: Distribution) -> Vec<Component> {
    let mut components: Vec<Component> = Program::ALL
        .into_iter()
        .flat_map(|program| replicas(snapshot, distribution, program))
        .collect();
    components.sort_by(|a, b| (a.program, &a.node).cmp(&(b.program, &b.node)));
    components
}

fn replicas(snapshot: &Snapshot, distribution: Distribution, program: Program) -> Vec<Component> {
    let pods = snapshot
        .pods
        .iter()
        .filter_map(|pod| Some((pod, container(pod.spec.as_ref()?, program.name())?)));
    let mut found: Vec<Component> = pods.map(|(pod, container)| of_pod(program, pod, container)).collect();
    if distribution == Distribution::OpenShift {
        let flags = of_openshift(snapshot, program);
        if found.is_empty() {
            found.push(Component {
                program,
                node: None,
                version: None,
                flags: None,
            });
        }
        for component in &mut found {
            component.flags.clone_from(&flags);
        }
    }
    for given in snapshot.given.iter().filter(|given| given.program == program.name()) {
        give(&mut found, program, given);
    }
    found
}

/// The container of this program. `OpenShift` runs others beside it in the same Pod.
pub(super) fn container<'a>(spec: &'a PodSpec, program: &str) -> Option<&'a Container> {
    spec.containers.iter().find(|container| runs(container, program))
}

/// Whether a container runs this program: its command names it, or, without a command, its image.
pub(super) fn runs(container: &Container, program: &str) -> bool {
    let is_it = |word: &str| word.rsplit('/').next() == Some(program);
    let mut words = words(container)
        .flat_map(str::split_whitespace)
        .filter(|word| !word.starts_with('-'));
    container.name == program || words.any(is_it)
}

/// The command and the arguments.
pub(super) fn words(container: &Container) -> impl Iterator<Item = &str> {
    let command = container.command.iter().flatten();
    command.chain(container.args.iter().flatten()).map(String::as_str)
}

fn of_pod(program: Program, pod: &Pod, container: &Container) -> Component {
    let flags = Flags::of_words(words(container));
    Component {
        program,
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        version: container.image.as_deref().and_then(Version::of_image),
        flags: Some(flags).filter(|flags| !flags.is_empty()),
    }
}

/// The flags that the operator of the program has rendered.
fn of_openshift(snapshot: &Snapshot, program: Program) -> Option<Flags> {
    let (namespace, key) = program.openshift();
    let text = snapshot.config_map(namespace, "config")?.get("config.yaml")?;
    let config: Value = serde_saphyr::from_str(text).ok()?;
    Some(Flags::of_map(&config[key]))
}

fn give(found: &mut Vec<Component>, program: Program, given: &Given) {
    let flags = Some(of_file(&given.text)).filter(|flags| !flags.is_empty());
    let mut changed = false;
    for component in found
        .iter_mut()
        .filter(|component| given.node.is_none() || component.node == given.node)
    {
        component.flags.clone_from(&flags);
        changed = true;
    }
    if !changed {
        found.push(Component {
            program,
            node: given.node.clone(),
            version: None,
            flags,
        });
    }
}

/// The flags in a file: the manifest of a Pod, or a command line.
pub(super) fn of_file(text: &str) -> Flags {
    let pod: Option<Pod> = serde_saphyr::from_str(text).ok();
    let container = pod.and_then(|pod| pod.spec?.containers.into_iter().next());
    match container {
        Some(container) => Flags::of_words(words(&container)),
        None => Flags::of_text(text),
    }
}
