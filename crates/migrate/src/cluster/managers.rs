//! The cloud controller managers that run, ours and others.

use super::{DEFAULT_NAME, programs};
use crate::{Snapshot, flags::Flags};
use k8s_openapi::{
    api::core::v1::{Container, PodSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use std::fmt;

/// The end of the names of all programs that are cloud controller managers.
const PROGRAM: &str = "cloud-controller-manager";
/// The program that is all of them.
const OURS: &str = "outrigger";

/// A cloud controller manager.
#[derive(Debug, Clone, PartialEq)]
pub struct Manager {
    /// The kind of the object that runs it.
    pub kind: &'static str,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The program: `openstack-cloud-controller-manager`, or ours.
    pub program: String,
    /// Whose it is.
    pub origin: Origin,
    /// The cloud, if the flags or the program name it.
    pub provider: Option<String>,
    /// The flags.
    pub flags: Flags,
    /// Its `--cluster-name`, or the default; `None` if the manifest takes it from another object.
    pub cluster_name: Option<String>,
    /// The keys of the taints that its Pods tolerate; an empty one for all.
    pub tolerated: Vec<String>,
    /// The user that it is at the API server.
    pub user: String,
}

/// Whose program a manager is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Outrigger's.
    Ours,
    /// Another one.
    Other,
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// All managers, by namespace and name.
pub(super) fn of(snapshot: &Snapshot) -> Vec<Manager> {
    let deployments = snapshot.deployments.iter().filter_map(|deployment| {
        let spec = deployment.spec.as_ref().filter(|spec| spec.replicas != Some(0))?;
        manager("Deployment", &deployment.metadata, spec.template.spec.as_ref()?)
    });
    let daemon_sets = snapshot
        .daemon_sets
        .iter()
        .filter_map(|set| manager("DaemonSet", &set.metadata, set.spec.as_ref()?.template.spec.as_ref()?));
    // A Pod with another owner belongs to a Deployment or DaemonSet.
    let is_static = |metadata: &ObjectMeta| {
        let mut owners = metadata.owner_references.iter().flatten();
        owners.all(|owner| owner.kind == "Node")
    };
    let pods = snapshot.pods.iter().filter(|pod| is_static(&pod.metadata));
    let pods = pods.filter_map(|pod| manager("Pod", &pod.metadata, pod.spec.as_ref()?));
    let mut managers: Vec<Manager> = deployments.chain(daemon_sets).chain(pods).collect();
    managers.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    managers
}

fn manager(kind: &'static str, metadata: &ObjectMeta, spec: &PodSpec) -> Option<Manager> {
    let (container, program) = spec
        .containers
        .iter()
        .find_map(|container| Some((container, program(container)?)))?;
    let flags = Flags::of_words(programs::words(container));
    let by_name = program.strip_suffix(PROGRAM).and_then(|cloud| cloud.strip_suffix('-'));
    let provider = flags.get("cloud-provider").filter(|name| !is_reference(name));
    let provider = provider.or(by_name).map(str::to_owned);
    let cluster_name = flags.get("cluster-name").unwrap_or(DEFAULT_NAME);
    let namespace = metadata.namespace.clone().unwrap_or_default();
    let account = spec.service_account_name.as_deref().unwrap_or("default");
    let tolerations = spec.tolerations.iter().flatten();
    Some(Manager {
        kind,
        name: metadata.name.clone().unwrap_or_default(),
        origin: origin(container),
        provider,
        cluster_name: Some(cluster_name).filter(|name| !is_reference(name)).map(str::to_owned),
        flags,
        tolerated: tolerations
            .map(|toleration| toleration.key.clone().unwrap_or_default())
            .collect(),
        user: format!("system:serviceaccount:{namespace}:{account}"),
        program,
        namespace,
    })
}

/// Whether a value is that of a variable, `$(CLUSTER_NAME)`.
fn is_reference(value: &str) -> bool {
    value.contains("$(")
}

/// The name of the program, if it is a cloud controller manager. Ours is started with a subcommand, by its path or by the entrypoint of
/// its image.
fn program(container: &Container) -> Option<String> {
    let words = programs::words(container).flat_map(str::split_whitespace);
    let words = words.take_while(|word| !word.starts_with("--"));
    let names: Vec<&str> = words.filter_map(|word| word.rsplit('/').next()).collect();
    let has_subcommand = names.windows(2).any(|pair| pair == [OURS, "ccm"]) || names.first() == Some(&"ccm");
    if has_subcommand {
        return Some(format!("{OURS} ccm"));
    }
    let by_name = names.into_iter().find(|name| name.ends_with(PROGRAM));
    by_name.map(str::to_owned)
}

/// Ours runs under the names of other programs, too: then only the image distinguishes them.
fn origin(container: &Container) -> Origin {
    let image = container.image.as_deref().unwrap_or_default();
    let repository = image.split('@').next().unwrap_or_default();
    let is_ours = programs::words(container).any(|word| word.rsplit('/').next() == Some(OURS))
        || repository
            .rsplit('/')
            .next()
            .is_some_and(|name| name.split(':').next() == Some(OURS));
    if is_ours { Origin::Ours } else { Origin::Other }
}
